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
	Account domain.SessionAccount `json:"session_account"`
}

// A SessionMemo is the memo of a session's budget, for readers that no worker answers.
type SessionMemo struct {
	// Account is the session's; absent: it has none. Its first so many Executions are counted there.
	Account    *domain.SessionAccount `json:"session_account,omitempty"`
	Executions int                    `json:"executions,omitzero"`
	// Next are the totals that hold from the next execution on, where an update has brought others.
	Next *domain.ExecutionBudget `json:"next,omitempty"`
}

// SessionMemoOf is the memo with which a session of such a definition begins; nil: it has no budget.
func SessionMemoOf(d domain.Definition) *SessionMemo {
	if d.SessionBudget.IsEmpty() {
		return nil
	}
	return &SessionMemo{Account: &domain.SessionAccount{Budget: d.SessionBudget}}
}
