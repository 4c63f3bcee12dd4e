package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestCallModelAfterALostAttemptByMoney: what a lost attempt may have cost comes
// out of the money too.
func TestCallModelAfterALostAttemptByMoney(t *testing.T) {
	t.Parallel()
	lost := contract.Heartbeat{
		Phase: contract.PhaseRequested, Reserved: domain.Usage{InputTokens: 100, OutputTokens: 1000, Estimated: true}, Length: 40,
	}
	// A token in costs 2 nano-dollars and one out 10; cached input costs more
	// to write.
	price := domain.Price{Input: 2_000_000, Output: 10_000_000, CacheWrite: new(int64(3_000_000))}
	// The lost attempt cost 2·100 + 10·10; the input of the next at most 3·14.
	const spent, input = 300, 42
	for name, test := range map[string]struct {
		price              *domain.Price
		cost, tokens, lost int64
		fresh              bool
		// maxOutput is what the answer may have; zero: there is none.
		maxOutput int64
	}{
		"no limit":                  {price: &price, maxOutput: 500},
		"enough":                    {price: &price, cost: spent + input + 5000, maxOutput: 500},
		"enough for a shorter one":  {price: &price, cost: spent + input + 4999, maxOutput: 499},
		"just enough":               {price: &price, cost: spent + input + 160, maxOutput: 16},
		"too little":                {price: &price, cost: spent + input + 159},
		"nothing":                   {price: &price, cost: 1},
		"output is free":            {price: &domain.Price{Input: 2_000_000}, cost: 200 + 28, maxOutput: 500},
		"output is free, input not": {price: &domain.Price{Input: 2_000_000}, cost: 200 + 27},
		"lost beyond reckoning":     {price: &domain.Price{Input: domain.MaxPrice, Output: 1}, lost: 1 << 50, cost: 1 << 62},
		"no price":                  {cost: 1_000_000},
		"no price and no limit":     {maxOutput: 500},
		"tokens are scarcer":        {price: &price, cost: spent + input + 4999, tokens: 110 + 14 + 20, maxOutput: 20},
		"money is scarcer":          {price: &price, cost: spent + input + 200, tokens: 110 + 14 + 30, maxOutput: 20},
		"nothing was lost":          {price: &price, cost: 1, fresh: true, maxOutput: 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := answeringBench("x", few)
			b.resolved.Price = test.price
			before := lost
			before.Reserved.InputTokens = max(test.lost, 100)
			if !test.fresh {
				b.before, b.attempt = &before, 2
			}
			request := b.request()
			request.CostLeftNanoUSD, request.TokensLeft, request.MaxOutputTokens = test.cost, test.tokens, 500
			reply := b.replyTo(t, request)
			require.Equal(t, test.maxOutput, b.called.MaxOutputTokens)
			if test.maxOutput > 0 {
				require.Equal(t, contract.Answered, reply.Outcome)
				return
			}
			require.Equal(t, contract.BilledFailure, reply.Outcome)
			require.Contains(t, reply.Error.Message, "the money does not cover another try")
			require.Equal(t, before.Reserved.InputTokens+10, reply.Spent.TotalTokens())
			require.Empty(t, b.recorded(), "nothing may say that a request was made")
		})
	}
}
