package client

import (
	"fmt"
	"strings"
	"time"

	"everstep/domain"
)

// limits lists the limits of the budget with what was used of them; nil where
// nobody can tell the budget.
func (e *explanation) limits(v ExplainView) []ExplainLimit {
	budget, prior := e.past.budget, e.past.prior
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
	if prior == nil && !budget.IsEmpty() {
		e.miss("what the executions that this one goes on from have used of the budget")
	}
	reached := e.reached(*budget, v)
	limits := []ExplainLimit{}
	add := func(limit domain.Limit, unit LimitUnit, total, used *int64, of func(domain.Spent) int64) {
		if total == nil {
			return
		}
		l := ExplainLimit{Limit: limit, Unit: unit, Total: total, Used: used, Reached: reached[limit]}
		if prior != nil {
			l.Prior = new(of(*prior))
		}
		if l.Used != nil && l.Prior != nil {
			l.Left = new(max(*total-*l.Used-*l.Prior, 0))
		}
		limits = append(limits, l)
	}
	used := e.used(v)
	add(domain.LimitSteps, UnitSteps, budget.MaxSteps, used.steps, func(s domain.Spent) int64 { return s.Steps })
	add(domain.LimitTokens, UnitTokens, budget.MaxTokens, used.tokens, func(s domain.Spent) int64 { return s.Tokens })
	add(domain.LimitCost, UnitNanoUSD, budget.MaxCostNanoUSD, used.cost, func(s domain.Spent) int64 { return s.CostNanoUSD })
	add(domain.LimitToolCalls, UnitCalls, budget.MaxToolCalls, used.calls, func(s domain.Spent) int64 { return s.ToolCalls })
	add(domain.LimitSeconds, UnitMilliseconds, milliseconds(budget.MaxSeconds), used.time, func(s domain.Spent) int64 { return int64(s.Seconds * 1000) })
	if budget.Deadline != nil {
		limits = append(limits, ExplainLimit{Limit: domain.LimitDeadline, Unit: UnitTime, Deadline: budget.Deadline, Reached: reached[domain.LimitDeadline]})
	}
	return limits
}

// A consumption is what the execution itself used; nil is unknown.
type consumption struct{ steps, tokens, cost, calls, time *int64 }

// used is what the execution itself used. What it has counted goes before what
// the steps that can be read add up to.
func (e *explanation) used(v ExplainView) consumption {
	c := consumption{
		steps: new(int64(len(v.Steps))), tokens: &v.Totals.Usage.TotalTokens, cost: v.Totals.CostNanoUSD,
		calls: &v.Totals.ToolCalls, time: v.Milliseconds,
	}
	if r := v.Reported; r != nil && r.Steps > len(v.Steps) {
		c = consumption{steps: new(int64(r.Steps)), tokens: &r.Usage.TotalTokens, cost: r.CostNanoUSD, time: v.Milliseconds}
	} else if e.past.gone {
		c = consumption{time: v.Milliseconds}
	}
	if s := e.status; s != nil && s.Budget.MaxSeconds != nil && s.BudgetLeft.MaxSeconds != nil && *s.BudgetLeft.MaxSeconds > 0 {
		c.time = milliseconds(new(*s.Budget.MaxSeconds - *s.BudgetLeft.MaxSeconds - s.Prior.Seconds))
	}
	return c
}

func milliseconds(seconds *float64) *int64 {
	if seconds == nil {
		return nil
	}
	return new(int64(*seconds * 1000))
}

// reached are the limits of which a signal came.
func (e *explanation) reached(b domain.ExecutionBudget, v ExplainView) map[domain.Limit]bool {
	c, _ := e.continuation()
	reasons := map[domain.StopReason]bool{}
	for _, s := range c.StopSignals {
		reasons[s.Reason] = true
	}
	if e.outcome != nil {
		reasons[e.outcome.StopReason] = true
	}
	past := b.Deadline != nil && v.EndedAt != nil && !v.EndedAt.Before(*b.Deadline)
	return map[domain.Limit]bool{
		domain.LimitSteps:     reasons[domain.StepsLimitReached],
		domain.LimitTokens:    reasons[domain.TokenLimitReached],
		domain.LimitCost:      reasons[domain.CostLimitReached],
		domain.LimitToolCalls: reasons[domain.ToolCallLimitReached],
		domain.LimitSeconds:   reasons[domain.TimeLimitReached] && !past,
		domain.LimitDeadline:  reasons[domain.TimeLimitReached] && past,
	}
}

// exhausted reports whether nothing of a limit is left such that nothing can go
// on. Without tool calls an agent still answers.
func (l ExplainLimit) exhausted() bool {
	return l.Left != nil && *l.Left == 0 && l.Limit != domain.LimitToolCalls
}

// raise is the command that goes on with about twice of each limit that was
// reached, or of which nothing is left.
func raise(id string, limits []ExplainLimit) string {
	parts := []string{"extend", id}
	for _, l := range limits {
		if !l.Reached && !l.exhausted() {
			continue
		}
		name := "--" + strings.ReplaceAll(string(l.Limit), "_", "-")
		if l.Deadline != nil {
			parts = append(parts, name, "1h")
			continue
		}
		parts = append(parts, name, raised(l))
	}
	return strings.Join(parts, " ")
}

// raised is a new total as its flag takes it: twice the old one, and more than
// what is used.
func raised(l ExplainLimit) string {
	total := 2 * *l.Total
	if *l.Total == 0 {
		total = map[LimitUnit]int64{
			UnitSteps: 10, UnitTokens: 10_000, UnitNanoUSD: 100_000_000, UnitCalls: 10, UnitMilliseconds: 60_000,
		}[l.Unit]
	}
	if l.Used != nil && l.Prior != nil {
		total = max(total, *l.Used+*l.Prior+*l.Total)
	}
	switch l.Unit {
	case UnitMilliseconds:
		return fmt.Sprintf("%g", max(time.Duration(total)*time.Millisecond, time.Second).Seconds())
	case UnitNanoUSD:
		return domain.USD(total)
	case UnitSteps, UnitTokens, UnitCalls, UnitTime:
	}
	return fmt.Sprint(total)
}
