package domain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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

// Limits lists every limit, in the order of LimitRules.
func Limits() (limits []Limit) {
	for _, rule := range limitRules[:] {
		limits = append(limits, rule.Limit)
	}
	return limits
}

// UnmarshalText accepts the known limits only.
func (l *Limit) UnmarshalText(text []byte) error { return enum.Decode(l, text, "limit", Limits()...) }

// Flag is the limit's name on a command line, dashes aside.
func (l Limit) Flag() string { return strings.ReplaceAll(string(l), "_", "-") }

// A LimitRule is all that tells one limit from the others: whatever deals with limits walks LimitRules.
type LimitRule struct {
	Limit Limit
	// Key is the limit's in a recorded budget.
	Key  string
	Unit Unit
	// Reason is that of the stop by which an execution ends at the limit.
	Reason StopReason
	// Exhausts says that nothing goes on with none left. Without tool calls a model still answers.
	Exhausts bool
	// Noun is one of what is limited, Done what became of what was used, Help what the limit says, in words.
	Noun, Done, Help string
	// total is where a budget keeps the limit: a **int64, **float64 or **time.Time. spent is where Spent
	// keeps what is used of it: a *int64 or *float64. Of a deadline nothing is kept.
	total func(*ExecutionBudget) any
	spent func(*Spent) any
}

// LimitRules is the table of limits, those whose reasons count more first.
func LimitRules() []LimitRule { return slices.Clone(limitRules[:]) }

// limitRules is a constant that the language has no word for.
var limitRules = [...]LimitRule{
	{
		Limit: LimitSteps, Key: "max_steps", Unit: UnitSteps, Reason: StepsLimitReached, Exhausts: true,
		Noun: "step", Done: "done", Help: "at most so many steps",
		total: func(b *ExecutionBudget) any { return &b.MaxSteps }, spent: func(s *Spent) any { return &s.Steps },
	},
	{
		Limit: LimitTokens, Key: "max_tokens", Unit: UnitTokens, Reason: TokenLimitReached, Exhausts: true,
		Noun: "token", Done: "used", Help: "at most so many tokens, input and output, failed attempts included",
		total: func(b *ExecutionBudget) any { return &b.MaxTokens }, spent: func(s *Spent) any { return &s.Tokens },
	},
	{
		Limit: LimitCost, Key: "max_cost_nano_usd", Unit: UnitNanoUSD, Reason: CostLimitReached, Exhausts: true,
		Noun: "dollar", Done: "spent", Help: "at most so many dollars, failed attempts included; the model needs a price",
		total: func(b *ExecutionBudget) any { return &b.MaxCostNanoUSD }, spent: func(s *Spent) any { return &s.CostNanoUSD },
	},
	{
		Limit: LimitToolCalls, Key: "max_tool_calls", Unit: UnitCalls, Reason: ToolCallLimitReached,
		Noun: "tool call", Done: "used", Help: "at most so many tool calls",
		total: func(b *ExecutionBudget) any { return &b.MaxToolCalls }, spent: func(s *Spent) any { return &s.ToolCalls },
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
func (b ExecutionBudget) Total(limit Limit) (total Amount, ok bool) {
	for rule, total := range b.limits {
		if rule.Limit == limit {
			return total, true
		}
	}
	return total, false
}

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

// OfTime reports whether it is time that is limited.
func (u Unit) OfTime() bool { return u == UnitMilliseconds || u == UnitTime }

// UnmarshalText accepts the known units only.
func (u *Unit) UnmarshalText(text []byte) error {
	return enum.Decode(u, text, "unit", UnitSteps, UnitTokens, UnitMilliseconds, UnitNanoUSD, UnitCalls, UnitTime)
}

// An Amount is so much of what a limit counts, in the limit's unit.
type Amount struct {
	unit    Unit
	count   int64
	seconds float64
	at      time.Time
}

// Count is an amount of steps, tokens, nano-dollars or tool calls.
func Count(unit Unit, n int64) Amount { return Amount{unit: unit, count: n} }

// Seconds is an amount of time.
func Seconds(s float64) Amount { return Amount{unit: UnitMilliseconds, seconds: s} }

// Moment is a point in time.
func Moment(t time.Time) Amount { return Amount{unit: UnitTime, at: t.UTC()} }

// Unit is what the amount counts.
func (a Amount) Unit() Unit { return a.unit }

// Int is the amount as a whole number of its unit; zero for a point in time.
func (a Amount) Int() int64 {
	if a.unit == UnitMilliseconds {
		return int64(a.seconds * 1000)
	}
	return a.count
}

// Time is the point in time; zero where the amount is another one.
func (a Amount) Time() time.Time { return a.at }

// Seconds is the amount of time in seconds; zero where the amount is another one.
func (a Amount) Seconds() float64 { return a.seconds }

// String is the amount as people read and write it: seconds and dollars, not their thousandths.
func (a Amount) String() string {
	switch a.unit {
	case UnitNanoUSD:
		return "$" + USD(a.count)
	case UnitMilliseconds:
		return fmt.Sprint(a.seconds)
	case UnitTime:
		return a.at.Format(time.RFC3339)
	default:
		return strconv.FormatInt(a.count, 10)
	}
}

// below reports whether an amount is less than another of its unit; what is no number never is.
func (a Amount) below(other Amount) bool {
	return a.count < other.count || a.seconds < other.seconds || a.at.Before(other.at)
}

// MarshalJSON writes a point in time as text in RFC 3339, and all else as a whole number: a duration in milliseconds, money in
// nano-dollars, the rest as counts. The unit stands beside the amount, as signals of stopping have it.
func (a Amount) MarshalJSON() ([]byte, error) {
	if a.unit == UnitTime {
		return json.Marshal(a.at)
	}
	return json.Marshal(a.Int())
}

// A LimitUse is how much of a limit was used.
type LimitUse struct {
	Rule        LimitRule
	Used, Total Amount
	// Session says that the limit is one over the session, and not of one execution.
	Session bool
	// Default says that nobody has given the total.
	Default bool
}

// Reached reports whether nothing goes on for the limit.
func (u LimitUse) Reached() bool { return u.Rule.Exhausts && !u.Used.below(u.Total) }

// Name is the limit's, and says whose it is where it is the session's.
func (u LimitUse) Name() string {
	if u.Session {
		return "the session's " + string(u.Rule.Limit)
	}
	return string(u.Rule.Limit)
}

// String says how much was used of the limit, such as "max_steps is 3 and 3 are done".
func (u LimitUse) String() string {
	if u.Rule.Unit == UnitTime {
		return "the deadline has passed"
	}
	if u.Default {
		return fmt.Sprintf("%s is %v, the default, and %s are %s", u.Name(), u.Total, u.rounded(), u.Rule.Done)
	}
	return fmt.Sprintf("%s is %v and %s are %s", u.Name(), u.Total, u.rounded(), u.Rule.Done)
}

// rounded is what was used; of seconds only tenths matter to people.
func (u LimitUse) rounded() string {
	if u.Used.unit == UnitMilliseconds {
		return strconv.FormatFloat(u.Used.seconds, 'f', 1, 64)
	}
	return u.Used.String()
}

// GoOn says what to do to go on beyond the limit.
func (u LimitUse) GoOn() string {
	if u.Rule.Unit == UnitTime {
		return "extend it with a later one to go on"
	}
	if u.Session {
		return fmt.Sprintf("extend the session with a higher %s to go on", u.Rule.Limit)
	}
	if u.Default {
		return fmt.Sprintf("extend it with a higher %s, or with none, to go on", u.Rule.Limit)
	}
	return fmt.Sprintf("extend it with a higher %s to go on", u.Rule.Limit)
}

// ReachedSignal is the stop of an execution that has used the limit up.
func (u LimitUse) ReachedSignal() StopSignal { return u.signal(u.String()) }

// TimeOverSignal is the stop where time ran out while something was under way.
func (u LimitUse) TimeOverSignal() StopSignal {
	if u.Rule.Unit == UnitTime {
		return u.signal(fmt.Sprintf("the deadline %v has passed", u.Total))
	}
	return u.signal(fmt.Sprintf("%s is %v and they are over", u.Rule.Limit, u.Total))
}

// TooShortSignal is the stop where the next inference, estimated to read so much, does not fit what is left.
func (u LimitUse) TooShortSignal(input int64) StopSignal {
	return u.signal(fmt.Sprintf("%s is %v, %v are %s, and the next inference is estimated to read %d tokens",
		u.Name(), u.Total, u.Used, u.Rule.Done, input))
}

// DeniedSignal is the stop where the model asked for so many more than what is left.
func (u LimitUse) DeniedSignal(asked int64) StopSignal {
	return u.signal(fmt.Sprintf("%s is %v, %v were %s before this step, and the model asked for %d more",
		u.Name(), u.Total, u.Used, u.Rule.Done, asked))
}

// signal is a stop by the limit, with what was used of it as data.
func (u LimitUse) signal(said string) StopSignal {
	data := map[string]any{"limit": u.Rule.Limit, "unit": u.Rule.Unit, "used": u.Used, "total": u.Total}
	if u.Session {
		data["session"] = true
	}
	if u.Default {
		data["default"] = true
	}
	return StopSignal{Reason: u.Rule.Reason, Message: said}.Noted(data)
}

// GoOn says what to do to go on beyond the limit that has stopped an execution; empty: it was none that is known.
func (s StopSignal) GoOn() string {
	for _, rule := range limitRules[:] {
		if s.Reason == rule.Reason && string(s.Context["limit"]) == strconv.Quote(string(rule.Limit)) {
			return LimitUse{Rule: rule, Session: string(s.Context["session"]) == "true", Default: string(s.Context["default"]) == "true"}.GoOn()
		}
	}
	return ""
}
