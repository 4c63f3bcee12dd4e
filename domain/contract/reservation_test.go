package contract_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
)

func TestReserve(t *testing.T) {
	t.Parallel()
	price := &domain.Price{Input: 1_000_000, Output: 2_000_000} // 1 and 2 nano-dollars a token
	for name, c := range map[string]struct {
		budget   domain.ExecutionBudget
		spent    domain.Spent
		input    int64
		resolved contract.Resolved
		output   int64
		limit    domain.Limit
		short    domain.Limit
	}{
		"tokens":                     {budget: domain.ExecutionBudget{MaxTokens: new(int64(100))}, spent: domain.Spent{Tokens: 20}, input: 50, output: 30, limit: domain.LimitTokens},
		"the smallest answer":        {budget: domain.ExecutionBudget{MaxTokens: new(int64(66))}, input: 50, resolved: contract.Resolved{MinOutputTokens: 16}, output: 16, limit: domain.LimitTokens},
		"money":                      {budget: domain.ExecutionBudget{MaxCostNanoUSD: new(int64(100))}, spent: domain.Spent{CostNanoUSD: 20}, input: 50, resolved: contract.Resolved{Price: price}, output: 15, limit: domain.LimitCost},
		"no money for the input":     {budget: domain.ExecutionBudget{MaxCostNanoUSD: new(int64(49))}, input: 50, resolved: contract.Resolved{Price: price}, short: domain.LimitCost},
		"answers cost nothing":       {budget: domain.ExecutionBudget{MaxCostNanoUSD: new(int64(50))}, input: 50, resolved: contract.Resolved{Price: &domain.Price{Input: 1_000_000}}},
		"nobody knows the price":     {budget: domain.ExecutionBudget{MaxCostNanoUSD: new(int64(1))}, input: 50},
		"money bounds before tokens": {budget: domain.ExecutionBudget{MaxTokens: new(int64(90)), MaxCostNanoUSD: new(int64(100))}, input: 50, resolved: contract.Resolved{Price: price}, output: 25, limit: domain.LimitCost},
		"the model's longest answer": {budget: domain.ExecutionBudget{MaxTokens: new(int64(100))}, input: 50, resolved: contract.Resolved{MaxOutputTokens: 20}, output: 20},
		"what the agent asks for": {budget: domain.ExecutionBudget{MaxTokens: new(int64(100))}, input: 50,
			resolved: contract.Resolved{MaxOutputTokens: 20, Definition: domain.Definition{Model: domain.LLMConfig{MaxOutputTokens: 30}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, short := c.resolved.Reserve(c.budget, c.spent, c.input)
			require.Equal(t, c.short, short)
			if short != "" {
				return
			}
			require.Equal(t, c.output, r.Output)
			require.Equal(t, c.limit, r.Limit())
			require.Equal(t, c.limit != "", r.Bound(contract.ModelReply{}))
			limited := c.budget.MaxTokens != nil || c.budget.MaxCostNanoUSD != nil && c.resolved.Price != nil
			require.Equal(t, limited, r.Bound(contract.ModelReply{Spent: domain.Usage{OutputTokens: 1}}), "lost attempts took of what is left")
		})
	}
}

func TestReservationWithin(t *testing.T) {
	t.Parallel()
	var none contract.Resolved
	r, _ := none.Reserve(domain.ExecutionBudget{MaxTokens: new(int64(100))}, domain.Spent{}, 50)
	require.Equal(t, r, r.Within(0))
	require.Equal(t, r, r.Within(50))
	require.EqualValues(t, 49, r.Within(49).Output)
	require.Empty(t, r.Within(49).Limit(), "a hook's bound is no limit")
	free, _ := none.Reserve(domain.Unlimited(), domain.Spent{}, 50)
	require.EqualValues(t, 7, free.Within(7).Output)
	require.False(t, free.Within(7).Bound(contract.ModelReply{}))
}

// TestReserveKeepsTheLimits: an inference that reads what was estimated and
// answers as long as it may exceeds no limit.
func TestReserveKeepsTheLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Ptr(rapid.Int64Range(0, 1_000_000), true)
		count := rapid.Int64Range(0, 200_000)
		budget := domain.ExecutionBudget{MaxTokens: limit.Draw(t, "tokens"), MaxCostNanoUSD: limit.Draw(t, "cost")}
		price := &domain.Price{Input: rapid.Int64Range(0, 9_000_000).Draw(t, "input price"), Output: rapid.Int64Range(0, 9_000_000).Draw(t, "output price")}
		spent := domain.Spent{Tokens: count.Draw(t, "spent"), CostNanoUSD: count.Draw(t, "paid")}
		input := count.Draw(t, "input")
		r, short := (&contract.Resolved{Price: price}).Reserve(budget, spent, input)
		if short != "" {
			return
		}
		output := r.Output
		if budget.MaxTokens != nil {
			require.Positive(t, output)
			require.LessOrEqual(t, spent.Tokens+input+output, *budget.MaxTokens)
		}
		if budget.MaxCostNanoUSD != nil {
			require.LessOrEqual(t, spent.CostNanoUSD+price.Cost(domain.Usage{InputTokens: input, OutputTokens: output}), *budget.MaxCostNanoUSD)
		}
	})
}
