package domain

import "time"

// ExecutionCounts are what an execution has used that its steps do not tell.
type ExecutionCounts struct {
	// ToolCalls are the calls that count against max_tool_calls: those that have
	// begun.
	ToolCalls int64 `json:"tool_calls,omitzero"`
	// Waited is how long the execution has waited for people, and WaitingSince
	// since when it does so now; zero: it does not.
	Waited       time.Duration `json:"waited,omitzero"`
	WaitingSince time.Time     `json:"waiting_since,omitzero"`
	// Prior is what its origins have spent of its budget.
	Prior Spent `json:"prior,omitzero"`
}

// Counts are the execution's; zero between executions.
func (s AgentState) Counts() ExecutionCounts { return s.execution().Counts() }

// WithCounts returns the state with other counts for its execution. A loop that
// takes over an execution begins with them. Without an execution it is as it was.
func (s AgentState) WithCounts(c ExecutionCounts, now time.Time) AgentState {
	if s.w.Execution == nil {
		return s
	}
	c.WaitingSince = utc(c.WaitingSince)
	return s.changed(now, func(e *executionWire) { e.ExecutionCounts = c })
}

// WithToolCalls returns the state with more tool calls that count; a negative
// number takes off those that did not begin after all.
func (s AgentState) WithToolCalls(calls int64, now time.Time) AgentState {
	counts := s.Counts()
	counts.ToolCalls = max(counts.ToolCalls+calls, 0)
	return s.WithCounts(counts, now)
}

// WithWaiting returns the state of an execution that begins to wait for people,
// or goes on. The time between does not count as spent.
func (s AgentState) WithWaiting(on bool, now time.Time) AgentState {
	counts := s.Counts()
	switch waiting := !counts.WaitingSince.IsZero(); {
	case on && !waiting:
		counts.WaitingSince = now
	case !on && waiting:
		counts.Waited, counts.WaitingSince = counts.waited(now), time.Time{}
	}
	return s.WithCounts(counts, now)
}

// waited is how long the execution has waited until now.
func (c ExecutionCounts) waited(now time.Time) time.Duration {
	if c.WaitingSince.IsZero() {
		return c.Waited
	}
	return c.Waited + max(now.Sub(c.WaitingSince), 0)
}

// Spent is what counts against the execution's totals: its own, the step in
// progress included, and what its origins had spent. Time that it has waited for
// people does not count. Between executions it is zero.
func (s AgentState) Spent(now time.Time) Spent {
	if s.w.Execution == nil {
		return Spent{}
	}
	e := s.w.Execution
	if e.w.Status.Terminal() {
		now = e.w.CompletedAt
	}
	total := e.total()
	own := Spent{
		Steps: int64(s.TransientStepCount()), Tokens: total.Usage.TotalTokens(), CostNanoUSD: total.CostNanoUSD,
		Seconds: max(e.Duration(now).Seconds()-e.w.waited(now).Seconds(), 0), ToolCalls: e.w.ToolCalls,
	}
	return own.Add(e.w.Prior)
}

// BudgetLeft is the execution's budget less what was spent; see Spent.
func (s AgentState) BudgetLeft(now time.Time) (ExecutionBudget, bool) {
	budget, ok := s.Budget()
	return budget.Remaining(s.Spent(now)), ok
}
