package mailbox

import (
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
)

// A borrowed is what a sub-agent may use of the budget of the agent that has started it, and what it asks that for. Anybody
// who may signal workflows can send it a grant: it is one only as the answer to a request, by its number, and gives more of
// nothing but what that asked for. It counts from the beginning of a run.
type borrowed struct {
	grant domain.ExecutionBudget
	// open are the requests that have no answer. One that comes late is taken, too: whoever gave it has set that aside.
	open []contract.BudgetRequest
}

// newBorrowed is of a sub-agent whose run begins with a grant.
func newBorrowed(grant domain.ExecutionBudget) borrowed { return borrowed{grant: grant} }

// Grant is what the sub-agent may use in all.
func (b borrowed) Grant() domain.ExecutionBudget { return b.grant }

// Asking adds a request.
func (b borrowed) Asking(r contract.BudgetRequest) borrowed {
	b.open = append(slices.Clip(b.open), r)
	return b
}

// Waits reports whether a request has no answer.
func (b borrowed) Waits(number int) bool {
	return slices.ContainsFunc(b.open, func(r contract.BudgetRequest) bool { return r.Number == number })
}

// Answered takes an answer, and is the request that it is to; ok is false where there is none, and nothing changes.
func (b borrowed) Answered(answer contract.BudgetGrant) (after borrowed, to contract.BudgetRequest, ok bool) {
	for _, r := range b.open {
		if r.Number == answer.Number {
			b.grant = b.grant.Raised(r.MoreAsked, answer.Grant)
			b.open = slices.DeleteFunc(slices.Clone(b.open), func(r contract.BudgetRequest) bool { return r.Number <= answer.Number })
			return b, r, true
		}
	}
	return b, to, false
}
