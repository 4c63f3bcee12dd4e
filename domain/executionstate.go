package domain

import (
	"maps"
	"slices"
	"time"
)

// An ExecutionState is one execution of an agent. It never changes; AgentState makes the next.
type ExecutionState struct{ w executionWire }

// ID identifies the execution.
func (e ExecutionState) ID() ExecutionID { return e.w.ID }

// Origin says which execution this one goes on from, if any.
func (e ExecutionState) Origin() (Origin, bool) { return e.w.Origin.value() }

// Chain lists this execution and those it goes on from, the newest first.
func (e ExecutionState) Chain() []ExecutionID { return e.w.Origin.chain(e.w.ID) }

// Status is in_progress or terminal, never pending.
func (e ExecutionState) Status() ExecutionStatus { return e.w.Status }

// StartedAt is when the execution began.
func (e ExecutionState) StartedAt() time.Time { return e.w.StartedAt }

// CompletedAt is when the execution ended, where it has.
func (e ExecutionState) CompletedAt() (time.Time, bool) {
	return e.w.CompletedAt, e.w.Status.Terminal()
}

// Duration is how long the execution took, or has taken until now.
func (e ExecutionState) Duration(now time.Time) time.Duration {
	if e.w.Status.Terminal() {
		now = e.w.CompletedAt
	}
	return now.Sub(e.w.StartedAt)
}

// Budget is the effective one.
func (e ExecutionState) Budget() ExecutionBudget { return e.w.Budget.clone() }

// Counts are what the execution has used that its steps do not tell.
func (e ExecutionState) Counts() ExecutionCounts { return e.w.ExecutionCounts }

// Folded holds the totals of the steps that have left memory.
func (e ExecutionState) Folded() Folded {
	folded := e.w.Folded
	folded.Errors, folded.Tools, folded.Calls = slices.Clone(folded.Errors), maps.Clone(folded.Tools), slices.Clone(folded.Calls)
	return folded
}

// StepExecutions are a copy of the completed steps in memory.
func (e ExecutionState) StepExecutions() []StepExecution {
	var steps []StepExecution
	for _, s := range e.w.Steps {
		steps = append(steps, s.clone())
	}
	return steps
}

// StepCount is the number of completed steps, folded ones included.
func (e ExecutionState) StepCount() int { return int(e.w.Folded.Steps) + len(e.w.Steps) }

// CurrentStep returns a copy of the step in progress, where there is one.
func (e ExecutionState) CurrentStep() (AgentStep, bool) {
	if e.w.Current == nil {
		return AgentStep{}, false
	}
	return e.w.Current.clone(), true
}

// CurrentStepStartedAt is when the step in progress began.
func (e ExecutionState) CurrentStepStartedAt() (time.Time, bool) {
	return e.w.CurrentSince, e.w.Current != nil
}

// Continuation is a copy of what decides whether the loop goes on.
func (e ExecutionState) Continuation() Continuation { return e.w.Continuation.clone() }

// Err is the execution's own error, where there is one; those of its steps are with the steps.
func (e ExecutionState) Err() (Error, bool) { return e.w.Error.value() }

// Usage is the sum over all steps, the one in progress and folded ones included.
func (e ExecutionState) Usage() Usage { return e.total().Usage }

// CostNanoUSD is what all steps cost, as Usage; zero where the model has no price.
func (e ExecutionState) CostNanoUSD() int64 { return e.total().CostNanoUSD }

// total is what all steps used, the one in progress and folded ones included.
func (e ExecutionState) total() Folded {
	if e.w.Current == nil {
		return e.w.completed
	}
	return e.w.completed.plus(e.w.Current)
}

// steps yields the steps in memory, the one in progress last.
func (e ExecutionState) steps(yield func(*AgentStep) bool) {
	for _, s := range e.w.Steps {
		if !yield(&s.Step) {
			return
		}
	}
	if e.w.Current != nil {
		yield(e.w.Current)
	}
}

// Errors lists each error in memory once: those of the steps, in order, then the execution's own.
func (e ExecutionState) Errors() []Error {
	all := slices.Clone(e.w.Folded.Errors)
	for s := range e.steps {
		all = append(all, s.AllErrors()...)
	}
	if err, ok := e.Err(); ok && !slices.Contains(all, err) {
		all = append(all, err)
	}
	return all
}

// HasErrors reports whether anything failed, in folded steps too.
func (e ExecutionState) HasErrors() bool { return e.w.Folded.ErrorCount > 0 || len(e.Errors()) > 0 }

func (e ExecutionState) currentOrLast() (last *AgentStep) {
	for s := range e.steps {
		last = s
	}
	return last
}

func (e ExecutionState) shouldStop() bool {
	switch {
	case e.w.Status.Terminal(), e.w.Continuation.Stops():
		return true
	case e.w.Continuation.Requested:
		return false
	}
	step := e.currentOrLast()
	return step == nil || !step.AsksForTools()
}

// terminal is the status in which the execution ends; the first that fits.
func (e ExecutionState) terminal() ExecutionStatus {
	signal, ok := e.w.Continuation.Signal()
	switch {
	case e.w.Error != nil, ok && signal.Reason == ErrorForbade:
		return StatusFailed
	case ok && signal.Reason.WasForceStopped():
		return StatusStopped
	}
	return StatusCompleted
}
