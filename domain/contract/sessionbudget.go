package contract

import (
	"slices"

	"everstep/domain"
)

// FieldSessionBudget is the key of the session's budget in a definition.
const FieldSessionBudget = "session_budget"

// An ExtendSessionRequest gives a session that has a budget new totals of it.
type ExtendSessionRequest struct {
	// Budget holds the new totals, over all its executions; what is absent stays.
	Budget domain.ExecutionBudget `json:"budget,omitzero"`
	// Lift names limits that are taken away, by their names in a budget.
	Lift []domain.Limit `json:"lift,omitempty"`
	// By says who asks for it.
	By domain.Program `json:"started_by,omitzero"`
}

// Check says what is wrong with the totals in themselves.
func (r ExtendSessionRequest) Check() error {
	for _, limit := range r.Lift {
		if !slices.Contains(domain.SessionLimits(), limit) {
			return domain.Invalidf("%s: is no limit of a session, which can have %v", domain.Shorten(string(limit), 64), domain.SessionLimits())
		}
	}
	if r.Budget.IsZero() && len(r.Lift) == 0 {
		return domain.Invalidf("extend: no new total of the session is given; say what to change, such as max_steps")
	}
	return r.Budget.CheckSession()
}

// An ExtendSessionReply says what holds for the session from now on.
type ExtendSessionReply struct {
	// Number is of the newest execution, and InProgress says that it goes on under the new totals.
	Number     int  `json:"number"`
	InProgress bool `json:"in_progress,omitzero"`
	// Account has the totals in force, and what was spent of them so far.
	Account domain.Holder `json:"session_account"`
}
