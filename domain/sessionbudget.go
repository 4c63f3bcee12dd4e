package domain

import "time"

// A SessionAccount is a budget over all executions of a session, with what those that have ended used of it, their
// sub-agents included. It counts from the first execution that began with one.
type SessionAccount struct {
	Budget ExecutionBudget `json:"budget,omitzero"`
	Spent  Spent           `json:"spent,omitzero"`
}

// Left is what is left of the budget.
func (a SessionAccount) Left() ExecutionBudget { return a.Budget.Remaining(a.Spent) }

// Bounds are those of a session alone.
func (a SessionAccount) Bounds() Bounds { return Bounds{Session: a.Budget, SessionSpent: a.Spent} }

// UsedUp lists the limits of which nothing is left, in the table's order: each has to be raised before anything can begin.
func (a SessionAccount) UsedUp() (uses []LimitUse) {
	for _, rule := range limitRules[:] {
		if use, set := a.Bounds().UseOf(rule.Limit, time.Time{}); set && use.reached() {
			uses = append(uses, use)
		}
	}
	return uses
}

// Check refuses an account with which more could be spent than its budget says; nil is none.
func (a *SessionAccount) Check() error {
	if a == nil {
		return nil
	}
	if err := a.Budget.CheckSession(); err != nil {
		return in("budget", err)
	}
	return in("spent", a.Spent.Check())
}

// CheckSession is Check for a budget over a session, which has no limits of time: it may be idle for days.
func (b ExecutionBudget) CheckSession() error {
	for rule := range b.limits {
		if rule.Unit.OfTime() {
			return Errorf(Invalid, "%s: is no limit of a session, which may be idle for days; give it in budget, for each execution, or bound how long the session is idle by idle_timeout", rule.Limit)
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

// Session is the session's account until now, the execution in progress included; ok is false where it has no budget.
func (s AgentState) Session() (account SessionAccount, ok bool) {
	if s.SessionAccount == nil {
		return account, false
	}
	account = *s.SessionAccount
	if s.HasActiveExecution() {
		account.Spent = account.Spent.Add(s.ownSpent())
	}
	return account, true
}

// WithSessionBudget returns the state with other totals for the session. What was spent of it stays spent.
func (s AgentState) WithSessionBudget(b ExecutionBudget, now time.Time) (AgentState, error) {
	if err := b.CheckSession(); err != nil {
		return s, err
	}
	account := SessionAccount{Budget: b.clone()}
	if s.SessionAccount != nil {
		account.Spent = s.SessionAccount.Spent
	}
	s.SessionAccount = &account
	return s.updated(now), nil
}

// SessionBooked is the session's account by the end of so many executions, the one in progress aside.
func (s AgentState) SessionBooked() (account SessionAccount, executions int, ok bool) {
	if executions = s.ExecutionCount; s.HasActiveExecution() {
		executions--
	}
	if s.SessionAccount == nil {
		return account, executions, false
	}
	return *s.SessionAccount, executions, true
}

// booked is the state once what its execution has spent stands in the session's account.
func (s AgentState) booked(spent Spent) AgentState {
	if s.SessionAccount != nil {
		s.SessionAccount = &SessionAccount{s.SessionAccount.Budget, s.SessionAccount.Spent.Add(spent)}
	}
	return s
}

// Bounds are all that bounds an execution: its own budget, and that of its session where there is one.
type Bounds struct {
	// Spent counts against Own, SessionSpent against Session: what all its executions have used, this one included.
	Own, Session        ExecutionBudget
	Spent, SessionSpent Spent
}

// Bounds are those of the execution, with what was used until now.
func (s AgentState) Bounds(now time.Time) Bounds {
	budget, _ := s.Budget()
	account, _ := s.Session()
	return Bounds{Own: budget, Spent: s.Spent(now), Session: account.Budget, SessionSpent: account.Spent}
}

// Budget is what both allow, as totals that Spent counts against.
func (b Bounds) Budget() ExecutionBudget {
	if b.Session.IsEmpty() {
		return b.Own
	}
	left := b.Session.Remaining(b.SessionSpent)
	for rule, amount := range left.limits {
		amount.count = AddCost(amount.count, rule.Used(b.Spent, time.Time{}).count)
		left = rule.With(left, amount)
	}
	return b.Own.CappedBy(left)
}

// Left is what both leave.
func (b Bounds) Left() ExecutionBudget { return b.Budget().Remaining(b.Spent) }

// Totals are the smaller of each limit, whatever was used. They say whether money is limited at all.
func (b Bounds) Totals() ExecutionBudget { return b.Own.CappedBy(b.Session) }

// UseOf is how much was used of a limit: of the session's where that leaves no more than the execution's own.
func (b Bounds) UseOf(limit Limit, now time.Time) (use LimitUse, ok bool) {
	use, ok = b.Own.UseOf(limit, b.Spent, now)
	whole, set := b.Session.UseOf(limit, b.SessionSpent, now)
	if !set || ok && use.Total.count-use.Used.count < whole.Total.count-whole.Used.count {
		return use, ok
	}
	whole.Session = true
	return whole, true
}

// Reached returns the limit that is used up, where one is: the first of the table.
func (b Bounds) Reached(now time.Time) (LimitUse, bool) {
	for _, rule := range limitRules[:] {
		if use, set := b.UseOf(rule.Limit, now); set && use.reached() {
			return use, true
		}
	}
	return LimitUse{}, false
}
