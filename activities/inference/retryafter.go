package inference

import (
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxAsked bounds a delay that was asked for, before anything is reckoned with it.
const maxAsked = 30 * 24 * time.Hour

// RetryAfter reads the delay that the fields of a response ask for, in all the forms and under all the names that are found:
// milliseconds before seconds, a duration or a date, of several the longest. What cannot be read or is negative counts as not
// asked for.
func RetryAfter(header http.Header, now time.Time) (delay time.Duration, asked bool) {
	waits := map[bool][]time.Duration{} // those in milliseconds, which are exact, and others
	for name, values := range header {
		name, inMillis := strings.CutSuffix(strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name)), "ms")
		if !askingFields.MatchString(name) {
			continue
		}
		for part := range strings.SplitSeq(weekdays.ReplaceAllString(strings.Join(values, ","), ""), ",") {
			one, ok := wait(part, now)
			if inMillis {
				one, ok = Delay(part, time.Millisecond)
			}
			if ok {
				waits[inMillis] = append(waits[inMillis], one)
			}
		}
	}
	for _, inMillis := range []bool{true, false} {
		if len(waits[inMillis]) > 0 {
			return slices.Max(waits[inMillis]), true
		}
	}
	return 0, false
}

// askingFields find, without their dashes, the fields of headers and of errors that ask for a delay.
var askingFields = regexp.MustCompile(`(?:retryafter(?:seconds)?|retrydelay|resetsinseconds|estimatedtime)$`)

// weekdays are those before a date, whose comma is none of a list.
var weekdays = regexp.MustCompile(`(?i)\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,`)

// LimitReset is when the rate limits allow more of which nothing is left, as far as the headers of a response tell. Zero:
// they do not. Responses have such headers whatever became of the request.
func LimitReset(header http.Header, now time.Time) (reset time.Duration) {
	for name, values := range header {
		name = strings.ToLower(name)
		if found := structured.FindStringSubmatch(values[0]); name == "ratelimit" && found != nil {
			delay, _ := Delay(found[1], time.Second)
			reset = max(reset, delay)
		}
		if !strings.Contains(name, "ratelimit") || !strings.Contains(name, "reset") {
			continue
		}
		left := strings.TrimSpace(header.Get(strings.ReplaceAll(name, "reset", "remaining")))
		if delay, _ := wait(values[0], now); left == "" || left == "0" {
			reset = max(reset, delay)
		}
	}
	return reset
}

// structured finds when a rate is renewed of which nothing is left, in the field that is to be the standard.
var structured = regexp.MustCompile(`\b(?:remaining|r)=0\b.*\b(?:reset|t)=([0-9]+)`)

// wait reads a delay: seconds, a duration with its units, or the moment at which it ends.
func wait(text string, now time.Time) (time.Duration, bool) {
	if delay, ok := until(text, now); ok {
		return delay, true
	}
	if delay, ok := Delay(text, time.Second); ok {
		return delay, true
	}
	return WaitIn("retry in "+strings.TrimPrefix(strings.TrimSpace(text), "PT"), now)
}

// moments are the forms of a moment, one a line, with its zone as a number. One without a zone is UTC.
const moments = `2 Jan 2006 15:04:05 -0700
2-Jan-06 15:04:05 -0700
Mon Jan _2 15:04:05 2006
2006-01-02T15:04:05Z07:00
2006-01-02T15:04:05Z0700
2006-01-02T15:04Z07:00
20060102T150405Z07:00
2006-01-02T15:04:05
2006-01-02 15:04:05Z07:00
2006-01-02 15:04:05 -0700
2006-01-02 15:04:05
2006-01-02`

// zones are those that servers name, each before its number.
var zones = strings.NewReplacer(strings.Fields("GMT +0000 UTC +0000 UT +0000 EST -0500 EDT -0400 CST -0600 CDT -0500 MST -0700 MDT -0600 PST -0800 PDT -0700 CET +0100 CEST +0200")...)

// until reads a moment in any form: a date, or the seconds or milliseconds since 1970.
func until(text string, now time.Time) (time.Duration, bool) {
	text = strings.Trim(weekdays.ReplaceAllString(text, ""), ` "`)
	var at time.Time
	for form := range strings.SplitSeq(moments, "\n") {
		if one, err := time.Parse(form, zones.Replace(text)); err == nil {
			at = one
		}
	}
	if number, err := strconv.ParseInt(text, 10, 64); err == nil {
		at = time.Unix(number, 0)
		if number > math.MaxInt32*int64(100) {
			at = time.UnixMilli(number)
		}
		if now.Sub(at).Abs() > 365*24*time.Hour { // no delay is as long as all time since 1970
			return 0, false
		}
	}
	if at.IsZero() {
		return 0, false
	}
	return min(max(at.Sub(now), 0), maxAsked), true
}

// asking finds what a message asks to wait, as spans or up to a moment; spans the parts of spans.
var (
	asking = regexp.MustCompile(`(?i)\b(?:again|retry|retrying|retry[_-]?(?:after|delay)|wait|resets?|available|back|back ?off|next request)` +
		`(?: (?:again|(?:your|the|this) requests?|in|within|after|for|at|until|on|least|about|another|approximately))*[:=]? ?~?` +
		`(?:(` + span + `(?:[ ,]*(?:and )?` + span + `)*)\b|([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]+(?:\.[0-9]+)?(?:Z| ?UTC| ?[+-][0-9:]+\b)?))`)
	spans = regexp.MustCompile(`(?i)([0-9]+(?:\.[0-9]+)?) ?(?:more )?(milli|ms|s|m|h|d)`)
)

const span = `[0-9]+(?:\.[0-9]+)? ?(?:more )?(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)`

// WaitIn finds the delay that a provider's words ask for, as in "try again in 1m30s".
func WaitIn(message string, now time.Time) (delay time.Duration, asked bool) {
	found := asking.FindStringSubmatch(message)
	if found == nil {
		return 0, false
	}
	if found[2] != "" {
		return until(found[2], now)
	}
	units := map[string]time.Duration{"milli": time.Millisecond, "ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
	for _, span := range spans.FindAllStringSubmatch(found[1], -1) {
		one, _ := Delay(span[1], units[strings.ToLower(span[2])])
		delay = min(delay+one, maxAsked)
	}
	return delay, true
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
