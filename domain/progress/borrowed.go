package progress

import (
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Borrowed is what a sub-agent may use of the budget of the agent that has started it, and what it asks that for. Anybody
// who may signal workflows can send it a grant: it is one only as the answer to a request, by its number, and gives more of
// nothing but what that asked for. It counts from the beginning of a run.
type Borrowed struct {
	grant domain.ExecutionBudget
	// open are the requests that have no answer. One that comes late is taken, too: whoever gave it has set that aside.
	open []contract.BudgetRequest
}

// NewBorrowed is of a sub-agent whose run begins with a grant.
func NewBorrowed(grant domain.ExecutionBudget) Borrowed { return Borrowed{grant: grant} }

// Grant is what the sub-agent may use in all.
func (b Borrowed) Grant() domain.ExecutionBudget { return b.grant }

// Asking adds a request.
func (b Borrowed) Asking(r contract.BudgetRequest) Borrowed {
	b.open = append(slices.Clip(b.open), r)
	return b
}

// Waits reports whether a request has no answer.
func (b Borrowed) Waits(number int) bool {
	return slices.ContainsFunc(b.open, func(r contract.BudgetRequest) bool { return r.Number == number })
}

// Answered takes an answer, and is the request that it is to; ok is false where there is none, and nothing changes.
func (b Borrowed) Answered(answer contract.BudgetGrant) (after Borrowed, to contract.BudgetRequest, ok bool) {
	for _, r := range b.open {
		if r.Number == answer.Number {
			b.grant = b.grant.Raised(r.MoreAsked, answer.Grant)
			b.open = slices.DeleteFunc(slices.Clone(b.open), func(r contract.BudgetRequest) bool { return r.Number <= answer.Number })
			return b, r, true
		}
	}
	return b, to, false
}

// An Answer is what came of a request of a sub-agent for more: Grant is what it may use in all from then on, and Before what
// it might until then.
type Answer struct {
	At            time.Time
	Asked         domain.MoreAsked
	Before, Grant domain.ExecutionBudget
	// Refused says that it got no more.
	Refused bool
}

// granted has the budget of a sub-agent rise with what it is granted, where it has asked for that.
func (a Agent) granted(f Granted, at time.Time) Agent {
	before := a.borrowed.Grant()
	borrowed, to, ok := a.borrowed.Answered(f.Answer)
	if !ok {
		return a.unasked()
	}
	a.borrowed = borrowed
	answer := Answer{At: at, Asked: to.MoreAsked, Before: before, Grant: borrowed.Grant(), Refused: borrowed.Grant().Within(before)}
	a.Execution.Answers = append(slices.Clip(a.Execution.Answers), answer)
	if a.Execution.Running && a.Execution.Budget != nil {
		a.Execution.Budget = new(a.Execution.Budget.Regranted(before, borrowed.Grant()))
	}
	return a
}

// unasked notes, once, that somebody has sent a grant that is the answer to nothing.
func (a Agent) unasked() Agent {
	note := Unreadable{What: "a signal " + string(contract.SignalBudgetGrant), Why: "it answers no request of the agent, and has changed nothing"}
	if !slices.Contains(a.Unread, note) {
		a.Unread = append(slices.Clip(a.Unread), note)
	}
	return a
}
