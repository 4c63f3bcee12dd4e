package progress

import "everstep/domain/contract"

// A Suspended says that the session accepts nothing, or does again.
type Suspended struct{ Suspension *contract.Suspension }
