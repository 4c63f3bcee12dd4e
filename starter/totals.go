package main

import (
	"slices"
	"time"

	"github.com/spf13/pflag"

	"everstep/domain"
	"everstep/starter/client"
)

// totals are what the flags say of new limits, none of which takes one away.
type totals struct {
	options client.ExtendOptions
	limits  limits
}

// noLimit takes a limit away.
const noLimit = "none"

func (t *totals) register(set *pflag.FlagSet, now func() time.Time) {
	t.limits.now = now
	b := &t.options.Budget
	set.Var(total[int64]{t, domain.LimitSteps, optional[int64]{&b.MaxSteps, readCount, "count|none"}}, "max-steps", "at most so many steps in all")
	set.Var(total[int64]{t, domain.LimitTokens, optional[int64]{&b.MaxTokens, readCount, "count|none"}}, "max-tokens", "at most so many tokens in all")
	set.Var(total[int64]{t, domain.LimitCost, optional[int64]{&b.MaxCostNanoUSD, readDollars, "dollars|none"}}, "max-cost", "at most so many dollars in all")
	set.Var(total[float64]{t, domain.LimitSeconds, optional[float64]{&b.MaxSeconds, readSeconds, "seconds|none"}}, "max-seconds", "at most so many seconds in all")
	set.Var(total[int64]{t, domain.LimitToolCalls, optional[int64]{&b.MaxToolCalls, readCount, "count|none"}}, "max-tool-calls", "at most so many tool calls in all")
	set.Var(total[time.Time]{t, domain.LimitDeadline, optional[time.Time]{&b.Deadline, t.limits.readDeadline, "time|none"}}, "deadline", "over by then: a time such as 2030-01-31T12:00:00Z, or a duration from now such as 90s")
}

// A total is a flag that sets a limit anew, or takes it away.
type total[T any] struct {
	totals *totals
	limit  domain.Limit
	optional[T]
}

// Set reads a limit, or none. The last one that is given counts.
func (n total[T]) Set(text string) error {
	lift := &n.totals.options.Lift
	*lift = slices.DeleteFunc(*lift, func(l domain.Limit) bool { return l == n.limit })
	if text == noLimit {
		*n.target = nil
		*lift = append(*lift, n.limit)
		return nil
	}
	return n.optional.Set(text)
}
