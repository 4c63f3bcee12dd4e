package progress

import (
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// An Execution is what facts tell of one execution.
type Execution struct {
	ID     domain.ExecutionID
	Number int
	// Running says that it is in progress, as far as facts tell.
	Running bool
	// StartedAt and EndedAt are zero where nothing tells them.
	StartedAt, EndedAt time.Time
	// Budget is nil where nothing tells it, as is Prior, what its origins have used.
	Budget *domain.ExecutionBudget
	Prior  *domain.Spent
	// Answers are those to what it has asked the agent for that has started it. They must not be changed.
	Answers []Answer
	// Session is the session's account before this execution, with the totals in force; nil where it has no budget. It must
	// not be changed.
	Session *domain.SessionAccount
	// Origin is the execution that it goes on from, where it does.
	Origin domain.ExecutionID
	// Branch is the step from which it was forked or rewound, where it was.
	Branch *domain.Origin
	// Trusted are the session's and its own trusted values. They must not be changed.
	Trusted domain.Trusted
	// Given is what it began with beside its prompt; nil where nothing tells it.
	Given *Given
	// Outcome is nil while it is in progress.
	Outcome *contract.Outcome
	// Stops are the requests to stop that meant it, and MoreStops counts those beyond domain.MaxStops.
	Stops     []domain.StopSignal
	MoreStops int
	// Paused says that nothing new starts until it is resumed.
	Paused bool
	// Halt is since when a stop lets nothing go on; zero: none does.
	Halt time.Time
	// Step is the number of its newest step.
	Step int
	// Messages counts those that have joined it while it went on.
	Messages int
	// Fill is about how many tokens the newest inference read and wrote.
	Fill int64

	// Done are the steps that are over, Now the one in progress, if any. They must not be changed.
	Done []*Step
	Now  *Step

	// heard is the place of the newest message that has joined it.
	heard int64
	// gentle says that a stop lets no further tool call begin.
	gentle bool
}
