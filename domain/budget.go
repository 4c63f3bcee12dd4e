package domain

import (
	"math"
	"slices"
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
	for _, rule := range limitRules {
		if err := rule.field.check(&b, rule); err != nil {
			return err
		}
	}
	return nil
}

// IsExhausted reports whether a set limit other than max_tool_calls is used up
// or the deadline has passed.
func (b ExecutionBudget) IsExhausted(used Spent, now time.Time) bool {
	_, exhausted := b.Reached(used, now)
	return exhausted
}

// Remaining returns each set limit less what was used of it, never below zero.
// The deadline stays.
func (b ExecutionBudget) Remaining(used Spent) ExecutionBudget {
	left := b.clone()
	for _, rule := range limitRules {
		rule.field.less(&left, &used)
	}
	return left
}

// CappedBy returns the smaller of each limit and the earlier deadline.
func (b ExecutionBudget) CappedBy(other ExecutionBudget) ExecutionBudget {
	capped := b.clone()
	for _, rule := range limitRules {
		rule.field.cap(&capped, &other)
	}
	return capped
}

// Extended returns the budget with the totals that are set in place of its
// own, and without those that are lifted.
func (b ExecutionBudget) Extended(totals ExecutionBudget, lift []Limit) ExecutionBudget {
	extended := b.clone()
	for _, rule := range limitRules {
		if slices.Contains(lift, rule.Limit) {
			rule.field.lift(&extended)
		}
		rule.field.take(&extended, &totals)
	}
	return extended
}

// clone returns a budget that shares no memory with b, its deadline in UTC.
func (b ExecutionBudget) clone() ExecutionBudget {
	if b.IsEmpty() {
		return b
	}
	return b.copied()
}

func (b ExecutionBudget) copied() ExecutionBudget {
	for _, rule := range limitRules {
		rule.field.take(&b, &b)
	}
	return b
}

// A budgetField is where a budget keeps a limit, and Spent what was used of it.
// It is what makes limits of different types alike.
type budgetField interface {
	total(b *ExecutionBudget, unit Unit) (Amount, bool)
	used(s *Spent, unit Unit, now time.Time) Amount
	set(b *ExecutionBudget, total Amount)
	// lift takes the limit away, take copies it where from sets it, cap takes
	// the smaller one and less what is left of it.
	lift(b *ExecutionBudget)
	take(b, from *ExecutionBudget)
	cap(b, other *ExecutionBudget)
	less(b *ExecutionBudget, s *Spent)
	reached(b *ExecutionBudget, s *Spent, now time.Time) bool
	check(b *ExecutionBudget, rule LimitRule) error
}

// An amountField is a limit that is a number.
type amountField[N int64 | float64] struct {
	limit func(*ExecutionBudget) **N
	spent func(*Spent) *N
}

func (f amountField[N]) total(b *ExecutionBudget, unit Unit) (Amount, bool) {
	limit := *f.limit(b)
	if limit == nil {
		return Amount{unit: unit}, false
	}
	return amountOf(unit, *limit), true
}

func (f amountField[N]) used(s *Spent, unit Unit, _ time.Time) Amount {
	return amountOf(unit, *f.spent(s))
}

func amountOf[N int64 | float64](unit Unit, n N) Amount {
	if unit == UnitMilliseconds {
		return Seconds(float64(n))
	}
	return Count(unit, int64(n))
}

func (f amountField[N]) set(b *ExecutionBudget, total Amount) {
	if total.unit == UnitMilliseconds {
		*f.limit(b) = new(N(total.seconds))
		return
	}
	*f.limit(b) = new(N(total.count))
}

func (f amountField[N]) lift(b *ExecutionBudget) { *f.limit(b) = nil }

func (f amountField[N]) take(b, from *ExecutionBudget) {
	if limit := *f.limit(from); limit != nil {
		*f.limit(b) = copied(limit)
	}
}

func (f amountField[N]) cap(b, other *ExecutionBudget) {
	own, limit := f.limit(b), *f.limit(other)
	if limit != nil && (*own == nil || *limit < **own) {
		*own = copied(limit)
	}
}

// less takes a negative use for none, so that nothing overflows.
func (f amountField[N]) less(b *ExecutionBudget, s *Spent) {
	if limit := f.limit(b); *limit != nil {
		*limit = new(max(**limit-max(*f.spent(s), 0), 0))
	}
}

// reached is true also where a value is not a number: a limit never fails open.
func (f amountField[N]) reached(b *ExecutionBudget, s *Spent, _ time.Time) bool {
	limit := *f.limit(b)
	return limit != nil && !(*f.spent(s) < *limit) //nolint:staticcheck // the negation is what makes NaN reach it
}

func (f amountField[N]) check(b *ExecutionBudget, rule LimitRule) error {
	limit := *f.limit(b)
	switch {
	case limit == nil:
	case rule.Unit == UnitMilliseconds && !(*limit >= 0 && float64(*limit) <= MaxBudgetSeconds):
		return Errorf(Invalid, "%s: is %v; give a number from 0 to %.0f, or leave it out for no limit", rule.Key, *limit, MaxBudgetSeconds)
	case *limit < 0:
		return Errorf(Invalid, "%s: is %v; give zero or more, or leave it out for no limit", rule.Key, *limit)
	}
	return nil
}

// A deadlineField is the one limit that is a point in time, of which nothing is
// ever spent.
type deadlineField struct{}

func (deadlineField) total(b *ExecutionBudget, unit Unit) (Amount, bool) {
	if b.Deadline == nil {
		return Amount{unit: unit}, false
	}
	return Moment(*b.Deadline), true
}

func (deadlineField) used(_ *Spent, _ Unit, now time.Time) Amount { return Moment(now) }
func (deadlineField) set(b *ExecutionBudget, total Amount)        { b.Deadline = new(total.at) }
func (deadlineField) lift(b *ExecutionBudget)                     { b.Deadline = nil }
func (deadlineField) less(*ExecutionBudget, *Spent)               {}

func (deadlineField) take(b, from *ExecutionBudget) {
	if from.Deadline != nil {
		b.Deadline = utcPointer(from.Deadline)
	}
}

func (deadlineField) cap(b, other *ExecutionBudget) {
	if other.Deadline != nil && (b.Deadline == nil || other.Deadline.Before(*b.Deadline)) {
		b.Deadline = utcPointer(other.Deadline)
	}
}

func (deadlineField) reached(b *ExecutionBudget, _ *Spent, now time.Time) bool {
	return b.Deadline != nil && !now.Before(*b.Deadline)
}

func (deadlineField) check(b *ExecutionBudget, rule LimitRule) error {
	if d := b.Deadline; d != nil && (d.UTC().Year() < 1 || d.UTC().Year() > 9999) {
		return Errorf(Invalid, "%s: is in the year %d; give a date like 2030-01-31T12:00:00Z", rule.Key, d.UTC().Year())
	}
	return nil
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
