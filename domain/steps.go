package domain

import (
	"slices"
	"time"
)

// This file is the steps of the execution on the agent's state.

// WithStepStarted returns the state with a step in progress, the next by number.
// It fails where no execution is in progress or a step already is.
func (s AgentState) WithStepStarted(id StepID, now time.Time) (AgentState, error) {
	if err := s.active("beginning a step"); err != nil {
		return s, err
	}
	if id.IsZero() {
		return s, Errorf(Invalid, "step_id: is missing; derive it from the execution's")
	}
	if c := s.execution.current; c != nil {
		return s, Errorf(Denied, "step: step %d is in progress; complete it first", c.Number)
	}
	return s.changed(now, func(e *ExecutionState) {
		e.current = &AgentStep{ID: id, Number: e.StepCount() + 1}
		e.currentSince = utc(now)
	}), nil
}

// WithCurrentStep returns the state with other content for the step in progress.
// Its id and number stay: left zero they are filled in, others are refused.
func (s AgentState) WithCurrentStep(step AgentStep, now time.Time) (AgentState, error) {
	current, err := s.inStep("changing the step")
	if err != nil {
		return s, err
	}
	if !step.ID.IsZero() && step.ID != current.ID {
		return s, Errorf(Invalid, "step_id: is %s; the step in progress is %s", step.ID, current.ID)
	}
	if step.Number != 0 && step.Number != current.Number {
		return s, Errorf(Invalid, "number: is %d; the step in progress is %d", step.Number, current.Number)
	}
	kept, err := step.kept()
	if err != nil {
		return s, &Error{Kind: Invalid, Message: err.Error()}
	}
	kept.ID, kept.Number = current.ID, current.Number
	return s.changed(now, func(e *ExecutionState) { e.current = &kept }), nil
}

// WithCurrentStepCompleted returns the state with the step in progress among the
// completed ones, beside a copy of the continuation. Its messages join the
// context in an act of their own.
func (s AgentState) WithCurrentStepCompleted(now time.Time) (AgentState, error) {
	if _, err := s.inStep("completing the step"); err != nil {
		return s, err
	}
	return s.completedStep(now), nil
}

func (s AgentState) completedStep(now time.Time) AgentState {
	return s.changed(now, func(e *ExecutionState) {
		e.steps = plus(e.steps, &StepExecution{
			Step: *e.current, StartedAt: e.currentSince, CompletedAt: utc(now), Continuation: e.continuation,
		})
		e.current, e.currentSince = nil, time.Time{}
	})
}

func (s AgentState) inStep(doing string) (AgentStep, error) {
	if err := s.active(doing); err != nil {
		return AgentStep{}, err
	}
	if s.execution.current == nil {
		return AgentStep{}, Errorf(Denied, "%s: no step is in progress; begin one first", doing)
	}
	return *s.execution.current, nil
}

// StepCount is the number of completed steps of the execution.
func (s AgentState) StepCount() int {
	if s.execution == nil {
		return 0
	}
	return s.execution.StepCount()
}

// TransientStepCount is StepCount and the step in progress.
func (s AgentState) TransientStepCount() int {
	if s.execution == nil || s.execution.current == nil {
		return s.StepCount()
	}
	return s.StepCount() + 1
}

// StepExecutions are the completed steps in memory. The caller must not change
// what they hold.
func (s AgentState) StepExecutions() []StepExecution {
	if s.execution == nil {
		return nil
	}
	return s.execution.StepExecutions()
}

// Steps are the completed steps in memory, without their times. The caller must
// not change what they hold.
func (s AgentState) Steps() []AgentStep {
	if s.execution == nil {
		return nil
	}
	steps := make([]AgentStep, len(s.execution.steps))
	for i, step := range s.execution.steps {
		steps[i] = step.Step
	}
	return steps
}

// CurrentStep returns a copy of the step in progress, where there is one.
func (s AgentState) CurrentStep() (AgentStep, bool) {
	if s.execution == nil {
		return AgentStep{}, false
	}
	return s.execution.CurrentStep()
}

// CurrentStepStartedAt is when the step in progress began, where there is one.
func (s AgentState) CurrentStepStartedAt() (time.Time, bool) {
	if s.execution == nil {
		return time.Time{}, false
	}
	return s.execution.CurrentStepStartedAt()
}

// LastStepExecution returns the completed step with the highest number, where it
// is in memory.
func (s AgentState) LastStepExecution() (StepExecution, bool) {
	if s.execution == nil || len(s.execution.steps) == 0 {
		return StepExecution{}, false
	}
	last := *s.execution.steps[len(s.execution.steps)-1]
	last.Step = last.Step.clone()
	return last, true
}

// LastStep is the last completed step, without its times.
func (s AgentState) LastStep() (AgentStep, bool) {
	last, ok := s.LastStepExecution()
	return last.Step, ok
}

// CurrentStepOrLast returns the step in progress, else the last completed one.
func (s AgentState) CurrentStepOrLast() (AgentStep, bool) {
	if current, ok := s.CurrentStep(); ok {
		return current, true
	}
	return s.LastStep()
}

// LastStepType is the last completed step's type.
func (s AgentState) LastStepType() (StepType, bool) {
	last, ok := s.LastStep()
	if !ok {
		return "", false
	}
	return last.Type(), true
}

// LastStepUsage is the last completed step's usage.
func (s AgentState) LastStepUsage() (Usage, bool) {
	last, ok := s.LastStep()
	return last.Usage, ok
}

// LastStepDuration is how long the last completed step took.
func (s AgentState) LastStepDuration() (time.Duration, bool) {
	last, ok := s.LastStepExecution()
	return last.Duration(), ok
}

// LastStepErrors are the last completed step's errors, those of its tool calls
// included.
func (s AgentState) LastStepErrors() []Error {
	last, _ := s.LastStep()
	return last.AllErrors()
}

// LastStepToolExecutions are the tool calls of the last completed step.
func (s AgentState) LastStepToolExecutions() []ToolExecution {
	last, _ := s.LastStep()
	return last.ToolExecutions
}

// LastToolExecution is the last tool call of the last step that has one, the
// step in progress included.
func (s AgentState) LastToolExecution() (ToolExecution, bool) {
	if s.execution == nil {
		return ToolExecution{}, false
	}
	if c := s.execution.current; c != nil && len(c.ToolExecutions) > 0 {
		return c.ToolExecutions[len(c.ToolExecutions)-1].kept(), true
	}
	for i := len(s.execution.steps) - 1; i >= 0; i-- {
		if tools := s.execution.steps[i].Step.ToolExecutions; len(tools) > 0 {
			return tools[len(tools)-1].kept(), true
		}
	}
	return ToolExecution{}, false
}

// MaxFoldedErrors is how many errors of folded steps are kept.
const MaxFoldedErrors = 20

// A Folded holds the totals of completed steps that have left memory. They are
// with the history or the storage of earlier runs; StepCount, Usage and
// HasErrors go on counting them.
type Folded struct {
	Steps int   `json:"steps"`
	Usage Usage `json:"usage,omitzero"`
	// CostNanoUSD is the sum of what they cost.
	CostNanoUSD int64 `json:"cost_nano_usd,omitzero"`
	// ErrorCount counts all their errors; Errors are the newest of them.
	ErrorCount int     `json:"error_count,omitzero"`
	Errors     []Error `json:"errors,omitempty"`
}

// IsZero reports whether no step was folded.
func (f Folded) IsZero() bool { return f.Steps == 0 }

// with returns the totals with one more step.
func (f Folded) with(step AgentStep) Folded {
	f.Steps++
	f.Usage = f.Usage.Add(step.Usage)
	f.CostNanoUSD = AddCost(f.CostNanoUSD, step.CostNanoUSD)
	if all := step.AllErrors(); len(all) > 0 {
		f.ErrorCount += len(all)
		f.Errors = append(slices.Clip(f.Errors), all...)
		f.Errors = slices.Clone(f.Errors[max(0, len(f.Errors)-MaxFoldedErrors):])
	}
	return f
}
