package progress

import (
	"everstep/domain"
	"everstep/domain/contract"
)

// A Suspended says that the session accepts nothing, or does again.
type Suspended struct{ Suspension *contract.Suspension }

// A Rewound says that the session goes on from a step of its past.
type Rewound struct{ Request contract.RewindRequest }

// Origin is that step.
func (f Rewound) Origin() *domain.Origin { return f.Request.Origin.Branch() }

// Number is of the execution that goes on from there.
func (f Rewound) Number() int { return f.Request.Newest + 1 }

// Began says that the rewind itself begins that execution.
func (f Rewound) Began() bool { return f.Request.Prompt != "" }
