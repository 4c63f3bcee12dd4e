package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"everstep/domain"
)

// A limits is what the flags of the budget say.
type limits struct {
	budget domain.ExecutionBudget
	now    func() time.Time
}

func (l *limits) register(set *pflag.FlagSet, now func() time.Time) {
	l.now = now
	set.Var(optional[int64]{&l.budget.MaxSteps, readCount, "count"}, "max-steps", "at most so many steps")
	set.Var(optional[int64]{&l.budget.MaxTokens, readCount, "count"}, "max-tokens", "at most so many tokens, input and output, failed attempts included")
	set.Var(optional[int64]{&l.budget.MaxCostNanoUSD, readDollars, "dollars"}, "max-cost", "at most so many dollars, failed attempts included; the model needs a price")
	set.Var(optional[float64]{&l.budget.MaxSeconds, readSeconds, "seconds"}, "max-seconds", "at most so many seconds")
	set.Var(optional[int64]{&l.budget.MaxToolCalls, readCount, "count"}, "max-tool-calls", "at most so many tool calls")
	set.Var(optional[time.Time]{&l.budget.Deadline, l.readDeadline, "time"}, "deadline", "over by then: a time such as 2030-01-31T12:00:00Z, or a duration from now such as 90s")
}

func readCount(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("is out of range; give a whole number from 0 to %d, or leave it out for no limit", int64(math.MaxInt64))
	case err != nil:
		return 0, errors.New("is no whole number; give one from 0 on, or leave it out for no limit")
	case n < 0:
		return 0, errors.New("is negative; give a whole number from 0 on, or leave it out for no limit")
	}
	return n, nil
}

// readDollars reads a sum of money in dollars, such as 0.5 or $2, as
// nano-dollars.
func readDollars(text string) (int64, error) { return domain.ParseUSD(strings.TrimSpace(text)) }

func readSeconds(text string) (float64, error) {
	s, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && s > domain.MaxBudgetSeconds:
		return 0, fmt.Errorf("is out of range; give a number from 0 to %.0f, or leave it out for no limit", domain.MaxBudgetSeconds)
	case err != nil || math.IsNaN(s):
		return 0, errors.New("is no number of seconds; give one such as 30 or 1.5, or leave it out for no limit")
	case s < 0:
		return 0, errors.New("is negative; give a number from 0 on, or leave it out for no limit")
	}
	return s, nil
}

func (l *limits) readDeadline(text string) (time.Time, error) {
	const fix = "give a time to come such as 2030-01-31T12:00:00Z, or a duration from now such as 90s"
	deadline, err := time.Parse(time.RFC3339, text)
	if err != nil {
		d, err := time.ParseDuration(text)
		if err != nil {
			return time.Time{}, errors.New("is neither a time nor a duration; " + fix)
		}
		deadline = l.now().Add(d)
	}
	if !deadline.After(l.now()) {
		return time.Time{}, errors.New("is in the past; " + fix)
	}
	return deadline.UTC(), nil
}
