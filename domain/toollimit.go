package domain

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// A ToolLimit is how often a tool may be called. Zero: as often as there are calls.
type ToolLimit struct {
	// Calls may begin in each Per, over all workers of a task queue together. Both are zero, or neither.
	Calls int64         `json:"calls,omitzero"`
	Per   time.Duration `json:"per,omitzero"`
	// AtOnce is how many calls of the tool run at one time on each worker. Zero: as many as the worker runs in all.
	AtOnce int `json:"at_once,omitzero"`
}

const (
	// mostAtOnce and longestPer bound what a limit may say.
	mostAtOnce = 10_000
	longestPer = 24 * time.Hour
)

// PerSecond is the rate; zero: none.
func (l ToolLimit) PerSecond() float64 {
	if l.Per <= 0 {
		return 0
	}
	return float64(l.Calls) / l.Per.Seconds()
}

// Check says what is wrong with the limit.
func (l ToolLimit) Check() error {
	switch {
	case l.Calls < 0, l.Per < 0, l.AtOnce < 0:
		return Invalidf("limit: a number of it is negative; zero is none")
	case (l.Calls == 0) != (l.Per == 0):
		return Invalidf("limit: a rate is so many calls in so long; give both, or neither")
	case l.Per > longestPer:
		return Invalidf("limit: %s is too long; a rate is over %s at the most", l.Per, longestPer)
	case l.AtOnce > mostAtOnce:
		return Invalidf("limit: %d at once; at most %d are", l.AtOnce, mostAtOnce)
	}
	return nil
}

// String is the limit in words.
func (l ToolLimit) String() string {
	var parts []string
	if l.Calls > 0 {
		per := cmp.Or(map[time.Duration]string{time.Second: "a second", time.Minute: "a minute", time.Hour: "an hour"}[l.Per], "each "+l.Per.String())
		calls := "calls"
		if l.Calls == 1 {
			calls = "call"
		}
		parts = append(parts, fmt.Sprintf("%d %s %s", l.Calls, calls, per))
	}
	if l.AtOnce > 0 {
		parts = append(parts, fmt.Sprintf("%d at once on each worker", l.AtOnce))
	}
	return strings.Join(parts, ", ")
}
