package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"everstep/domain"
	"everstep/starter/client"
)

// totals are what the flags say of new limits, none of which takes one away.
type totals struct {
	limits limits
	lift   []domain.Limit
}

// noLimit takes a limit away.
const noLimit = "none"

func (t *totals) register(set *pflag.FlagSet, now func() time.Time) {
	t.limits.now = now
	for _, rule := range domain.LimitRules() {
		help, _, _ := strings.Cut(rule.Help, ",")
		if rule.Unit != domain.UnitTime {
			help += " in all"
		}
		help = limitHelp(rule, help)
		set.Var(total{limitFlag{limits: &t.limits, rule: rule}, t}, rule.Limit.Flag(), help)
	}
}

// options are what the flags ask for.
func (t *totals) options() client.ExtendOptions {
	return client.ExtendOptions{Budget: t.limits.budget, Lift: t.lift}
}

// A total is a flag that sets a limit anew, or takes it away.
type total struct {
	limitFlag
	totals *totals
}

// Type is what the flag takes, in a word.
func (n total) Type() string { return n.limitFlag.Type() + "|" + noLimit }

// Set reads a limit, or none. The last one that is given counts.
func (n total) Set(text string) error {
	limit := n.rule.Limit
	n.totals.lift = slices.DeleteFunc(n.totals.lift, func(l domain.Limit) bool { return l == limit })
	if text == noLimit {
		n.limits.budget = n.limits.budget.Extended(domain.ExecutionBudget{}, []domain.Limit{limit})
		n.totals.lift = append(n.totals.lift, limit)
		return nil
	}
	return n.limitFlag.Set(text)
}
