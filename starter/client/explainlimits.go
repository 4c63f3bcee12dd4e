package client

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/progress"
)

// limits are those of the budget with what was used of them; nil: nobody can tell.
func (e *explanation) limits(v ExplainView) []ExplainLimit {
	budget, prior := e.at.Budget, e.at.Prior
	if e.state != nil {
		budget = new(e.state.Budget())
	}
	if e.status != nil {
		prior = &e.status.Prior
	}
	if budget == nil {
		e.miss("the budget: nobody can tell it any more")
		return nil
	}
	timed := prior != nil
	if prior = cmp.Or(prior, e.prior); prior == nil && !budget.IsEmpty() {
		e.miss("what the executions that this one goes on from have used of the budget")
	} else if !timed && budget.MaxSeconds != nil {
		e.miss("how much time the executions that this one goes on from have used of the budget")
	}
	limits, used := []ExplainLimit{}, e.used(v)
	c, _ := e.continuation()
	// Of two limits of time it is the deadline that was reached, if past.
	past := budget.Deadline != nil && v.EndedAt != nil && !v.EndedAt.Before(*budget.Deadline)
	for _, rule := range domain.LimitRules() {
		total, limited := rule.Total(*budget)
		if !limited {
			continue
		}
		came := slices.ContainsFunc(c.StopSignals, func(s domain.StopSignal) bool {
			return s.Reason == rule.Reason && s.Source != progress.SourceSessionBudget
		}) || e.outcome != nil && e.outcome.StopReason == rule.Reason && !e.outcome.SessionLimit
		l := ExplainLimit{Limit: rule.Limit, Unit: rule.Unit}
		l.Default = rule.Limit == domain.LimitSteps && budget.MaxStepsFrom == domain.StepsDefault
		l.Reached = came && (!rule.Unit.OfTime() || past == (rule.Unit == domain.UnitTime))
		if rule.Unit == domain.UnitTime {
			l.Deadline = new(total.Time())
			limits = append(limits, l)
			continue
		}
		l.Total, l.Used = new(total.Int()), used[rule.Limit]
		if prior != nil && (timed || rule.Unit != domain.UnitMilliseconds) {
			l.Prior = new(rule.Used(*prior, time.Time{}).Int())
		}
		if l.Used != nil && l.Prior != nil {
			l.Left = new(max(*l.Total-*l.Used-*l.Prior, 0))
		}
		limits = append(limits, l)
	}
	return limits
}

// account is the session's as of the execution, with what that has used itself; nil where it has no budget.
func (e *explanation) account() *domain.SessionAccount {
	switch {
	case e.at.Session == nil:
		return e.then.Session // given since
	case e.outcome != nil:
		return cmp.Or(e.then.Session, e.at.Session)
	}
	account := *e.at.Session
	account.Spent = account.Spent.Add(totalsOf(e.recorded()).spent)
	return &account
}

// sessionLimits are those over the session, as they bound the execution.
func (e *explanation) sessionLimits(v ExplainView) (limits []ExplainLimit) {
	if e.at.Session == nil {
		return nil
	}
	before, used := *e.at.Session, e.used(v)
	for _, rule := range domain.LimitRules() {
		total, limited := rule.Total(before.Budget)
		if !limited {
			continue
		}
		prior := rule.Used(before.Spent, time.Time{}).Int()
		l := ExplainLimit{Limit: rule.Limit, Unit: rule.Unit, Total: new(total.Int()), Prior: &prior, Used: used[rule.Limit]}
		if o := e.outcome; o != nil && o.SessionSpent != nil {
			l.Used = new(rule.Used(*o.SessionSpent, time.Time{}).Int() - prior)
			l.Reached = o.SessionLimit && o.StopReason == rule.Reason
		}
		if l.Used != nil {
			l.Left = new(max(*l.Total-*l.Used-prior, 0))
		}
		limits = append(limits, l)
	}
	return limits
}

// used is what the execution used of each limit, where known. What it has counted itself goes
// before what the steps that can be read add up to.
func (e *explanation) used(v ExplainView) map[domain.Limit]*int64 {
	used := map[domain.Limit]*int64{}
	if r := v.Reported; r != nil && r.Steps > len(v.Steps) {
		used[domain.LimitSteps], used[domain.LimitTokens] = new(int64(r.Steps)), &r.Usage.TotalTokens
		used[domain.LimitCost] = r.CostNanoUSD
	} else if !e.gone {
		for _, rule := range domain.LimitRules() {
			used[rule.Limit] = new(rule.Used(v.Totals.spent, time.Time{}).Int())
		}
		used[domain.LimitCost] = v.Totals.CostNanoUSD
	}
	used[domain.LimitSeconds] = v.Milliseconds
	if s := e.status; s != nil && s.Budget.MaxSeconds != nil && s.BudgetLeft.MaxSeconds != nil && *s.BudgetLeft.MaxSeconds > 0 {
		used[domain.LimitSeconds] = new(int64((*s.Budget.MaxSeconds - *s.BudgetLeft.MaxSeconds - s.Prior.Seconds) * 1000))
	}
	return used
}

// exhausted reports whether nothing can go on. Without tool calls an agent still answers.
func (l ExplainLimit) exhausted() bool {
	exhausts := slices.ContainsFunc(domain.LimitRules(), func(r domain.LimitRule) bool { return r.Limit == l.Limit && r.Exhausts })
	return exhausts && l.Left != nil && *l.Left == 0
}

// raise is the command that goes on with more of each limit that was reached, or used up.
func raise(id string, limits []ExplainLimit) string {
	parts := []string{"extend", id}
	for _, l := range limits {
		if l.Reached || l.exhausted() {
			parts = append(parts, "--"+l.Limit.Flag(), raised(l))
		}
	}
	return strings.Join(parts, " ")
}

// raised is twice the old total, and more than what is used, as its flag takes it.
func raised(l ExplainLimit) string {
	if l.Deadline != nil {
		return "1h"
	}
	total := 2 * *l.Total
	if total == 0 { // one to begin with
		total = cmp.Or(map[domain.Unit]int64{
			domain.UnitTokens: 10_000, domain.UnitNanoUSD: 100_000_000, domain.UnitMilliseconds: 60_000,
		}[l.Unit], 10)
	}
	if l.Used != nil && l.Prior != nil {
		total = max(total, *l.Used+*l.Prior+*l.Total)
	}
	switch l.Unit {
	case domain.UnitMilliseconds:
		return fmt.Sprintf("%g", max(time.Duration(total)*time.Millisecond, time.Second).Seconds())
	case domain.UnitNanoUSD:
		return domain.USD(total)
	default:
	}
	return fmt.Sprint(total)
}
