package domain

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// A Price is what a model costs: nano-dollars for a million tokens; 3 dollars are 3_000_000_000.
type Price struct {
	Input  int64 `json:"input_nano_usd"`
	Output int64 `json:"output_nano_usd"`
	// CacheRead and CacheWrite are of input tokens by way of the cache. Absent: as Input.
	CacheRead  *int64 `json:"cache_read_nano_usd,omitempty"`
	CacheWrite *int64 `json:"cache_write_nano_usd,omitempty"`
	// Long, where set, is the price of calls whose input is longer than a bound.
	Long *LongPrice `json:"long,omitempty"`
}

// A LongPrice is the price of calls with more input tokens than Above.
type LongPrice struct {
	Above int64 `json:"above_tokens"`
	// Price has no longer one of its own.
	Price
}

const (
	// perTokens is the number of tokens that a price is for.
	perTokens = 1_000_000
	// MaxPrice bounds a price: above a million dollars for a million tokens is a mistake of units.
	MaxPrice = 1_000_000_000_000_000
)

// Check says which price makes no sense.
func (p Price) Check() error {
	if long := p.Long; long != nil {
		switch {
		case long.Above < 1:
			return Invalidf("price.long.above_tokens: is %d; give the number of input tokens from which the longer price holds", long.Above)
		case long.Long != nil:
			return Invalidf("price.long.long: is given; there is one longer price")
		}
		if err := long.check("price.long"); err != nil {
			return err
		}
	}
	return p.check("price")
}

func (p Price) check(where string) error {
	for _, field := range []struct {
		name  string
		value int64
	}{{"input", p.Input}, {"output", p.Output}, {"cache_read", orPrice(p.CacheRead, 0)}, {"cache_write", orPrice(p.CacheWrite, 0)}} {
		if field.value < 0 || field.value > MaxPrice {
			return Invalidf("%s.%s: is %d nano-dollars for a million tokens; give 0 to %d (a million dollars)",
				where, field.name, field.value, int64(MaxPrice))
		}
	}
	return nil
}

func (p Price) at(input int64) Price {
	if l := p.Long; l != nil && input > l.Above {
		return l.Price
	}
	return p
}

// Cost is what a usage costs, rounded up. Cached tokens are not charged as input too.
func (p Price) Cost(u Usage) int64 {
	p = p.at(u.InputTokens)
	input := max(u.InputTokens, 0)
	read := min(max(u.CacheReadTokens, 0), input)
	write := min(max(u.CacheWriteTokens, 0), input-read)
	return perMillion(
		charge{input - read - write, p.Input}, charge{max(u.OutputTokens, 0), p.Output},
		charge{read, orPrice(p.CacheRead, p.Input)}, charge{write, orPrice(p.CacheWrite, p.Input)},
	)
}

// InputCost is the most that so many input tokens can cost.
func (p Price) InputCost(tokens int64) int64 {
	p = p.at(tokens)
	return perMillion(charge{max(tokens, 0), max(p.Input, orPrice(p.CacheRead, p.Input), orPrice(p.CacheWrite, p.Input))})
}

// Most is the most that an inference can cost that reads and writes so many tokens.
func (p Price) Most(input, output int64) int64 {
	return AddCost(p.InputCost(input), perMillion(charge{max(output, 0), p.at(input).Output}))
}

// OutputFor is how many output tokens money buys after so much input; ok is false where output is free.
func (p Price) OutputFor(nanoUSD, input int64) (tokens int64, ok bool) {
	rate := p.at(input).Output
	if rate <= 0 {
		return 0, false
	}
	if nanoUSD <= 0 {
		return 0, true
	}
	bought := new(big.Int).Mul(big.NewInt(nanoUSD), big.NewInt(perTokens))
	return bounded(bought.Quo(bought, big.NewInt(rate))), true
}

func orPrice(price *int64, otherwise int64) int64 { return *cmp.Or(price, &otherwise) }

// A charge is tokens at a price.
type charge struct{ tokens, price int64 }

// perMillion is the sum of what they cost, exact and then rounded up.
func perMillion(charges ...charge) int64 {
	sum := big.NewInt(perTokens - 1)
	for _, c := range charges {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(c.tokens), big.NewInt(max(c.price, 0))))
	}
	return bounded(sum.Quo(sum, big.NewInt(perTokens)))
}

func bounded(n *big.Int) int64 {
	if n.IsInt64() {
		return n.Int64()
	}
	return maxCost
}

const (
	// nanosPerUSD is the number of nano-dollars in a dollar.
	nanosPerUSD = 1_000_000_000
	// usdDecimals is how many decimals a sum of dollars may have: those of a nano-dollar.
	usdDecimals = 9
	// maxCost is a cost that cannot be computed: so much that every limit is reached.
	maxCost = math.MaxInt64
)

// USD writes nano-dollars as dollars, exactly: "0.0042".
func USD(nano int64) string {
	sign, amount := "", uint64(nano) //nolint:gosec // the sign is looked at next
	if nano < 0 {
		sign, amount = "-", -amount
	}
	text := fmt.Sprintf("%s%d.%0*d", sign, amount/nanosPerUSD, usdDecimals, amount%nanosPerUSD)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// KnownCost is what tokens cost, in nano-dollars; nil where tokens were used and nobody knows their price.
func KnownCost(nano, tokens int64, priced bool) *int64 {
	if nano == 0 && tokens > 0 && !priced {
		return nil
	}
	return &nano
}

// ParseUSD reads dollars, such as "0.5" or "$2", as nano-dollars, exactly: ParseUSD(USD(n)) is n from 0 on.
// An error continues the name of what was read, and does not repeat the text.
func ParseUSD(text string) (nano int64, err error) {
	text = strings.TrimPrefix(text, "$")
	whole, fraction, point := strings.Cut(text, ".")
	switch {
	case strings.HasPrefix(text, "-"):
		return 0, errors.New("is negative; give dollars from 0 on, such as 0.5")
	case strings.Contains(text, ","):
		return 0, errors.New("has a comma; write a point before the decimals and nothing between thousands")
	case !digits(whole) || point && !digits(fraction):
		return 0, errors.New("is no sum of money; give dollars such as 0.5 or 2")
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > usdDecimals {
		return 0, fmt.Errorf("has more than %d decimals; round it to a thousand-millionth of a dollar", usdDecimals)
	}
	nano, err = strconv.ParseInt(whole+fraction+strings.Repeat("0", usdDecimals-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("is too much; give at most %s dollars", USD(math.MaxInt64))
	}
	return nano, nil
}

func digits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// AddCost adds two sums of money, or two counts. What overflows is the largest, and what is negative nothing, so that
// no limit fails open.
func AddCost(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	if a > maxCost-b {
		return maxCost
	}
	return a + b
}

// Usage counts tokens. Cache counts are part of input and reasoning is part of output.
type Usage struct {
	InputTokens      int64 `json:"input_tokens"`
	OutputTokens     int64 `json:"output_tokens"`
	CacheReadTokens  int64 `json:"cache_read_tokens,omitzero"`
	CacheWriteTokens int64 `json:"cache_write_tokens,omitzero"`
	ReasoningTokens  int64 `json:"reasoning_tokens,omitzero"`
	// Estimated means that a part of it was estimated by us.
	Estimated bool `json:"estimated,omitzero"`
}

// TotalTokens is input plus output.
func (u Usage) TotalTokens() int64 { return AddCost(u.InputTokens, u.OutputTokens) }

// Add returns the sum; it is estimated if either is.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:      AddCost(u.InputTokens, v.InputTokens),
		OutputTokens:     AddCost(u.OutputTokens, v.OutputTokens),
		CacheReadTokens:  AddCost(u.CacheReadTokens, v.CacheReadTokens),
		CacheWriteTokens: AddCost(u.CacheWriteTokens, v.CacheWriteTokens),
		ReasoningTokens:  AddCost(u.ReasoningTokens, v.ReasoningTokens),
		Estimated:        u.Estimated || v.Estimated,
	}
}

// IsZero reports whether nothing was used.
func (u Usage) IsZero() bool { return u == Usage{} }
