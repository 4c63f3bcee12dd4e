package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"everstep/domain"
)

// A flagValue is a flag of a kind whose text set reads. initial is what help says
// of its default.
type flagValue struct {
	kind, initial string
	set           func(string) error
}

func (f flagValue) String() string        { return f.initial }
func (f flagValue) Type() string          { return f.kind }
func (f flagValue) Set(text string) error { return f.set(text) }

func choiceFlag[E ~string](target *E, among []E) flagValue {
	return flagValue{strings.Join(names(among), "|"), string(*target), func(text string) error {
		if !slices.Contains(among, E(text)) {
			return fmt.Errorf("is none of %s", strings.Join(names(among), ", "))
		}
		*target = E(text)
		return nil
	}}
}

func names[E ~string](values []E) []string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = string(value)
	}
	return texts
}

// textFlag takes any text but none: an empty one is most likely a shell variable
// that is not set.
func textFlag(target *string) flagValue {
	return flagValue{"string", "", func(text string) error {
		if text == "" {
			return errors.New("is empty; give a name, or leave it out")
		}
		*target = text
		return nil
	}}
}

func durationFlag(target *time.Duration) flagValue {
	return flagValue{"duration", "", func(text string) error {
		d, err := time.ParseDuration(text)
		switch {
		case err != nil:
			return errors.New("is no duration; write it like 30s or 1m30s")
		case d < 0:
			return errors.New("is negative; give a duration from 0 on, such as 30s")
		}
		*target = d
		return nil
	}}
}

func numberFlag(target *int, least, most int) flagValue {
	return flagValue{"number", "", func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return fmt.Errorf("is no whole number from %d to %d", least, most)
		}
		*target = n
		return nil
	}}
}

// executionFlag adds the flag that names an execution by its number.
func executionFlag(command *cobra.Command, number *int) {
	command.Flags().Var(numberFlag(number, 1, 1<<31-1), "execution", "which execution; the newest unless given")
}

type budgetFlags struct {
	budget domain.ExecutionBudget
	lift   []domain.Limit // the limits that are taken away
	now    func() time.Time
}

// register adds a flag for each limit.
func (f *budgetFlags) register(set *pflag.FlagSet, now func() time.Time) {
	f.now = now
	for _, rule := range domain.LimitRules() {
		read := func(text string) error { return f.read(rule, text) }
		set.Var(flagValue{kind: limitKind(rule.Unit), set: read}, rule.Limit.Flag(), limitHelp(rule, rule.Help))
	}
}

// noLimit takes a limit away.
const noLimit = "none"

// registerTotals adds flags that set a limit anew, or take it away. The last one
// that is given counts.
func (f *budgetFlags) registerTotals(set *pflag.FlagSet, now func() time.Time) {
	f.now = now
	for _, rule := range domain.LimitRules() {
		help, _, _ := strings.Cut(rule.Help, ",")
		if rule.Unit != domain.UnitTime {
			help += " in all"
		}
		read := func(text string) error {
			f.lift = slices.DeleteFunc(f.lift, func(l domain.Limit) bool { return l == rule.Limit })
			if text != noLimit {
				return f.read(rule, text)
			}
			f.budget = f.budget.Extended(domain.ExecutionBudget{}, []domain.Limit{rule.Limit})
			f.lift = append(f.lift, rule.Limit)
			return nil
		}
		set.Var(flagValue{kind: limitKind(rule.Unit) + "|" + noLimit, set: read}, rule.Limit.Flag(), limitHelp(rule, help))
	}
}

// limitKind is what the flag of a limit takes, in a word.
func limitKind(unit domain.Unit) string {
	kinds := map[domain.Unit]string{domain.UnitNanoUSD: "dollars", domain.UnitMilliseconds: "seconds", domain.UnitTime: "time"}
	return cmp.Or(kinds[unit], "count")
}

func limitHelp(rule domain.LimitRule, help string) string {
	if rule.Unit == domain.UnitTime {
		return help + ": a time such as 2030-01-31T12:00:00Z, or a duration from now such as 90s"
	}
	return help
}

func (f *budgetFlags) read(rule domain.LimitRule, text string) (err error) {
	var n int64
	var total domain.Amount
	switch rule.Unit {
	case domain.UnitMilliseconds:
		var seconds float64
		seconds, err = readSeconds(text)
		total = domain.Seconds(seconds)
	case domain.UnitTime:
		var deadline time.Time
		deadline, err = f.readDeadline(text)
		total = domain.Moment(deadline)
	case domain.UnitNanoUSD:
		n, err = readDollars(text)
		total = domain.Count(rule.Unit, n)
	case domain.UnitSteps, domain.UnitTokens, domain.UnitCalls:
		n, err = readCount(text)
		total = domain.Count(rule.Unit, n)
	}
	if err == nil {
		f.budget = rule.With(f.budget, total)
	}
	return err
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

func (f *budgetFlags) readDeadline(text string) (time.Time, error) {
	const fix = "give a time to come such as 2030-01-31T12:00:00Z, or a duration from now such as 90s"
	deadline, err := time.Parse(time.RFC3339, text)
	if err != nil {
		d, err := time.ParseDuration(text)
		if err != nil {
			return time.Time{}, errors.New("is neither a time nor a duration; " + fix)
		}
		deadline = f.now().Add(d)
	}
	if !deadline.After(f.now()) {
		return time.Time{}, errors.New("is in the past; " + fix)
	}
	return deadline.UTC(), nil
}
