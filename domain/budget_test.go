package domain_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

func TestBudgetCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		budget domain.ExecutionBudget
		fault  string
	}{
		"none":          {domain.Unlimited(), ""},
		"steps":         {domain.ExecutionBudget{MaxSteps: new(int64(-1))}, "max_steps: is -1; give zero or more"},
		"seconds":       {domain.ExecutionBudget{MaxSeconds: new(-0.5)}, "max_seconds: is -0.5; give a number from 0"},
		"no number":     {domain.ExecutionBudget{MaxSeconds: new(math.NaN())}, "max_seconds: is NaN; give"},
		"overflow":      {domain.ExecutionBudget{MaxSeconds: new(1e10)}, "max_seconds: is 1e+10; give"},
		"none and some": {domain.ExecutionBudget{MaxSteps: new(int64(3)), MaxStepsFrom: domain.StepsNone}, "max_steps_from: is none, and max_steps is 3"},
		"unknown":       {domain.ExecutionBudget{MaxStepsFrom: "nobody"}, "max_steps_from"},
		"largest":       {domain.ExecutionBudget{MaxSteps: new(int64(math.MaxInt64)), MaxSeconds: new(domain.MaxBudgetSeconds)}, ""},
		"no year":       {domain.ExecutionBudget{Deadline: new(time.Date(0, 6, 1, 0, 0, 0, 0, time.UTC))}, "deadline: is in the year 0; give"},
		"first year":    {domain.ExecutionBudget{Deadline: new(time.Date(1, 6, 1, 0, 0, 0, 0, time.UTC))}, ""},
		"last year":     {domain.ExecutionBudget{Deadline: new(time.Date(9999, 6, 1, 0, 0, 0, 0, time.UTC))}, ""},
		"deadline":      {domain.ExecutionBudget{Deadline: new(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))}, "deadline: is in the year 10000; give"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.budget.Check()
			if c.fault == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.fault)
			require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
		})
	}
}

func drawnLimit(t *rapid.T, name string) *int64 {
	return rapid.OneOf(
		rapid.Just[*int64](nil), rapid.Ptr(rapid.Int64Range(0, 20), false), rapid.Ptr(rapid.Int64Range(0, math.MaxInt64), false),
	).Draw(t, name)
}

func drawnBudget(t *rapid.T, name string) domain.ExecutionBudget {
	budget := domain.ExecutionBudget{
		MaxSteps: drawnLimit(t, name+" steps"), MaxTokens: drawnLimit(t, name+" tokens"),
		MaxSeconds:     rapid.Ptr(rapid.Float64Range(0, domain.MaxBudgetSeconds), true).Draw(t, name+" seconds"),
		MaxCostNanoUSD: drawnLimit(t, name+" cost"), MaxToolCalls: drawnLimit(t, name+" calls"),
	}
	if rapid.Bool().Draw(t, name+" has a deadline") {
		budget.Deadline = new(after(rapid.IntRange(-20, 20).Draw(t, name+" deadline")))
	}
	if budget.MaxSteps == nil && rapid.Bool().Draw(t, name+" has no limit of steps") {
		budget.MaxStepsFrom = domain.StepsNone
	}
	return budget
}

func drawnSpent(t *rapid.T, name string) domain.Spent {
	amount := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, math.MaxInt64))
	return domain.Spent{
		Steps: amount.Draw(t, name+" steps"), Tokens: amount.Draw(t, name+" tokens"), CostNanoUSD: amount.Draw(t, name+" cost"),
		ToolCalls: amount.Draw(t, name+" calls"), Seconds: rapid.Float64Range(0, 1e9).Draw(t, name+" seconds"),
	}
}

// no is whether a limit is no looser than another.
func no[N int64 | float64](tight, loose *N) bool {
	return loose == nil || tight != nil && *tight <= *loose
}

func requireNoLooser(t *rapid.T, tight, loose domain.ExecutionBudget) {
	require.True(t, no(tight.MaxSteps, loose.MaxSteps))
	require.True(t, no(tight.MaxTokens, loose.MaxTokens))
	require.True(t, no(tight.MaxSeconds, loose.MaxSeconds))
	require.True(t, no(tight.MaxCostNanoUSD, loose.MaxCostNanoUSD))
	require.True(t, no(tight.MaxToolCalls, loose.MaxToolCalls))
	require.True(t, loose.Deadline == nil || tight.Deadline != nil && !tight.Deadline.After(*loose.Deadline))
}

func TestBudgetCappedByLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawnBudget(t, "a"), drawnBudget(t, "b"), drawnBudget(t, "c")
		capped := a.CappedBy(b)
		require.Equal(t, capped, b.CappedBy(a), "commutative")
		require.Equal(t, capped, capped.CappedBy(b), "idempotent")
		require.Equal(t, a, a.CappedBy(a), "idempotent")
		require.Equal(t, capped.CappedBy(c), a.CappedBy(b.CappedBy(c)), "associative")
		require.Equal(t, a, a.CappedBy(domain.ExecutionBudget{}), "what says nothing changes nothing")
		require.True(t, a.Equal(a.CappedBy(domain.Unlimited())), "no limit lifts none")
		requireNoLooser(t, capped, a)
		requireNoLooser(t, capped, b)
		require.NoError(t, capped.Check())
		used, now := drawnSpent(t, "used"), after(rapid.IntRange(-30, 30).Draw(t, "now"))
		require.Equal(t, exhausted(a, used, now) || exhausted(b, used, now), exhausted(capped, used, now))
	})
}

// TestStepsAreLimitedByDefault where nobody says anything, and only there.
func TestStepsAreLimitedByDefault(t *testing.T) {
	t.Parallel()
	type budget = domain.ExecutionBudget
	nobody, none := budget{}, domain.Unlimited()
	twenty, many := budget{MaxSteps: new(int64(20))}, budget{MaxSteps: new(int64(500))}
	byDefault := budget{MaxSteps: new(domain.DefaultMaxSteps), MaxStepsFrom: domain.StepsDefault}
	for name, c := range map[string]struct{ definition, request, want budget }{
		"nobody says anything":        {nobody, nobody, byDefault},
		"other limits alone":          {budget{MaxTokens: new(int64(9))}, nobody, budget{MaxSteps: new(domain.DefaultMaxSteps), MaxStepsFrom: domain.StepsDefault, MaxTokens: new(int64(9))}},
		"the definition":              {twenty, nobody, twenty},
		"the request":                 {nobody, many, many},
		"both":                        {twenty, many, twenty},
		"none in the definition":      {none, nobody, none},
		"none in the request":         {nobody, none, none},
		"a request caps none":         {none, twenty, twenty},
		"none lifts no definition's":  {twenty, none, twenty},
		"the default, given as such":  {budget{MaxSteps: new(domain.DefaultMaxSteps)}, nobody, budget{MaxSteps: new(domain.DefaultMaxSteps)}},
		"the default of another caps": {byDefault, twenty, twenty},
		"a default that is capped":    {byDefault, many, byDefault},
	} {
		require.Equal(t, c.want, c.definition.CappedBy(c.request).WithDefaultSteps(), name)
	}
	require.Equal(t, many, byDefault.Extended(many, nil))
	require.Equal(t, none, byDefault.Extended(nobody, []domain.Limit{domain.LimitSteps}))
	require.Equal(t, none, byDefault.Extended(none, nil))
	require.Equal(t, twenty, none.Extended(twenty, nil))
	require.Equal(t, byDefault, byDefault.Extended(nobody, []domain.Limit{domain.LimitTokens}))
	require.Equal(t, int64(50), *byDefault.Remaining(domain.Spent{Steps: 100}).Share(2).MaxSteps)
	require.Empty(t, byDefault.Share(2).MaxStepsFrom, "a share is given")
}

func TestBudgetRemainingLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		budget, used, now := drawnBudget(t, "budget"), drawnSpent(t, "used"), after(rapid.IntRange(-30, 30).Draw(t, "now"))
		left := budget.Remaining(used)
		require.NoError(t, left.Check())
		requireNoLooser(t, left, budget)
		require.Equal(t, budget.Deadline, left.Deadline)
		require.Equal(t, budget, budget.Remaining(domain.Spent{}))
		require.Equal(t, budget.IsEmpty(), left.IsEmpty())
		require.Equal(t, exhausted(budget, used, now), exhausted(left, domain.Spent{}, now),
			"what is used up has nothing left, and nothing else")
		for _, rule := range domain.LimitRules() {
			total, limited := rule.Total(budget)
			remains, _ := rule.Total(left)
			if spent := rule.Used(used, now); limited && !rule.Unit.OfTime() {
				require.Equal(t, max(total.Int()-spent.Int(), 0), remains.Int(), "nothing of %s is lost", rule.Limit)
			}
		}
	})
	require.InDelta(t, 90.25, *sampleBudget().Remaining(domain.Spent{Seconds: 0.25}).MaxSeconds, 0)
	huge := domain.ExecutionBudget{MaxTokens: new(int64(math.MaxInt64))}
	require.Equal(t, huge, huge.Remaining(domain.Spent{Tokens: math.MinInt64}), "a use below zero never adds")
}

// TestTheFirstLimitReachedCounts: of several that are used up, the one that stands first in the table.
func TestTheFirstLimitReachedCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		budget, used, now := drawnBudget(t, "budget"), drawnSpent(t, "used"), after(rapid.IntRange(-30, 30).Draw(t, "now"))
		var want domain.Limit
		for _, rule := range slices.Backward(domain.LimitRules()) {
			if total, limited := rule.Total(budget); limited && exhausted(rule.With(domain.Unlimited(), total), used, now) {
				want = rule.Limit
			}
		}
		use, reached := ledger(budget, used).Reached(now)
		require.Equal(t, want, use.Rule.Limit)
		require.Equal(t, want != "", reached)
	})
	_, reached := ledger(domain.ExecutionBudget{Deadline: new(after(10))}, domain.Spent{}).Reached(after(10).Add(-1))
	require.False(t, reached, "just before the deadline")
	require.True(t, exhausted(domain.ExecutionBudget{MaxSeconds: new(1.0)}, domain.Spent{Seconds: math.NaN()}, noon), "no number is used")
}

func TestUsageAdds(t *testing.T) {
	t.Parallel()
	a := domain.Usage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4, ReasoningTokens: 5}
	b := domain.Usage{InputTokens: 10, OutputTokens: 20, Estimated: true}
	sum := a.Add(b)
	require.Equal(t, domain.Usage{InputTokens: 11, OutputTokens: 22, CacheReadTokens: 3, CacheWriteTokens: 4, ReasoningTokens: 5, Estimated: true}, sum)
	require.Equal(t, sum, b.Add(a))
	require.Equal(t, int64(33), sum.TotalTokens(), "cache and reasoning are parts and count once")
}

// TestTheSameTime is one of the same seconds and the same moment, wherever its clock is.
func TestTheSameTime(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	budgets := map[string]func() domain.ExecutionBudget{
		"none":      domain.Unlimited,
		"a minute":  func() domain.ExecutionBudget { return domain.ExecutionBudget{MaxSeconds: new(60.0)} },
		"an hour":   func() domain.ExecutionBudget { return domain.ExecutionBudget{MaxSeconds: new(3600.0)} },
		"noon":      func() domain.ExecutionBudget { return domain.ExecutionBudget{Deadline: &noon} },
		"afternoon": func() domain.ExecutionBudget { return domain.ExecutionBudget{Deadline: new(noon.Add(time.Hour))} },
		"both":      func() domain.ExecutionBudget { return domain.ExecutionBudget{MaxSeconds: new(60.0), Deadline: &noon} },
	}
	for a, one := range budgets {
		for b, other := range budgets {
			require.Equal(t, a == b, one().SameTime(other()), "%s, %s", a, b)
		}
	}
	there := noon.In(time.FixedZone("there", 3600))
	require.True(t, budgets["noon"]().SameTime(domain.ExecutionBudget{Deadline: &there}))
	require.True(t, budgets["noon"]().SameTime(domain.ExecutionBudget{Deadline: &noon, MaxSteps: new(int64(1))}), "steps are no time")
}

// exhausted reports whether a limit of a budget is used up.
func exhausted(budget domain.ExecutionBudget, used domain.Spent, now time.Time) bool {
	_, reached := ledger(budget, used).Reached(now)
	return reached
}

// ledger is that of an execution without a session's budget.
func ledger(budget domain.ExecutionBudget, spent domain.Spent) domain.Ledger {
	return domain.Ledger{Execution: domain.Holder{Budget: budget, Spent: spent}}
}
