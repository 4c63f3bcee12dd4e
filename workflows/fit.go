package workflows

import (
	"encoding/json"

	"everstep/domain"
)

// fit returns the state such that it takes at most about limit bytes when
// encoded: as it is, else with its steps folded but for the last, which is
// trimmed, else with all of them folded. Their totals stay in each case.
func fit(state domain.AgentState, limit int) (domain.AgentState, error) {
	for _, smaller := range []func() domain.AgentState{
		func() domain.AgentState { return state },
		func() domain.AgentState { return state.WithStepsFolded(true).WithStepsTrimmed(limit / 2) },
	} {
		fitted := smaller()
		encoded, err := json.Marshal(fitted)
		if err != nil || len(encoded) <= limit {
			return fitted, err
		}
	}
	return state.WithStepsFolded(false).WithStepsTrimmed(limit / 2), nil
}
