package contract

import (
	"fmt"

	"everstep/domain"
)

// HeldTo is what bounds an agent beside the tools and rules of its own definition. A record keeps it, so that a fork which
// only records tell of is held to it too.
type HeldTo struct {
	// Above are those of the agents above it, or above the one that it was forked from.
	Above
	// Handed is set where its conversation was handed over: the approvals of those that had it hold on.
	Handed *Handed `json:"handed,omitempty"`
	// Budget is the definition's for each execution; that of its session is in its state.
	Budget domain.ExecutionBudget `json:"budget,omitzero"`
}

// Check says what makes no sense.
func (h HeldTo) Check() error {
	for i, policy := range h.Policies {
		if err := policy.Check(); err != nil {
			return domain.Errorf(domain.Invalid, "policies[%d]: %s", i, err)
		}
	}
	rules := map[string][]domain.Approvals{"approvals": h.Approvals}
	if h.Handed != nil {
		if h.Handed.Times < 0 {
			return domain.Errorf(domain.Invalid, "handed.times: is %d; it may not be negative", h.Handed.Times)
		}
		rules["handed.approvals"] = h.Handed.Approvals
	}
	for _, field := range []string{"approvals", "handed.approvals"} {
		for i := range rules[field] {
			if err := rules[field][i].Check(); err != nil {
				return domain.Errorf(domain.Invalid, "%s: %s", fmt.Sprintf("%s[%d]", field, i), err)
			}
		}
	}
	if err := h.Budget.Check(); err != nil {
		return domain.Errorf(domain.Invalid, "budget.%s", err)
	}
	return nil
}
