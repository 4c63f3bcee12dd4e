package domain

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

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
