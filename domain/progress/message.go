package progress

import (
	"everstep/domain"
)

// An Unsent says that a message that waited was taken back.
type Unsent struct{ MessageID domain.MessageID }
