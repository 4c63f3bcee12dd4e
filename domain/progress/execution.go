package progress

import (
	"slices"
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

// Halted reports whether a stop lets nothing go on by a time.
func (e Execution) Halted(at time.Time) bool { return !e.Halt.IsZero() && !at.Before(e.Halt) }

// halts notes a stop of all that is in flight, unless another comes before it.
func (e Execution) halts(at time.Time) Execution {
	if e.Halt.IsZero() || at.Before(e.Halt) {
		e.Halt = at
	}
	return e
}

// Steps are those of which facts tell, in order. The last one is open where the
// execution is running and that step has something to do or to wait for.
func (e Execution) Steps(busy bool) (steps []Step, open bool) {
	for _, s := range e.Done {
		steps = append(steps, *s)
	}
	if e.Now == nil {
		return steps, false
	}
	if e.Running && (busy || e.Now.unfinished()) {
		return append(steps, *e.Now), true
	}
	return append(steps, e.Now.closed(closing{At: At{Time: e.Now.SeenAt}})), false
}

// Meant reports whether a request to stop is about the execution in progress.
func (e Execution) Meant(r contract.StopRequest) bool {
	return e.Running && (r.ExecutionID.IsZero() || r.ExecutionID == e.ID)
}

// asksToStop is what a request to stop means for the execution.
func (e Execution) asksToStop(r contract.StopRequest, at time.Time) Execution {
	if !e.Meant(r) {
		return e
	}
	e.gentle = e.gentle || r.Mode == contract.AfterInference
	if after, ok := r.Escalation(); ok {
		e = e.halts(at.Add(after))
	}
	if len(e.Stops) < domain.MaxStops {
		e.Stops = append(slices.Clip(e.Stops), StopOf(r))
	} else {
		e.MoreStops++
	}
	return e
}

func (e Execution) turnsTo(number int, c closing) Execution {
	if e.Now != nil && e.Now.Number == number {
		return e
	}
	e = e.settled(c)
	s := Begin(e.ID.Step(number), number)
	s.StartedAt = c.Time
	e.Now, e.Step = &s, max(e.Step, number)
	return e
}

// heldBy notes on the step in progress, as it begins, which agent has the conversation.
func (e Execution) heldBy(agent string) Execution {
	if e.Now != nil && agent != "" {
		s := *e.Now
		s.Agent, e.Now = agent, &s
	}
	return e
}

func (e Execution) settled(c closing) Execution {
	if e.Now == nil {
		return e
	}
	if c.underWay {
		e = e.seen(c.Time)
	}
	s := e.Now.closed(c)
	e.Done, e.Now = append(slices.Clip(e.Done), &s), nil
	return e
}

func (e Execution) seen(at time.Time) Execution {
	s := *e.Now
	s.SeenAt, e.Now = at, &s
	return e
}

func (e Execution) with(fact Fact, at At) Execution {
	s := e.Now.With(fact, at)
	e.Now = &s
	return e
}
