package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

func TestExtended(t *testing.T) {
	t.Parallel()
	var all domain.ExecutionBudget
	for _, rule := range domain.LimitRules() {
		all = rule.With(all, someTotal(rule, 7))
	}
	for _, rule := range domain.LimitRules() {
		t.Run(string(rule.Limit), func(t *testing.T) {
			t.Parallel()
			lifted := all.Extended(domain.ExecutionBudget{}, []domain.Limit{rule.Limit})
			for _, other := range domain.LimitRules() {
				_, set := other.Total(lifted)
				require.Equal(t, other.Limit != rule.Limit, set, "%s after %s was lifted", other.Limit, rule.Limit)
			}
			require.Equal(t, all, lifted.Extended(all, nil), "set again")
			alone := rule.With(domain.ExecutionBudget{}, someTotal(rule, 99))
			require.Equal(t, alone, domain.ExecutionBudget{}.Extended(alone, nil), "set alone")
			replaced := all.Extended(alone, nil)
			require.NotEqual(t, all, replaced)
			require.Equal(t, all, replaced.Extended(all, nil))
			require.Equal(t, replaced, all.Extended(alone, []domain.Limit{rule.Limit}), "a new total wins over lifting")
		})
	}
	require.Equal(t, all, all.Extended(domain.ExecutionBudget{}, nil), "what is absent stays")
	require.Equal(t, domain.Unlimited(), all.Extended(domain.ExecutionBudget{}, domain.Limits()))
	require.Equal(t, all, all.Extended(domain.ExecutionBudget{}, []domain.Limit{"nonsense"}))
}

// someTotal is so much of what a limit counts.
func someTotal(rule domain.LimitRule, n int) domain.Amount {
	switch rule.Unit {
	case domain.UnitMilliseconds:
		return domain.Seconds(float64(n))
	case domain.UnitTime:
		return domain.Moment(after(n))
	default:
		return domain.Count(rule.Unit, int64(n))
	}
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
