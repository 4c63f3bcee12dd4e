package client

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// limits are those of the budget with what was used of them; nil: nobody can tell.
func (e *explanation) limits() []ExplainLimit {
	budget, known := e.state.Budget()
	if next := e.Head.Ledger.Execution; !known && next != nil {
		budget, known = next.Limit, true // it is to begin
	}
	if !known {
		e.miss("the budget: nobody can tell it any more")
		return nil
	}
	// Of two limits of time it is the deadline that was reached, if past.
	past := budget.Deadline != nil && e.over() && !e.asked.CompletedAt.Before(*budget.Deadline)
	used, timed := e.used()
	return e.limitsOf(budget, e.asked.Prior, used, timed, func(rule domain.LimitRule) bool {
		came := slices.ContainsFunc(e.state.Execution.Continuation.StopSignals, func(s domain.StopSignal) bool {
			return s.Reason == rule.Reason && s.Source != domain.SourceSessionBudget
		}) || e.asked.StopReason == rule.Reason && !e.asked.SessionLimit
		return came && (!rule.Unit.OfTime() || past == (rule.Unit == domain.UnitTime))
	})
}

// sessionLimits are those over the session, as they bound the execution.
func (e *explanation) sessionLimits() []ExplainLimit {
	before, has := e.state.Session()
	if !has {
		return nil
	}
	own := e.state.Spent(e.asked.CompletedAt).Less(e.state.Execution.ExecutionCounts.Prior)
	before.Spent = before.Spent.Less(own)
	used, timed := e.used()
	o := e.asked.Outcome
	if o.SessionSpent != nil {
		used = o.SessionSpent.Less(before.Spent)
	}
	return e.limitsOf(before.Budget, before.Spent, used, timed, func(rule domain.LimitRule) bool {
		return o.SessionSpent != nil && o.SessionLimit && o.StopReason == rule.Reason
	})
}

// limitsOf are the limits of a budget, with what was used of each before the execution and by it, as far as that is known. timed
// says that it is known how long it took.
func (e *explanation) limitsOf(budget domain.ExecutionBudget, prior, used domain.Spent, timed bool, reached func(domain.LimitRule) bool) []ExplainLimit {
	limits := []ExplainLimit{}
	for _, rule := range domain.LimitRules() {
		total, limited := rule.Total(budget)
		if !limited {
			continue
		}
		l := ExplainLimit{Limit: rule.Limit, Unit: rule.Unit, Reached: reached(rule), Default: budget.ByDefault(rule.Limit)}
		if rule.Unit == domain.UnitTime {
			l.Deadline = new(total.Time())
			limits = append(limits, l)
			continue
		}
		l.Total, l.Prior = new(total.Int()), new(rule.Used(prior, time.Time{}).Int())
		switch {
		case rule.Limit == domain.LimitCost:
			l.Used = domain.KnownCost(used.CostNanoUSD, used.Tokens, e.asked.Priced)
		case timed || rule.Limit != domain.LimitSeconds:
			l.Used = new(rule.Used(used, time.Time{}).Int())
		}
		if l.Used != nil {
			l.Left = new(max(*l.Total-*l.Used-*l.Prior, 0))
		}
		limits = append(limits, l)
	}
	return limits
}

// used is what the execution used, as it has counted itself. It reports false where nobody knows how long it took.
func (e *explanation) used() (spent domain.Spent, timed bool) {
	prior := e.state.Execution.ExecutionCounts.Prior
	spent = e.state.Spent(e.asked.CompletedAt).Less(prior)
	own, timed := e.Head.Ledger.Execution, e.over()
	if !timed && own != nil && e.Server.Source == contract.FromWorkflow { // else nobody knows how long it waits for people
		spent.Seconds, timed = own.Spent.Less(prior).Seconds, true
	}
	return spent, timed
}

// raise is the command that goes on with more of each limit that was reached, or used up.
func raise(id string, limits []ExplainLimit) string {
	parts := []string{"extend", id}
	for _, l := range limits {
		if l.Reached || l.Limit.Rule().Exhausts && l.Left != nil && *l.Left == 0 { // without tool calls an agent still answers
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
