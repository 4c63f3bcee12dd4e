package domain

import "time"

// Share is one of so many equal parts of what is left of a budget once what is reserved for others is taken off. A
// remainder stays. Time is not divided: each part has all of it.
func (b ExecutionBudget) Share(reserved Spent, parts int64) ExecutionBudget {
	b = b.Remaining(reserved)
	for rule, left := range b.limits {
		if !rule.Unit.OfTime() {
			left.count /= max(parts, 1)
			b = rule.With(b, left)
		}
	}
	return b
}

// Whole is what is spent of a budget that is used up, time aside. What it does not limit counts as nothing.
func (b ExecutionBudget) Whole() (spent Spent) {
	for rule, total := range b.limits {
		if into, ok := rule.spent(&spent).(*int64); ok {
			*into = total.count
		}
	}
	return spent
}

// A Pool is what sub-agents that run at the same time may use of the budget of the agent that started them. What one is
// granted is reserved from its start to its end, so that no two spend the same. The zero value has granted nothing.
type Pool struct {
	grants []ExecutionBudget
	// reserved is what is granted, time aside.
	reserved Spent
}

// Reserved is what those who are under way may still spend, time aside.
func (p Pool) Reserved() Spent { return p.reserved }

// WithGrant returns the pool with a grant for one of so many that are yet to start, that one included, where so much is
// left of the budget.
func (p Pool) WithGrant(left ExecutionBudget, toStart int) (Pool, ExecutionBudget) {
	grant := left.Share(p.reserved, int64(toStart))
	p.grants = plus(p.grants, grant)
	return p.summed(), grant
}

// WithReturn returns the pool once somebody is over who had a grant. What that has spent is the agent's by then.
func (p Pool) WithReturn(grant ExecutionBudget) Pool {
	for i, own := range p.grants {
		if own.Whole() == grant.Whole() {
			p.grants = plus(p.grants[:i:i], p.grants[i+1:]...)
			break
		}
	}
	return p.summed()
}

// A MoreAsked is what somebody who has a grant asks for more of.
type MoreAsked struct {
	Limit Limit `json:"limit"`
	// Need is the least with which it can go on, and Most all that is of any use to it; absent: there is no such bound.
	Need int64  `json:"need"`
	Most *int64 `json:"most,omitempty"`
}

// More is how much more somebody gets who has a grant and asks: an equal share of what is left, with so many others and the
// agent itself, but what is needed where there is so much. Zero: there is not.
func (p Pool) More(left ExecutionBudget, asked MoreAsked, parts int64) int64 {
	use, set := left.UseOf(asked.Limit, p.reserved, time.Time{})
	free, need := max(use.Total.count-use.Used.count, 0), max(asked.Need, 1)
	if !set || use.Rule.Unit.OfTime() || free < need || asked.Most != nil && *asked.Most < need {
		return 0
	}
	more := max(free/max(parts, 1), need)
	if asked.Most != nil {
		more = min(more, *asked.Most)
	}
	return more
}

// WithMore returns the pool with so much more of a limit for somebody who has a grant, and the new grant.
func (p Pool) WithMore(grant ExecutionBudget, limit Limit, more int64) (Pool, ExecutionBudget) {
	for rule, total := range grant.limits {
		if rule.Limit == limit {
			p = p.WithReturn(grant)
			total.count = AddCost(total.count, more)
			grant = rule.With(grant, total)
			p.grants = plus(p.grants, grant)
		}
	}
	return p.summed(), grant
}

// Regranted is the budget of one that had a grant and has a higher one: limits that were those of the grant rise with it.
func (b ExecutionBudget) Regranted(before, now ExecutionBudget) ExecutionBudget {
	for rule, own := range b.limits {
		had, bound := rule.in(&before)
		if has, set := rule.in(&now); bound && set && !rule.Unit.OfTime() && own.count == had.count && had.below(has) {
			b = rule.With(b, has)
		}
	}
	return b
}

// Raised is a grant once what was asked for is answered with another one: it has more of that limit, at most as much as was
// asked for, and of no other.
func (b ExecutionBudget) Raised(asked MoreAsked, answer ExecutionBudget) ExecutionBudget {
	for rule, had := range b.limits {
		has, set := rule.in(&answer)
		if rule.Limit != asked.Limit || !set || rule.Unit.OfTime() {
			continue
		}
		if asked.Most != nil {
			has.count = min(has.count, AddCost(had.count, max(*asked.Most, 0)))
		}
		if had.below(has) {
			b = rule.With(b, has)
		}
	}
	return b
}

// Beyond is a limit of a grant of which more was spent than that, the first of the table; empty: there is none.
func (b ExecutionBudget) Beyond(spent Spent) Limit {
	for rule, total := range b.limits {
		if !rule.Unit.OfTime() && total.below(rule.Used(spent, time.Time{})) {
			return rule.Limit
		}
	}
	return ""
}

func (p Pool) summed() Pool {
	p.reserved = Spent{}
	for _, grant := range p.grants {
		p.reserved = p.reserved.Add(grant.Whole())
	}
	return p
}

// Equal reports whether both have the same limits.
func (b ExecutionBudget) Equal(other ExecutionBudget) bool { return b.Within(other) && other.Within(b) }

// Within reports whether a budget allows nothing that another one does not.
func (b ExecutionBudget) Within(bound ExecutionBudget) bool {
	for rule, limit := range bound.limits {
		if own, limited := rule.in(&b); !limited || limit.below(own) {
			return false
		}
	}
	return true
}
