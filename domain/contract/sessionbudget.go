package contract

import "everstep/domain"

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

// An ExtendSessionReply says what holds for the session from now on.
type ExtendSessionReply struct {
	// Number is of the newest execution, and InProgress says that it goes on under the new totals.
	Number     int  `json:"number"`
	InProgress bool `json:"in_progress,omitzero"`
	// Account has the totals in force, and what was spent of them so far.
	Account domain.Holder `json:"session_account"`
}
