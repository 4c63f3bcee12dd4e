package domain

import (
	"math"
	"time"
)

// An ExecutionBudget bounds one execution. An absent limit is no limit; a limit
// of zero is valid and lets nothing happen. It is checked before anything is
// spent; what a provider counts beyond our estimate of its input is the one way
// to exceed it.
type ExecutionBudget struct {
	// MaxSteps bounds the steps.
	MaxSteps *int64 `json:"max_steps,omitempty"`
	// MaxTokens bounds input plus output, failed attempts included.
	MaxTokens *int64 `json:"max_tokens,omitempty"`
	// MaxSeconds bounds the time from the beginning, waiting for people aside.
	MaxSeconds *float64 `json:"max_seconds,omitempty"`
	// MaxCostNanoUSD bounds the money, in thousand-millionths of a dollar.
	MaxCostNanoUSD *int64 `json:"max_cost_nano_usd,omitempty"`
	// Deadline is when the execution has to be over.
	Deadline *time.Time `json:"deadline,omitempty"`
	// MaxToolCalls bounds the tool calls that are run. With none left the model
	// answers without tools, so it never exhausts a budget by itself.
	MaxToolCalls *int64 `json:"max_tool_calls,omitempty"`
}

// Spent is what an execution has used of its budget.
type Spent struct {
	Steps       int64   `json:"steps,omitzero"`
	Tokens      int64   `json:"tokens,omitzero"`
	Seconds     float64 `json:"seconds,omitzero"`
	CostNanoUSD int64   `json:"cost_nano_usd,omitzero"`
	ToolCalls   int64   `json:"tool_calls,omitzero"`
}

// IsZero reports whether nothing was spent.
func (s Spent) IsZero() bool { return s == Spent{} }

// Add returns the sum.
func (s Spent) Add(t Spent) Spent {
	return Spent{
		Steps: addTokens(s.Steps, t.Steps), Tokens: addTokens(s.Tokens, t.Tokens), Seconds: s.Seconds + t.Seconds,
		CostNanoUSD: AddCost(s.CostNanoUSD, t.CostNanoUSD), ToolCalls: addTokens(s.ToolCalls, t.ToolCalls),
	}
}

// MaxBudgetSeconds is the largest max_seconds: what a time.Duration can hold.
const MaxBudgetSeconds = float64(math.MaxInt64 / int64(time.Second))

// Unlimited returns the budget that limits nothing.
func Unlimited() ExecutionBudget { return ExecutionBudget{} }

// IsEmpty reports whether no limit is set.
func (b ExecutionBudget) IsEmpty() bool { return b == ExecutionBudget{} }

// IsZero reports whether no limit is set.
func (b ExecutionBudget) IsZero() bool { return b.IsEmpty() }

// Check says which limit makes no sense, and what to give instead.
func (b ExecutionBudget) Check() error {
	for _, limit := range []struct {
		field string
		value *int64
	}{
		{"max_steps", b.MaxSteps},
		{"max_tokens", b.MaxTokens},
		{"max_cost_nano_usd", b.MaxCostNanoUSD},
		{"max_tool_calls", b.MaxToolCalls},
	} {
		if limit.value != nil && *limit.value < 0 {
			return Errorf(Invalid, "%s: is %d; give zero or more, or leave it out for no limit", limit.field, *limit.value)
		}
	}
	if s := b.MaxSeconds; s != nil && !(*s >= 0 && *s <= MaxBudgetSeconds) {
		return Errorf(Invalid, "max_seconds: is %v; give a number from 0 to %.0f, or leave it out for no limit", *s, MaxBudgetSeconds)
	}
	if d := b.Deadline; d != nil && (d.UTC().Year() < 1 || d.UTC().Year() > 9999) {
		return Errorf(Invalid, "deadline: is in the year %d; give a date like 2030-01-31T12:00:00Z", d.UTC().Year())
	}
	return nil
}

// Limit returns the limit that is reached, where one is: the one of the highest
// priority; among equals tokens come before cost.
func (b ExecutionBudget) Limit(used Spent, now time.Time) (StopReason, bool) {
	switch {
	case reached(b.MaxSteps, used.Steps):
		return StepsLimitReached, true
	case reached(b.MaxTokens, used.Tokens):
		return TokenLimitReached, true
	case reached(b.MaxCostNanoUSD, used.CostNanoUSD):
		return CostLimitReached, true
	case reached(b.MaxSeconds, used.Seconds), b.Deadline != nil && !now.Before(*b.Deadline):
		return TimeLimitReached, true
	}
	return "", false
}

// IsExhausted reports whether a set limit other than max_tool_calls is used up
// or the deadline has passed.
func (b ExecutionBudget) IsExhausted(used Spent, now time.Time) bool {
	_, exhausted := b.Limit(used, now)
	return exhausted
}

// Remaining returns each set limit less what was used of it, never below zero.
// The deadline stays.
func (b ExecutionBudget) Remaining(used Spent) ExecutionBudget {
	return ExecutionBudget{
		MaxSteps:       less(b.MaxSteps, used.Steps),
		MaxTokens:      less(b.MaxTokens, used.Tokens),
		MaxSeconds:     less(b.MaxSeconds, used.Seconds),
		MaxCostNanoUSD: less(b.MaxCostNanoUSD, used.CostNanoUSD),
		Deadline:       b.Deadline,
		MaxToolCalls:   less(b.MaxToolCalls, used.ToolCalls),
	}
}

// CappedBy returns the smaller of each limit and the earlier deadline.
func (b ExecutionBudget) CappedBy(other ExecutionBudget) ExecutionBudget {
	deadline := b.Deadline
	if deadline == nil || other.Deadline != nil && other.Deadline.Before(*deadline) {
		deadline = other.Deadline
	}
	return ExecutionBudget{
		MaxSteps:       smaller(b.MaxSteps, other.MaxSteps),
		MaxTokens:      smaller(b.MaxTokens, other.MaxTokens),
		MaxSeconds:     smaller(b.MaxSeconds, other.MaxSeconds),
		MaxCostNanoUSD: smaller(b.MaxCostNanoUSD, other.MaxCostNanoUSD),
		Deadline:       deadline,
		MaxToolCalls:   smaller(b.MaxToolCalls, other.MaxToolCalls),
	}
}

// clone returns a budget that shares no memory with b, its deadline in UTC.
func (b ExecutionBudget) clone() ExecutionBudget {
	return ExecutionBudget{
		MaxSteps:       copied(b.MaxSteps),
		MaxTokens:      copied(b.MaxTokens),
		MaxSeconds:     copied(b.MaxSeconds),
		MaxCostNanoUSD: copied(b.MaxCostNanoUSD),
		Deadline:       utcPointer(b.Deadline),
		MaxToolCalls:   copied(b.MaxToolCalls),
	}
}

// reached is true also where a value is not a number: a limit never fails open.
func reached[N int64 | float64](limit *N, used N) bool {
	return limit != nil && !(used < *limit) //nolint:staticcheck // the negation is what makes NaN reach it
}

// less returns limit - used between zero and limit. A negative use counts as
// none, so that nothing overflows.
func less[N int64 | float64](limit *N, used N) *N {
	if limit == nil {
		return nil
	}
	return new(max(*limit-max(used, 0), 0))
}

func smaller[N int64 | float64](a, b *N) *N {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return new(min(*a, *b))
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
