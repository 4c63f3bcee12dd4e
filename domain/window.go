package domain

import "slices"

// The bounds of what hooks see of completed steps. They are the same in every run.
const (
	// RecentSteps is how many completed steps they see at most.
	RecentSteps = 16
	// recentStep bounds each of them but the last, and recentSize all of these, in bytes when encoded.
	recentStep = 8 << 10
	recentSize = 128 << 10
)

// A StepWindow is what hooks see of the completed steps of an execution, and what one run hands to the next of
// them: the newest, all but the last with long texts cut, and the totals of those before. It depends on the steps
// alone, so it is the same however many runs they took. It is a value; the zero one is of no execution.
type StepWindow struct {
	id     ExecutionID
	folded Folded
	steps  []*StepExecution
	// size is that of the steps, the last one aside.
	size int
}

// Of returns the window of a state's execution. One that was of the same execution before saves work.
func (w StepWindow) Of(s AgentState) StepWindow {
	e := s.Execution
	if known := int(w.folded.Steps) + len(w.steps); w.id != e.ID || known > e.StepCount() || known < int(e.Folded.Steps) {
		w = StepWindow{id: e.ID, folded: e.Folded}
	}
	steps := e.Steps[int(w.folded.Steps-e.Folded.Steps)+len(w.steps):]
	// Of what cannot stay nothing is kept but totals and errors, so that nothing else of it is trimmed.
	for ; len(w.steps) == 0 && len(steps) > RecentSteps; steps = steps[1:] {
		step := steps[0].Step
		if step.HasErrors() {
			step = step.Trimmed(recentStep)
		}
		w.folded = w.folded.with(step)
	}
	for _, step := range steps {
		w = w.with(step)
	}
	return w
}

func (w StepWindow) with(step *StepExecution) StepWindow {
	w.steps = plus(w.steps, step)
	last := len(w.steps) - 1
	if last > 0 {
		before := *w.steps[last-1]
		before.Step = before.Step.Trimmed(recentStep)
		w.steps[last-1] = &before
		w.size += before.Size()
	}
	for len(w.steps) > RecentSteps || w.size > recentSize {
		w.size -= w.steps[0].Size()
		w.folded, w.steps = w.folded.with(w.steps[0].Step), slices.Clone(w.steps[1:])
	}
	return w
}

// In returns the state with the window in place of its steps.
func (w StepWindow) In(s AgentState) AgentState {
	held := s.Execution.Steps
	same := slices.EqualFunc(w.steps, held, func(a, b *StepExecution) bool { return a == b || a.Step.Size() == b.Step.Size() })
	if same || s.Execution.IsZero() {
		return s
	}
	s.Execution = s.Execution.holding(w.folded, w.steps)
	return s
}

// WithoutSteps returns the state with its steps folded and none in progress, to tell what all else of it takes.
func (s AgentState) WithoutSteps() AgentState {
	s = s.WithStepsFolded(0)
	s.Execution.CurrentStep = nil
	return s
}

// WithLastStepWithin returns the state with its last completed step trimmed, such that with those before it takes
// about limit bytes when encoded.
func (s AgentState) WithLastStepWithin(limit int) AgentState {
	last := len(s.Execution.Steps) - 1
	if last < 0 {
		return s
	}
	for _, step := range s.Execution.Steps[:last] {
		limit -= step.Size()
	}
	if step := *s.Execution.Steps[last]; step.Size() > limit {
		// What a state takes beside its steps: its signals, errors and context.
		step.Step = step.Step.Trimmed(limit - 64<<10)
		s.Execution.Steps = plus(s.Execution.Steps[:last], &step)
	}
	return s
}
