package workflows

import "everstep/domain"

// roomBeside is what a state takes beside its steps: its signals, errors and
// context.
const roomBeside = 64 << 10

// fit returns the state such that its steps take at most about limit bytes when
// encoded: as it is, else with all but the last folded and that one trimmed.
// Totals stay. It reckons and does not encode: a state may be many times as
// long as what fits, and no workflow task may take long over it.
func fit(state domain.AgentState, limit int) domain.AgentState {
	size := 0
	for _, step := range state.StepExecutions() {
		size += step.Size()
	}
	if current, ok := state.CurrentStep(); ok {
		size += current.Size()
	}
	if size <= limit {
		return state
	}
	return state.WithStepsFolded(true).WithStepsTrimmed(max(limit-roomBeside, limit/2))
}
