package domain

import (
	"slices"
	"time"
)

// An ExecutionState is one execution of an agent, from its beginning until the
// next one begins. It is a value that never changes; AgentState makes the next.
type ExecutionState struct {
	id          ExecutionID
	origin      *Origin
	status      ExecutionStatus
	startedAt   time.Time
	completedAt time.Time
	budget      ExecutionBudget
	counts      ExecutionCounts
	folded      Folded
	// steps are pointers so that adding one copies little; what they point to
	// never changes.
	steps        []*StepExecution
	current      *AgentStep
	currentSince time.Time
	continuation Continuation
	executionErr *Error
}

// ID identifies the execution.
func (e ExecutionState) ID() ExecutionID { return e.id }

// Origin says which execution this one goes on from, if any.
func (e ExecutionState) Origin() (Origin, bool) {
	if e.origin == nil {
		return Origin{}, false
	}
	return *e.origin.kept(), true
}

// Chain lists this execution and those it goes on from, the newest first.
func (e ExecutionState) Chain() []ExecutionID { return e.origin.chain(e.id) }

// Status is in_progress or terminal, never pending.
func (e ExecutionState) Status() ExecutionStatus { return e.status }

// StartedAt is when the execution began.
func (e ExecutionState) StartedAt() time.Time { return e.startedAt }

// CompletedAt is when the execution ended, where it has.
func (e ExecutionState) CompletedAt() (time.Time, bool) {
	return e.completedAt, e.status.Terminal()
}

// Duration is how long the execution took, or has taken until now.
func (e ExecutionState) Duration(now time.Time) time.Duration {
	if e.status.Terminal() {
		return e.completedAt.Sub(e.startedAt)
	}
	return now.Sub(e.startedAt)
}

// Budget is the effective one.
func (e ExecutionState) Budget() ExecutionBudget { return e.budget.clone() }

// Counts are what the execution has used that its steps do not tell.
func (e ExecutionState) Counts() ExecutionCounts { return e.counts }

// Folded holds the totals of the steps that have left memory.
func (e ExecutionState) Folded() Folded { return e.folded }

// StepExecutions are the completed steps in memory. The caller must not change
// what they hold.
func (e ExecutionState) StepExecutions() []StepExecution {
	steps := make([]StepExecution, len(e.steps))
	for i, s := range e.steps {
		steps[i] = *s
	}
	return steps
}

// StepCount is the number of completed steps, folded ones included.
func (e ExecutionState) StepCount() int { return e.folded.Steps + len(e.steps) }

// CurrentStep returns a copy of the step in progress, where there is one.
func (e ExecutionState) CurrentStep() (AgentStep, bool) {
	if e.current == nil {
		return AgentStep{}, false
	}
	return e.current.clone(), true
}

// CurrentStepStartedAt is when the step in progress began.
func (e ExecutionState) CurrentStepStartedAt() (time.Time, bool) {
	return e.currentSince, e.current != nil
}

// Continuation holds the signals to stop and the request to continue. The
// caller must not change it.
func (e ExecutionState) Continuation() Continuation { return e.continuation }

// Err is the execution's own error, where there is one; those of its steps are with the steps.
func (e ExecutionState) Err() (Error, bool) {
	if e.executionErr == nil {
		return Error{}, false
	}
	return *e.executionErr, true
}

// Usage is the sum over all steps, the one in progress and folded ones included.
func (e ExecutionState) Usage() Usage {
	sum := e.folded.Usage
	for _, s := range e.steps {
		sum = sum.Add(s.Step.Usage)
	}
	if e.current != nil {
		sum = sum.Add(e.current.Usage)
	}
	return sum
}

// CostNanoUSD is the sum over all steps, the one in progress and folded ones
// included.
func (e ExecutionState) CostNanoUSD() int64 {
	sum := e.folded.CostNanoUSD
	for _, s := range e.steps {
		sum = AddCost(sum, s.Step.CostNanoUSD)
	}
	if e.current != nil {
		sum = AddCost(sum, e.current.CostNanoUSD)
	}
	return sum
}

// Errors lists each error in memory once: those of the steps, in order, then the
// execution's own, unless a step has it already. Of folded steps only the
// newest are known.
func (e ExecutionState) Errors() []Error {
	all := slices.Clone(e.folded.Errors)
	for _, s := range e.steps {
		all = append(all, s.Step.AllErrors()...)
	}
	if e.current != nil {
		all = append(all, e.current.AllErrors()...)
	}
	if e.executionErr != nil && !slices.Contains(all, *e.executionErr) {
		all = append(all, *e.executionErr)
	}
	return all
}

// HasErrors reports whether anything failed, in folded steps too.
func (e ExecutionState) HasErrors() bool {
	return e.executionErr != nil || e.folded.ErrorCount > 0 ||
		e.current != nil && e.current.HasErrors() ||
		slices.ContainsFunc(e.steps, func(s *StepExecution) bool { return s.Step.HasErrors() })
}

// currentOrLast is the step in progress, else the last completed one.
func (e ExecutionState) currentOrLast() *AgentStep {
	switch {
	case e.current != nil:
		return e.current
	case len(e.steps) > 0:
		return &e.steps[len(e.steps)-1].Step
	}
	return nil
}

// shouldStop is the rule of stopping; the first that fits.
func (e ExecutionState) shouldStop() bool {
	switch {
	case e.status.Terminal(), e.continuation.Stops():
		return true
	case e.continuation.Requested:
		return false
	}
	step := e.currentOrLast()
	return step == nil || !step.AsksForTools()
}

// terminal is the status in which the execution ends; the first that fits.
func (e ExecutionState) terminal() ExecutionStatus {
	signal, ok := e.continuation.Signal()
	switch {
	case e.executionErr != nil, ok && signal.Reason == ErrorForbade:
		return StatusFailed
	case ok && signal.Reason.Forced():
		return StatusStopped
	}
	return StatusCompleted
}
