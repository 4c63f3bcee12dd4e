package domain

import (
	"time"
)

// An ExecutionState is one execution of an agent. It never changes; AgentState makes the next.
type ExecutionState struct {
	ID ExecutionID `json:"execution_id"`
	// Status is in_progress or terminal, never pending.
	Status    ExecutionStatus `json:"status"`
	StartedAt time.Time       `json:"started_at"`
	// CompletedAt is zero while the execution is in progress.
	CompletedAt time.Time `json:"completed_at,omitzero"`
	// Origin says which execution this one goes on from; nil: from none.
	Origin *Origin         `json:"origin,omitempty"`
	Budget ExecutionBudget `json:"budget,omitzero"`
	// Trusted are the values that came with this execution, beside the session's.
	Trusted Trusted `json:"trusted,omitempty"`
	ExecutionCounts
	// Folded holds the totals of the first steps, which have left memory.
	Folded Folded `json:"folded,omitzero"`
	// Steps are the completed ones in memory.
	Steps                []*StepExecution `json:"step_executions,omitempty"`
	CurrentStepStartedAt time.Time        `json:"current_step_started_at,omitzero"`
	// CurrentStep is nil between steps.
	CurrentStep *AgentStep `json:"current_step,omitempty"`
	// Continuation is what decides whether the loop goes on.
	Continuation Continuation `json:"continuation,omitzero"`
	// Error is the execution's own; those of its steps are with the steps.
	Error *Error `json:"error,omitempty"`
	// completed is what Folded and Steps come to, so that nobody adds up all steps again at each of them.
	completed Folded
}

// holding returns the execution with other completed steps.
func (e ExecutionState) holding(folded Folded, steps []*StepExecution) ExecutionState {
	e.Folded, e.Steps, e.completed = folded, steps, Folded{Spent: folded.Spent, ChildSteps: folded.ChildSteps, Usage: folded.Usage}
	for _, step := range steps {
		e.completed = e.completed.plus(&step.Step)
	}
	return e
}

// IsZero reports whether there is no execution.
func (e ExecutionState) IsZero() bool { return e.ID.IsZero() }

// StepCount is the number of completed steps, folded ones included.
func (e ExecutionState) StepCount() int { return int(e.Folded.Steps) + len(e.Steps) }

// total is what all steps used, the one in progress and folded ones included.
func (e ExecutionState) total() Folded {
	if e.CurrentStep == nil {
		return e.completed
	}
	return e.completed.plus(e.CurrentStep)
}

// steps yields the steps in memory, the one in progress last.
func (e ExecutionState) steps(yield func(*AgentStep) bool) {
	for _, s := range e.Steps {
		if !yield(&s.Step) {
			return
		}
	}
	if e.CurrentStep != nil {
		yield(e.CurrentStep)
	}
}

func (e ExecutionState) currentOrLast() (last *AgentStep) {
	for s := range e.steps {
		last = s
	}
	return last
}

// terminal is the status in which the execution ends; the first that fits.
func (e ExecutionState) terminal() ExecutionStatus {
	signal, ok := e.Continuation.Signal()
	switch {
	case e.Error != nil, ok && signal.Reason == ErrorForbade:
		return StatusFailed
	case ok && signal.Reason.WasForceStopped():
		return StatusStopped
	}
	return StatusCompleted
}
