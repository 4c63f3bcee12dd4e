package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"everstep/domain"
	"everstep/starter/client"
)

// A budgetFlags is what the flags of the budget say.
type budgetFlags struct {
	budget domain.ExecutionBudget
	now    func() time.Time
}

func (l *budgetFlags) register(set *pflag.FlagSet, now func() time.Time) {
	l.now = now
	for _, rule := range domain.LimitRules() {
		set.Var(limitFlag{limits: l, rule: rule}, rule.Limit.Flag(), limitHelp(rule, rule.Help))
	}
}

// limitHelp is what the help of a flag says of a limit.
func limitHelp(rule domain.LimitRule, help string) string {
	if rule.Unit == domain.UnitTime {
		return help + ": a time such as 2030-01-31T12:00:00Z, or a duration from now such as 90s"
	}
	return help
}

// A limitFlag is the flag of one limit.
type limitFlag struct {
	limits *budgetFlags
	rule   domain.LimitRule
}

func (f limitFlag) String() string { return "" }

// Type is what the flag takes, in a word.
func (f limitFlag) Type() string {
	switch f.rule.Unit {
	case domain.UnitNanoUSD:
		return "dollars"
	case domain.UnitMilliseconds:
		return "seconds"
	case domain.UnitTime:
		return "time"
	default:
	}
	return "count"
}

// Set reads what the command line gave.
func (f limitFlag) Set(text string) error {
	total, err := f.read(text)
	if err == nil {
		f.limits.budget = f.rule.With(f.limits.budget, total)
	}
	return err
}

func (f limitFlag) read(text string) (domain.Amount, error) {
	switch f.rule.Unit {
	case domain.UnitNanoUSD:
		n, err := readDollars(text)
		return domain.Count(f.rule.Unit, n), err
	case domain.UnitMilliseconds:
		s, err := readSeconds(text)
		return domain.Seconds(s), err
	case domain.UnitTime:
		t, err := f.limits.readDeadline(text)
		return domain.Moment(t), err
	default:
	}
	n, err := readCount(text)
	return domain.Count(f.rule.Unit, n), err
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

func (l *budgetFlags) readDeadline(text string) (time.Time, error) {
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

// extendFlags are what the flags say of new limits, none of which takes one away.
type extendFlags struct {
	limits budgetFlags
	lift   []domain.Limit
}

// noLimit takes a limit away.
const noLimit = "none"

func (t *extendFlags) register(set *pflag.FlagSet, now func() time.Time) {
	t.limits.now = now
	for _, rule := range domain.LimitRules() {
		help, _, _ := strings.Cut(rule.Help, ",")
		if rule.Unit != domain.UnitTime {
			help += " in all"
		}
		set.Var(totalFlag{limitFlag{limits: &t.limits, rule: rule}, t}, rule.Limit.Flag(), limitHelp(rule, help))
	}
}

// options are what the flags ask for.
func (t *extendFlags) options() client.ExtendOptions {
	return client.ExtendOptions{Budget: t.limits.budget, Lift: t.lift}
}

// A totalFlag is a flag that sets a limit anew, or takes it away.
type totalFlag struct {
	limitFlag
	totals *extendFlags
}

// Type is what the flag takes, in a word.
func (n totalFlag) Type() string { return n.limitFlag.Type() + "|" + noLimit }

// Set reads a limit, or none. The last one that is given counts.
func (n totalFlag) Set(text string) error {
	limit := n.rule.Limit
	n.totals.lift = slices.DeleteFunc(n.totals.lift, func(l domain.Limit) bool { return l == limit })
	if text == noLimit {
		n.limits.budget = n.limits.budget.Extended(domain.ExecutionBudget{}, []domain.Limit{limit})
		n.totals.lift = append(n.totals.lift, limit)
		return nil
	}
	return n.limitFlag.Set(text)
}
