package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// each limit of a budget: how to look at it, and a budget that sets it alone.
var limits = map[domain.Limit]struct {
	set  func(domain.ExecutionBudget) bool
	with domain.ExecutionBudget
}{
	domain.LimitSteps:     {func(b domain.ExecutionBudget) bool { return b.MaxSteps != nil }, domain.ExecutionBudget{MaxSteps: new(int64(99))}},
	domain.LimitTokens:    {func(b domain.ExecutionBudget) bool { return b.MaxTokens != nil }, domain.ExecutionBudget{MaxTokens: new(int64(99))}},
	domain.LimitSeconds:   {func(b domain.ExecutionBudget) bool { return b.MaxSeconds != nil }, domain.ExecutionBudget{MaxSeconds: new(99.0)}},
	domain.LimitCost:      {func(b domain.ExecutionBudget) bool { return b.MaxCostNanoUSD != nil }, domain.ExecutionBudget{MaxCostNanoUSD: new(int64(99))}},
	domain.LimitDeadline:  {func(b domain.ExecutionBudget) bool { return b.Deadline != nil }, domain.ExecutionBudget{Deadline: new(after(99))}},
	domain.LimitToolCalls: {func(b domain.ExecutionBudget) bool { return b.MaxToolCalls != nil }, domain.ExecutionBudget{MaxToolCalls: new(int64(99))}},
}

func TestExtended(t *testing.T) {
	t.Parallel()
	require.Len(t, limits, len(domain.Limits()))
	for limit, l := range limits {
		t.Run(string(limit), func(t *testing.T) {
			t.Parallel()
			lifted := sampleBudget().Extended(domain.Unlimited(), []domain.Limit{limit})
			for other, o := range limits {
				require.Equal(t, other != limit, o.set(lifted), "%s after %s was lifted", other, limit)
			}
			require.Equal(t, sampleBudget(), lifted.Extended(sampleBudget(), nil), "set again")
			require.Equal(t, l.with, domain.Unlimited().Extended(l.with, nil), "set alone")
			replaced := sampleBudget().Extended(l.with, nil)
			require.NotEqual(t, sampleBudget(), replaced)
			require.Equal(t, sampleBudget(), replaced.Extended(sampleBudget(), nil))
			require.Equal(t, replaced, sampleBudget().Extended(l.with, []domain.Limit{limit}), "a new total wins over lifting")
		})
	}
	require.Equal(t, sampleBudget(), sampleBudget().Extended(domain.Unlimited(), nil), "what is absent stays")
	require.Equal(t, domain.Unlimited(), sampleBudget().Extended(domain.Unlimited(), domain.Limits()))
	require.Equal(t, sampleBudget(), sampleBudget().Extended(domain.Unlimited(), []domain.Limit{"nonsense"}))
}

func TestExtendedSharesNothing(t *testing.T) {
	t.Parallel()
	budget, totals := sampleBudget(), domain.ExecutionBudget{MaxTokens: new(int64(9000)), Deadline: new(after(9))}
	extended := budget.Extended(totals, nil)
	before := encoded(t, extended)
	*budget.MaxSteps, *budget.MaxSeconds, *totals.MaxTokens, *totals.Deadline = 1, 1, 1, after(1)
	require.Equal(t, before, encoded(t, extended))
	*extended.MaxToolCalls = 77
	require.Equal(t, int64(4), *budget.MaxToolCalls)
}

func TestSpentAdds(t *testing.T) {
	t.Parallel()
	one := domain.Spent{Steps: 1, Tokens: 2, Seconds: 3.5, CostNanoUSD: 4, ToolCalls: 5}
	require.Equal(t, domain.Spent{Steps: 2, Tokens: 4, Seconds: 7, CostNanoUSD: 8, ToolCalls: 10}, one.Add(one))
	require.Equal(t, one, one.Add(domain.Spent{}))
	most := domain.Spent{CostNanoUSD: 1<<63 - 1}
	require.Equal(t, most, most.Add(most), "never less than before")
}
