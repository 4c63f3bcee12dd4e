package inference

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxAsked bounds a delay that was asked for, before anything is reckoned with it.
const maxAsked = 30 * 24 * time.Hour

// RetryAfter reads the delay that a response asks for, in all the forms that
// are found: milliseconds before seconds before a date. What cannot be read or
// is negative counts as not asked for.
func RetryAfter(header http.Header, now time.Time) (delay time.Duration, asked bool) {
	for _, form := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		if delay, ok := Delay(header.Get(form.name), form.unit); ok {
			return delay, true
		}
	}
	if at, err := http.ParseTime(strings.TrimSpace(header.Get("Retry-After"))); err == nil {
		return min(max(at.Sub(now), 0), maxAsked), true
	}
	return 0, false
}

// Delay reads a number of units, fractions allowed.
func Delay(text string, unit time.Duration) (time.Duration, bool) {
	number, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if math.IsNaN(number) || number < 0 || err != nil && !math.IsInf(number, 1) {
		return 0, false
	}
	if number >= float64(maxAsked)/float64(unit) {
		return maxAsked, true
	}
	return time.Duration(number * float64(unit)), true
}
