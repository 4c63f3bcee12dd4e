package domain

import (
	"slices"
	"strings"
	"time"

	"everstep/domain/enum"
)

// A Limit names one limit of a budget, as definitions do.
type Limit string

// The limits. Each is described at its field of ExecutionBudget.
const (
	LimitSteps     Limit = "max_steps"
	LimitTokens    Limit = "max_tokens"
	LimitCost      Limit = "max_cost"
	LimitToolCalls Limit = "max_tool_calls"
	LimitSeconds   Limit = "max_seconds"
	LimitDeadline  Limit = "deadline"
)

// The reasons of stops by limits.
const (
	// StepsLimitReached: max_steps.
	StepsLimitReached StopReason = "steps_limit"
	// TokenLimitReached: max_tokens, or too few left for another inference.
	TokenLimitReached StopReason = "token_limit"
	// CostLimitReached: max_cost.
	CostLimitReached StopReason = "cost_limit"
	// ToolCallLimitReached: the model asked for more calls than max_tool_calls had left.
	ToolCallLimitReached StopReason = "tool_call_limit"
	// TimeLimitReached: max_seconds or the deadline.
	TimeLimitReached StopReason = "time_limit"
)

// A Unit says what a limit counts: milliseconds, nano-dollars, a point in time, or by default plain things.
type Unit string

// The units.
const (
	UnitSteps        Unit = "steps"
	UnitTokens       Unit = "tokens"
	UnitMilliseconds Unit = "milliseconds"
	UnitNanoUSD      Unit = "nano_usd"
	UnitCalls        Unit = "tool_calls"
	UnitTime         Unit = "time"
)

// Limits lists every limit, in the order of LimitRules.
func Limits() (limits []Limit) {
	for _, rule := range limitRules[:] {
		limits = append(limits, rule.Limit)
	}
	return limits
}

// UnmarshalText accepts the known limits only.
func (l *Limit) UnmarshalText(text []byte) error { return enum.Decode(l, text, "limit", Limits()...) }

// Rule is the limit's row of the table; the zero one where there is no such limit.
func (l Limit) Rule() LimitRule {
	for _, rule := range limitRules[:] {
		if rule.Limit == l {
			return rule
		}
	}
	return LimitRule{total: func(*ExecutionBudget) any { return nil }, spent: func(*Spent) any { return nil }}
}

// Flag is the limit's name on a command line, dashes aside.
func (l Limit) Flag() string { return strings.ReplaceAll(string(l), "_", "-") }

// An ExecutionBudget bounds one execution. An absent limit is none, but for max_steps where an execution begins; zero lets
// nothing happen. It is checked before anything is spent: only what a provider counts beyond our estimate of its input can
// exceed it.
type ExecutionBudget struct {
	// MaxSteps is DefaultMaxSteps in an execution for which nobody has said anything: see WithDefaultSteps.
	MaxSteps *int64 `json:"max_steps,omitempty"`
	// MaxStepsFrom says where MaxSteps comes from, where that is no number that somebody has given.
	MaxStepsFrom StepsFrom `json:"max_steps_from,omitzero"`
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

// counts are the amounts that are whole numbers: all but time. To walk the table would allocate what is counted.
func (s *Spent) counts() [4]*int64 {
	return [...]*int64{&s.Steps, &s.Tokens, &s.CostNanoUSD, &s.ToolCalls}
}

// A LimitRule is all that tells one limit from the others: whatever deals with limits walks LimitRules.
type LimitRule struct {
	Limit Limit
	// Key is the limit's in a recorded budget.
	Key  string
	Unit Unit
	// Reason is that of the stop by which an execution ends at the limit.
	Reason StopReason
	// RanksAs is the reason of another limit among whose signals that of this one counts by when it came; empty: the place
	// in the table counts.
	RanksAs StopReason
	// Exhausts says that nothing goes on with none left. Without tool calls a model still answers.
	Exhausts bool
	// Noun is one of what is limited, Done what became of what was used, Help what the limit says, in words.
	Noun, Done, Help string
	// total is where a budget keeps the limit: a **int64, **float64 or **time.Time. spent is where Spent
	// keeps what is used of it: a *int64 or *float64. Of a deadline nothing is kept.
	total func(*ExecutionBudget) any
	spent func(*Spent) any
	// count is what a step with its sub-agents used of it; nil where steps do not tell: of time the execution does.
	count func(AgentStep) int64
}

// LimitRules is the table of limits, those whose reasons count more first.
func LimitRules() []LimitRule { return slices.Clone(limitRules[:]) }

// limitRules is a constant that the language has no word for.
var limitRules = [...]LimitRule{
	{
		Limit: LimitSteps, Key: "max_steps", Unit: UnitSteps, Reason: StepsLimitReached, Exhausts: true,
		Noun: "step", Done: "done", Help: "at most so many steps",
		total: func(b *ExecutionBudget) any { return &b.MaxSteps }, spent: func(s *Spent) any { return &s.Steps },
		count: func(s AgentStep) int64 { return AddCost(1, s.Children.Steps) },
	},
	{
		Limit: LimitTokens, Key: "max_tokens", Unit: UnitTokens, Reason: TokenLimitReached, Exhausts: true,
		Noun: "token", Done: "used", Help: "at most so many tokens, input and output, failed attempts included",
		total: func(b *ExecutionBudget) any { return &b.MaxTokens }, spent: func(s *Spent) any { return &s.Tokens },
		count: func(s AgentStep) int64 { return s.Usage.TotalTokens() },
	},
	{
		Limit: LimitCost, Key: "max_cost_nano_usd", Unit: UnitNanoUSD, Reason: CostLimitReached, RanksAs: TokenLimitReached, Exhausts: true,
		Noun: "dollar", Done: "spent", Help: "at most so many dollars, failed attempts included; the model needs a price",
		total: func(b *ExecutionBudget) any { return &b.MaxCostNanoUSD }, spent: func(s *Spent) any { return &s.CostNanoUSD },
		count: func(s AgentStep) int64 { return s.CostNanoUSD },
	},
	{
		Limit: LimitToolCalls, Key: "max_tool_calls", Unit: UnitCalls, Reason: ToolCallLimitReached, RanksAs: TokenLimitReached,
		Noun: "tool call", Done: "used", Help: "at most so many tool calls",
		total: func(b *ExecutionBudget) any { return &b.MaxToolCalls }, spent: func(s *Spent) any { return &s.ToolCalls },
		count: func(s AgentStep) int64 {
			ran := s.Children.ToolCalls
			for _, call := range s.ToolExecutions {
				if call.Outcome().Ran() {
					ran++
				}
			}
			return ran
		},
	},
	{
		Limit: LimitSeconds, Key: "max_seconds", Unit: UnitMilliseconds, Reason: TimeLimitReached, Exhausts: true,
		Noun: "second", Done: "used", Help: "at most so many seconds",
		total: func(b *ExecutionBudget) any { return &b.MaxSeconds }, spent: func(s *Spent) any { return &s.Seconds },
	},
	{
		Limit: LimitDeadline, Key: "deadline", Unit: UnitTime, Reason: TimeLimitReached, Exhausts: true,
		Noun: "deadline", Done: "over", Help: "over by then",
		total: func(b *ExecutionBudget) any { return &b.Deadline }, spent: func(*Spent) any { return nil },
	},
}

// limits yields the limits that the budget sets with their totals, in the order of the table.
func (b ExecutionBudget) limits(yield func(LimitRule, Amount) bool) {
	for _, rule := range limitRules[:] {
		if total, set := rule.in(&b); set && !yield(rule, total) {
			return
		}
	}
}

// Total is what the budget has of a limit; ok is false where that is not set.
func (b ExecutionBudget) Total(limit Limit) (total Amount, ok bool) { return limit.Rule().in(&b) }

// Total is the limit in a budget; ok is false where it is not set.
func (r LimitRule) Total(b ExecutionBudget) (total Amount, ok bool) { return r.in(&b) }

// in is Total for who walks the table: one look at a budget allocates it.
func (r LimitRule) in(b *ExecutionBudget) (total Amount, ok bool) {
	switch limit := r.total(b).(type) {
	case **int64:
		if *limit != nil {
			return Count(r.Unit, **limit), true
		}
	case **float64:
		if *limit != nil {
			return Seconds(**limit), true
		}
	case **time.Time:
		if *limit != nil {
			return Moment(**limit), true
		}
	}
	return Amount{unit: r.Unit}, false
}

// Used is what was spent of the limit. Of a deadline that is the time.
func (r LimitRule) Used(spent Spent, now time.Time) Amount {
	switch used := r.spent(&spent).(type) {
	case *int64:
		return Count(r.Unit, *used)
	case *float64:
		return Seconds(*used)
	}
	return Moment(now)
}

// With returns the budget with another total, of the limit's own unit.
func (r LimitRule) With(b ExecutionBudget, total Amount) ExecutionBudget {
	if r.Limit == LimitSteps {
		b.MaxStepsFrom = ""
	}
	switch limit := r.total(&b).(type) {
	case **int64:
		*limit = new(total.count)
	case **float64:
		*limit = new(total.seconds)
	case **time.Time:
		*limit = new(utc(total.at))
	}
	return b
}

// Counts is what the limit counts, in a word: steps, money.
func (r LimitRule) Counts() string {
	switch {
	case r.Unit.OfTime():
		return "time"
	case r.Unit == UnitNanoUSD:
		return "money"
	}
	return r.Noun + "s"
}

// UnmarshalText accepts the known units only.
func (u *Unit) UnmarshalText(text []byte) error {
	var known []Unit
	for _, rule := range limitRules[:] {
		known = append(known, rule.Unit)
	}
	return enum.Decode(u, text, "unit", known...)
}

// OfTime reports whether it is time that is limited.
func (u Unit) OfTime() bool { return u == UnitMilliseconds || u == UnitTime }
