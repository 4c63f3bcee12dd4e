package domain

import (
	"fmt"
	"strconv"
)

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
	byDefault, used := "", u.Used.String()
	if u.Default {
		byDefault = ", the default,"
	}
	if u.Used.unit == UnitMilliseconds { // only tenths matter to people
		used = fmt.Sprintf("%.1f", u.Used.seconds)
	}
	return fmt.Sprintf("%s is %v%s and %s are %s", u.Name(), u.Total, byDefault, used, u.Rule.Done)
}

// GoOn says what to do to go on beyond the limit.
func (u LimitUse) GoOn() string {
	switch {
	case u.Rule.Unit == UnitTime:
		return "extend it with a later one to go on"
	case u.Session:
		return fmt.Sprintf("extend the session with a higher %s to go on", u.Rule.Limit)
	case u.Default:
		return fmt.Sprintf("extend it with a higher %s, or with none, to go on", u.Rule.Limit)
	}
	return fmt.Sprintf("extend it with a higher %s to go on", u.Rule.Limit)
}

// ReachedSignal is the stop of an execution that has used the limit up.
func (u LimitUse) ReachedSignal() StopSignal { return u.signal("%s", u) }

// TimeOverSignal is the stop where time ran out while something was under way.
func (u LimitUse) TimeOverSignal() StopSignal {
	if u.Rule.Unit == UnitTime {
		return u.signal("the deadline %v has passed", u.Total)
	}
	return u.signal("%s is %v and they are over", u.Rule.Limit, u.Total)
}

// TooShortSignal is the stop where the next inference, estimated to read so much, does not fit what is left.
func (u LimitUse) TooShortSignal(input int64) StopSignal {
	return u.signal("%s is %v, %v are %s, and the next inference is estimated to read %d tokens",
		u.Name(), u.Total, u.Used, u.Rule.Done, input)
}

// DeniedSignal is the stop where the model asked for so many more than what is left.
func (u LimitUse) DeniedSignal(asked int64) StopSignal {
	return u.signal("%s is %v, %v were %s before this step, and the model asked for %d more",
		u.Name(), u.Total, u.Used, u.Rule.Done, asked)
}

// signal is a stop by the limit, with what was used of it as data.
func (u LimitUse) signal(format string, args ...any) StopSignal {
	data := map[string]any{"limit": u.Rule.Limit, "unit": u.Rule.Unit, "used": u.Used, "total": u.Total}
	if u.Session {
		data["session"] = true
	}
	if u.Default {
		data["default"] = true
	}
	signal := stopping(data, format, args...)
	signal.Reason = u.Rule.Reason
	return signal
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
