package progress

import (
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
)

// accountOf is the account with which a session of such an agent begins; nil where it has no budget.
func accountOf(d domain.Definition) *domain.SessionAccount {
	if d.SessionBudget.IsEmpty() {
		return nil
	}
	return &domain.SessionAccount{Budget: d.SessionBudget}
}

// rebudgeted has other totals hold for the session. What was spent stays spent.
func (a Agent) rebudgeted(totals domain.ExecutionBudget) Agent {
	account := domain.SessionAccount{Budget: totals}
	if a.Session != nil {
		account.Spent = a.Session.Spent
	}
	a.Session = &account
	return a
}

// adoptsBudget has the totals hold that another definition gives the session.
func (a Agent) adoptsBudget(by contract.Redefinition) Agent {
	budget := by.Definition.SessionBudget
	if !slices.Contains(by.Word.Fields, contract.FieldSessionBudget) || a.Session == nil && budget.IsEmpty() {
		return a
	}
	return a.rebudgeted(budget)
}

// sessionExtended has other totals hold, for the execution in progress too.
func (a Agent) sessionExtended(f SessionExtended) Agent {
	return a.rebudgeted(f.Reply.Account.Budget).boundFromNow()
}

// boundFromNow has the session's totals hold for the execution in progress.
func (a Agent) boundFromNow() Agent {
	if a.Execution.Running {
		a.Execution.Session = a.Session
	}
	return a
}

// booked takes what the executions of the session have used by the end of one. A worker that tells none knows no budget.
func (a Agent) booked(o contract.Outcome) Agent {
	if o.SessionSpent == nil {
		a.Session = nil
		return a
	}
	account := domain.SessionAccount{Spent: *o.SessionSpent}
	if a.Session != nil {
		account.Budget = a.Session.Budget
	}
	a.Session = &account
	return a
}

// totals are the smaller of each limit of the execution in progress and of the session.
func (a Agent) totals() domain.ExecutionBudget {
	bounds := domain.Bounds{Own: *a.Execution.Budget}
	if a.Session != nil {
		bounds.Session = a.Session.Budget
	}
	return bounds.Totals()
}

// bounds are those among which the limit is that ended the execution; ok is false where they are not known.
func (e Execution) bounds() (bounds domain.Bounds, ok bool) {
	switch o := e.Outcome; {
	case o.SessionLimit && o.SessionSpent != nil && e.Session != nil:
		return domain.Bounds{Session: e.Session.Budget, SessionSpent: *o.SessionSpent}, true
	case o.SessionLimit, e.Budget == nil, e.Prior == nil:
		return bounds, false
	}
	return domain.Bounds{Own: *e.Budget, Spent: e.Prior.Add(e.spent())}, true
}
