package progress

import (
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Suspended says that the session accepts nothing, or does again.
type Suspended struct{ Suspension *contract.Suspension }

// A Cleared says that the session's conversation was dropped.
type Cleared struct{}

// A Rewound says that the session goes on from a step of its past.
type Rewound struct{ Request contract.RewindRequest }

// Origin is that step.
func (f Rewound) Origin() *domain.Origin { return f.Request.Origin.Branch() }

// Number is of the execution that goes on from there.
func (f Rewound) Number() int { return f.Request.Newest + 1 }

// Began says that the rewind itself begins that execution.
func (f Rewound) Began() bool { return f.Request.Prompt != "" }

// rewound notes from where the next execution goes on, or the one that the rewind itself begins.
func (a Agent) rewound(f Rewound, at time.Time) Agent {
	if f.Number() <= a.Execution.Number { // it was repeated
		return a
	}
	a.RewoundTo, a.edits = f.Origin(), f.Request.Edits
	if !f.Began() {
		return a
	}
	request := contract.SendRequest{Model: f.Request.Model, Budget: f.Request.Budget}
	return a.sent(Sent{Request: &request, Reply: contract.SendReply{Began: true, Number: f.Number()}}, at)
}

// branches has the execution go on from a step, where there is one.
func (e Execution) branches(from *domain.Origin) Execution {
	if from != nil {
		e.Origin, e.Branch = from.ExecutionID, from
	}
	return e
}
