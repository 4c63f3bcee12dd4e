package domain

import "time"

// A Holder may spend up to a budget: an execution, its session over all executions, or a sub-agent.
type Holder struct {
	Budget ExecutionBudget `json:"budget,omitzero"`
	Spent  Spent           `json:"spent,omitzero"`
}

// Left is what is left of the budget.
func (h Holder) Left() ExecutionBudget { return h.Budget.Remaining(h.Spent) }

// UseOf is how much the holder has of a limit, and what was used of it; ok is false where it has no such limit.
func (h Holder) UseOf(limit Limit, now time.Time) (use LimitUse, ok bool) {
	rule := limit.Rule()
	total, ok := rule.in(&h.Budget)
	return LimitUse{Rule: rule, Used: rule.Used(h.Spent, now), Total: total, Default: h.Budget.ByDefault(limit)}, ok
}

// UsedUp lists the limits of a session of which nothing is left, in the table's order: each has to be raised before
// anything can begin.
func (h Holder) UsedUp() []LimitUse { return Ledger{Session: h}.UsedUp(time.Time{}) }

// CheckSession is Check for a budget over a session, which has no limits of time: it may be idle for days.
func (b ExecutionBudget) CheckSession() error {
	for rule := range b.limits {
		if rule.Unit.OfTime() {
			return Invalidf("%s: is no limit of a session, which may be idle for days; give it in budget, for each execution, or bound how long the session is idle by idle_timeout", rule.Limit)
		}
	}
	return b.Check()
}

// SessionLimits lists the limits that a budget over a session can have.
func SessionLimits() (limits []Limit) {
	for _, rule := range limitRules[:] {
		if !rule.Unit.OfTime() {
			limits = append(limits, rule.Limit)
		}
	}
	return limits
}

// Session is what holds for the session until now, the execution in progress included; ok is false where it has no budget.
// It counts from the first execution that began with one.
func (s AgentState) Session() (session Holder, ok bool) {
	if s.SessionAccount == nil {
		return session, false
	}
	session = *s.SessionAccount
	if s.HasActiveExecution() {
		session.Spent = session.Spent.Add(s.ownSpent())
	}
	return session, true
}

// WithSessionBudget returns the state with other totals for the session. What was spent of it stays spent.
func (s AgentState) WithSessionBudget(b ExecutionBudget, now time.Time) (AgentState, error) {
	if err := b.CheckSession(); err != nil {
		return s, err
	}
	b, _ = keep(b)
	session := Holder{Budget: b}
	if s.SessionAccount != nil {
		session.Spent = s.SessionAccount.Spent
	}
	s.SessionAccount = &session
	return s.updated(now), nil
}

// A Ledger is all that bounds what an execution may spend.
type Ledger struct {
	// Execution has the execution's own budget. Session has that over the session, where there is one, with what all its
	// executions have spent, this one included.
	Execution, Session Holder
	// Reserved is what nobody else may spend meanwhile: what sub-agents under way are granted, and what is kept back for
	// the agent's own answer.
	Reserved Spent
}

// Ledger is the execution's, with what was spent until now and nothing reserved.
func (s AgentState) Ledger(now time.Time) Ledger {
	budget, _ := s.Budget()
	session, _ := s.Session()
	return Ledger{Execution: Holder{budget, s.Spent(now)}, Session: session}
}

// Budget is what both holders allow, as totals that the execution's Spent counts against.
func (l Ledger) Budget() ExecutionBudget {
	if l.Session.Budget.IsEmpty() {
		return l.Execution.Budget
	}
	left := l.Session.Left()
	for rule, amount := range left.limits {
		amount.count = AddCost(amount.count, rule.Used(l.Execution.Spent, time.Time{}).count)
		left = rule.With(left, amount)
	}
	return l.Execution.Budget.CappedBy(left)
}

// Free is what both holders leave once what is reserved is taken off.
func (l Ledger) Free() ExecutionBudget {
	return l.Budget().Remaining(l.Execution.Spent).Remaining(l.Reserved)
}

// Totals are the smaller of each limit, whatever was used. They say whether money is limited at all.
func (l Ledger) Totals() ExecutionBudget { return l.Execution.Budget.CappedBy(l.Session.Budget) }

// UseOf is how much was used of a limit: of the session's where that leaves no more than the execution's own.
func (l Ledger) UseOf(limit Limit, now time.Time) (use LimitUse, ok bool) {
	use, ok = l.Execution.UseOf(limit, now)
	session, set := l.Session.UseOf(limit, now)
	if !set || ok && use.Total.count-use.Used.count < session.Total.count-session.Used.count {
		return use, ok
	}
	session.Session = true
	return session, true
}

// UsedUp lists the limits of which nothing is left, in the table's order.
func (l Ledger) UsedUp(now time.Time) (uses []LimitUse) {
	for _, rule := range limitRules[:] {
		if use, set := l.UseOf(rule.Limit, now); set && use.Reached() {
			uses = append(uses, use)
		}
	}
	return uses
}

// Reached returns the limit that is used up, where one is: the first of the table.
func (l Ledger) Reached(now time.Time) (use LimitUse, reached bool) {
	if uses := l.UsedUp(now); len(uses) > 0 {
		return uses[0], true
	}
	return use, false
}

// Share is one of so many equal parts of a budget, which is a sub-agent's grant. A remainder stays. Time is not divided:
// each part has all of it.
func (b ExecutionBudget) Share(parts int64) ExecutionBudget {
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

// An Ask is what a sub-agent asks for more of than it was granted.
type Ask struct {
	Limit Limit `json:"limit"`
	// Need is the least with which it can go on, and Most all that is of any use to it; absent: there is no such bound.
	Need int64  `json:"need"`
	Most *int64 `json:"most,omitempty"`
	// AtOnce says that it goes on without, where nothing is left now: an answer has little room.
	AtOnce bool `json:"at_once,omitzero"`
}

// More is how much more is given to somebody who asks, of a budget that is free: an equal share with so many others, but
// what is needed where there is so much. Zero: there is not, as of time.
func (b ExecutionBudget) More(ask Ask, parts int64) int64 {
	free, limited := b.Total(ask.Limit)
	need := max(ask.Need, 1)
	if !limited || free.count < need || ask.Most != nil && *ask.Most < need {
		return 0
	}
	more := max(free.count/max(parts, 1), need)
	if ask.Most != nil {
		more = min(more, *ask.Most)
	}
	return more
}

// Raised is a grant with so much more of a limit. What it does not limit stays so, and time is never granted.
func (b ExecutionBudget) Raised(limit Limit, more int64) ExecutionBudget {
	rule := limit.Rule()
	total, limited := rule.in(&b)
	if !limited || rule.Unit.OfTime() {
		return b
	}
	total.count = AddCost(total.count, max(more, 0))
	return rule.With(b, total)
}

// Answered is a grant once what was asked for is answered with another one: it has more of that limit, at most as much as
// was asked for, and of no other.
func (b ExecutionBudget) Answered(ask Ask, answer ExecutionBudget) ExecutionBudget {
	had, _ := b.Total(ask.Limit)
	has, _ := answer.Total(ask.Limit)
	more := has.count - had.count
	if ask.Most != nil {
		more = min(more, *ask.Most)
	}
	return b.Raised(ask.Limit, more)
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

// Beyond is a limit of a grant of which more was spent than that, the first of the table; empty: there is none.
func (b ExecutionBudget) Beyond(spent Spent) Limit {
	for rule, total := range b.limits {
		if !rule.Unit.OfTime() && total.below(rule.Used(spent, time.Time{})) {
			return rule.Limit
		}
	}
	return ""
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
