package progress

import (
	"time"

	"everstep/domain/contract"
)

// A Session is one with a stateful server, from its opening to its end.
type Session struct {
	contract.Bound
	// EndedAt is when it was known to be gone, and Why it is. Zero: it is open, as far as is told.
	EndedAt time.Time
	Why     string
}
