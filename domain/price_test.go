package domain_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

// exactCost is the slow and plain way: the sum in whole numbers of any size,
// divided by a million, rounded up.
func exactCost(p domain.Price, u domain.Usage) int64 {
	input, output, readRate, writeRate := p.Input, p.Output, p.CacheRead, p.CacheWrite
	if p.Long != nil && u.InputTokens > p.Long.Above {
		input, output, readRate, writeRate = p.Long.Input, p.Long.Output, p.Long.CacheRead, p.Long.CacheWrite
	}
	if readRate == nil {
		readRate = &input
	}
	if writeRate == nil {
		writeRate = &input
	}
	read := min(u.CacheReadTokens, u.InputTokens)
	write := min(u.CacheWriteTokens, u.InputTokens-read)
	sum := new(big.Int)
	for _, charge := range [][2]int64{{u.InputTokens - read - write, input}, {read, *readRate}, {write, *writeRate}, {u.OutputTokens, output}} {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(charge[0]), big.NewInt(charge[1])))
	}
	sum.Add(sum, big.NewInt(999_999)).Div(sum, big.NewInt(1_000_000))
	if !sum.IsInt64() {
		return math.MaxInt64
	}
	return sum.Int64()
}

func drawPrice(t *rapid.T) domain.Price {
	rate := rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, 100_000_000_000), rapid.Int64Range(0, domain.MaxPrice))
	maybe := rapid.Ptr(rate, true)
	p := domain.Price{Input: rate.Draw(t, "input"), Output: rate.Draw(t, "output"), CacheRead: maybe.Draw(t, "read"), CacheWrite: maybe.Draw(t, "write")}
	if rapid.Bool().Draw(t, "has long") {
		p.Long = &domain.LongPrice{Above: rapid.Int64Range(1, 400_000).Draw(t, "above"), Price: domain.Price{
			Input: rate.Draw(t, "long input"), Output: rate.Draw(t, "long output"), CacheRead: maybe.Draw(t, "long read"), CacheWrite: maybe.Draw(t, "long write"),
		}}
	}
	return p
}

func tokens() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 1_000_000), rapid.Int64Range(0, math.MaxInt64))
}

// TestCostIsExact compares with numbers of any size.
func TestCostIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPrice(t)
		require.NoError(t, p.Check())
		u := domain.Usage{
			InputTokens: tokens().Draw(t, "in"), OutputTokens: tokens().Draw(t, "out"),
			CacheReadTokens: tokens().Draw(t, "cached"), CacheWriteTokens: tokens().Draw(t, "written"),
		}
		cost := p.Cost(u)
		require.Equal(t, exactCost(p, u), cost)
		require.LessOrEqual(t, p.Cost(domain.Usage{
			InputTokens: u.InputTokens, CacheReadTokens: u.CacheReadTokens, CacheWriteTokens: u.CacheWriteTokens,
		}), p.InputCost(u.InputTokens), "the input never costs more than was reckoned for it")
	})
}

// TestOutputForIsTheInverse: what it returns can be paid, one more token cannot,
// and input and output together cost no more than what was set aside for each.
func TestOutputForIsTheInverse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPrice(t)
		input := rapid.Int64Range(0, 2_000_000).Draw(t, "input")
		money := rapid.OneOf(rapid.Int64Range(-5, 100), rapid.Int64Range(0, 1_000_000_000_000), rapid.Int64()).Draw(t, "money")
		bought, ok := p.OutputFor(money, input)
		rate := p.Output
		if p.Long != nil && input > p.Long.Above {
			rate = p.Long.Output
		}
		require.Equal(t, rate > 0, ok, "free output has no bound")
		if !ok {
			return
		}
		require.GreaterOrEqual(t, bought, int64(0))
		output := domain.Price{Output: rate}
		require.LessOrEqual(t, output.Cost(domain.Usage{OutputTokens: bought}), max(money, 0))
		if bought < math.MaxInt64 && money < math.MaxInt64 {
			require.Greater(t, output.Cost(domain.Usage{OutputTokens: bought + 1}), money, "no less than could be paid")
		}
		together := p.Cost(domain.Usage{InputTokens: input, OutputTokens: bought})
		require.LessOrEqual(t, together, domain.AddCost(p.InputCost(input), max(money, 0)))
	})
}

func TestCost(t *testing.T) {
	t.Parallel()
	plain := domain.Price{Input: 3_000_000_000, Output: 15_000_000_000}
	cached := plain
	cached.CacheRead, cached.CacheWrite = new(int64(300_000_000)), new(int64(3_750_000_000))
	long := plain
	long.Long = &domain.LongPrice{Above: 200_000, Price: domain.Price{Input: 6_000_000_000, Output: 22_500_000_000}}
	for name, c := range map[string]struct {
		price domain.Price
		usage domain.Usage
		want  string
	}{
		"a million of each":           {plain, domain.Usage{InputTokens: 1e6, OutputTokens: 1e6}, "18"},
		"cached tokens once":          {cached, domain.Usage{InputTokens: 1e6, CacheReadTokens: 5e5, CacheWriteTokens: 2e5}, "1.8"},
		"beyond the bound, all of it": {long, domain.Usage{InputTokens: 200_001, OutputTokens: 1e6}, "23.700006"},
	} {
		require.Equal(t, c.want, domain.USD(c.price.Cost(c.usage)), name)
	}
}

// TestCostNearTheEnd sums up to just below and just above what a number holds.
func TestCostNearTheEnd(t *testing.T) {
	t.Parallel()
	for _, u := range []domain.Usage{
		{InputTokens: math.MaxInt64}, {InputTokens: math.MaxInt64 - 1}, {InputTokens: math.MaxInt64, OutputTokens: 1},
		{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64},
	} {
		for _, rate := range []int64{999_999, 1_000_000, 1_000_001, 1_999_999, 2_000_000, 2_000_001} {
			p := domain.Price{Input: rate, Output: rate}
			require.Equal(t, exactCost(p, u), p.Cost(u), "%+v at %d", u, rate)
			require.Positive(t, p.Cost(u))
		}
	}
}

func TestPriceCheck(t *testing.T) {
	t.Parallel()
	require.NoError(t, samplePrice().Check())
	require.NoError(t, domain.Price{}.Check(), "free")
	require.NoError(t, domain.Price{Input: domain.MaxPrice}.Check())
	for fault, spoil := range map[string]func(*domain.Price){
		"price.input: is -1":                             func(p *domain.Price) { p.Input = -1 },
		"price.output: is 1000000000000001":              func(p *domain.Price) { p.Output = domain.MaxPrice + 1 },
		"price.cache_read: is -2":                        func(p *domain.Price) { p.CacheRead = new(int64(-2)) },
		"price.cache_write: is -3":                       func(p *domain.Price) { p.CacheWrite = new(int64(-3)) },
		"price.long.above_tokens: is 0":                  func(p *domain.Price) { p.Long.Above = 0 },
		"price.long.long: is given":                      func(p *domain.Price) { p.Long.Long = &domain.LongPrice{} },
		"price.long.input: is -4":                        func(p *domain.Price) { p.Long.Input = -4 },
		"price.long.output: is -5":                       func(p *domain.Price) { p.Long.Output = -5 },
		"price.long.cache_read: is -6":                   func(p *domain.Price) { p.Long.CacheRead = new(int64(-6)) },
		"give 0 to 1000000000000000 (a million dollars)": func(p *domain.Price) { p.Long.CacheWrite = new(int64(-7)) },
	} {
		p := samplePrice()
		spoil(p)
		require.ErrorContains(t, p.Check(), fault)
	}
}

func TestOutputForWhatCannotBeReckoned(t *testing.T) {
	t.Parallel()
	for _, rate := range []int64{1, 499_998, 499_999} { // the most money buys 2^64 times so many nano-dollars
		tokens, priced := domain.Price{Output: rate}.OutputFor(math.MaxInt64, 0)
		require.True(t, priced)
		require.EqualValues(t, math.MaxInt64, tokens, rate)
	}
}
