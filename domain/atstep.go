package domain

import (
	"slices"
	"time"
)

// AtStep returns the state as it was when the execution's k-th step had ended:
// in progress, without the later steps and their messages, its continuation the
// one that the step remembers. Zero is before the first. What no step remembers
// (metadata, prompt, budget, what users said) is as it is now. It fails where
// there is no such step, or it has left memory. The state after the last step
// of an execution that has ended is the final state itself, and not this.
func (s AgentState) AtStep(k int, now time.Time) (AgentState, error) {
	if s.execution == nil {
		return s, Errorf(Denied, "step: there is no execution (status %s)", s.Status())
	}
	count, folded := s.StepCount(), s.execution.folded.Steps
	switch {
	case k < 0 || k > count:
		return s, Errorf(Invalid, "step: is %d; give one from 0 to %d", k, count)
	case folded > 0 && k <= folded:
		return s, Errorf(Invalid, "step: %d has left memory with the first %d; give one from %d to %d", k, folded, folded+1, count)
	}
	var continuation Continuation
	if k > 0 {
		continuation = s.execution.steps[k-folded-1].Continuation
	}
	s.context.store = s.context.store.without(s.execution.stepsAfter(k))
	return s.changed(now, func(e *ExecutionState) {
		e.steps = nilIfEmpty(slices.Clip(e.steps[:k-folded]))
		e.current, e.currentSince = nil, time.Time{}
		e.status, e.completedAt, e.continuation = StatusInProgress, time.Time{}, continuation
		if e.executionErr != nil && !continuation.holds(SignalOf(e.executionErr)) {
			e.executionErr = nil
		}
	}), nil
}

// stepsAfter are the ids of the steps after the k-th, the one in progress included.
func (e ExecutionState) stepsAfter(k int) map[StepID]bool {
	later := map[StepID]bool{}
	for _, step := range e.steps[k-e.folded.Steps:] {
		later[step.Step.ID] = true
	}
	if e.current != nil {
		later[e.current.ID] = true
	}
	return later
}

// without returns the store without the messages of some steps.
func (s MessageStore) without(steps map[StepID]bool) MessageStore {
	if len(steps) == 0 {
		return s
	}
	return s.filtered(func(m Message) bool { return !steps[TagOf(m).StepID] })
}

// holds reports whether a signal is among those that count.
func (c Continuation) holds(signal StopSignal) bool {
	return slices.ContainsFunc(c.StopSignals, func(s StopSignal) bool {
		return s.Reason == signal.Reason && s.Message == signal.Message && s.Source == signal.Source
	})
}
