package contract_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
)

// limits are those of a budget; zero is none.
func limits(tokens, cost int64) (budget domain.ExecutionBudget) {
	if tokens > 0 {
		budget.MaxTokens = &tokens
	}
	if cost > 0 {
		budget.MaxCostNanoUSD = &cost
	}
	return budget
}

// TestReserve is for an inference that reads 50 tokens.
func TestReserve(t *testing.T) {
	t.Parallel()
	price := &domain.Price{Input: 1_000_000, Output: 2_000_000} // 1 and 2 nano-dollars a token
	for name, c := range map[string]struct {
		tokens, cost int64
		spent        domain.Spent
		price        *domain.Price
		least, most  int64 // tokens that the model answers with
		asked        int64 // for, by the definition
		output       int64
		limit, short domain.Limit
	}{
		"no limit":                            {},
		"tokens":                              {tokens: 100, spent: domain.Spent{Tokens: 20}, output: 30, limit: domain.LimitTokens},
		"the last token":                      {tokens: 51, output: 1, limit: domain.LimitTokens},
		"not one token":                       {tokens: 50, short: domain.LimitTokens},
		"the smallest answer":                 {tokens: 66, least: 16, output: 16, limit: domain.LimitTokens},
		"less than the smallest":              {tokens: 65, least: 16, short: domain.LimitTokens},
		"money":                               {cost: 100, spent: domain.Spent{CostNanoUSD: 20}, price: price, output: 15, limit: domain.LimitCost},
		"no money for the answer":             {cost: 51, price: price, short: domain.LimitCost},
		"no money for the input":              {cost: 49, price: price, short: domain.LimitCost},
		"answers cost nothing":                {cost: 50, price: &domain.Price{Input: 1_000_000}},
		"nobody knows the price":              {cost: 1},
		"tokens bound before money":           {tokens: 60, cost: 100, price: price, output: 10, limit: domain.LimitTokens},
		"money bounds before tokens":          {tokens: 90, cost: 100, price: price, output: 25, limit: domain.LimitCost},
		"both bound alike":                    {tokens: 65, cost: 80, price: price, output: 15, limit: domain.LimitTokens},
		"the model's longest answer":          {tokens: 100, most: 20, output: 20},
		"longer than what is left":            {tokens: 100, most: 51, output: 50, limit: domain.LimitTokens},
		"the model's longest is what is left": {tokens: 70, most: 20, output: 20},
		"what the agent asks for":             {tokens: 100, most: 20, asked: 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resolved := contract.Resolved{Price: c.price, MinOutputTokens: c.least, MaxOutputTokens: c.most}
			resolved.Definition.Model.MaxOutputTokens = c.asked
			r, short := resolved.Reserve(limits(c.tokens, c.cost), c.spent, 50)
			require.Equal(t, c.short, short)
			if short != "" {
				return
			}
			require.Equal(t, c.output, r.Output)
			require.Equal(t, c.limit, r.Limit())
			require.Equal(t, c.limit != "", r.Bound(contract.ModelReply{}))
			limited := c.tokens > 0 || c.price != nil
			require.Equal(t, limited, r.Bound(contract.ModelReply{Spent: domain.Usage{OutputTokens: 1}}), "lost attempts took of what is left")
		})
	}
}

func TestReservationWithin(t *testing.T) {
	t.Parallel()
	var none contract.Resolved
	r, _ := none.Reserve(limits(100, 0), domain.Spent{}, 50)
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
