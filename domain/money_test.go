package domain_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

func TestAddCost(t *testing.T) {
	t.Parallel()
	require.Equal(t, int64(5), domain.AddCost(2, 3))
	require.Equal(t, int64(math.MaxInt64), domain.AddCost(math.MaxInt64, 1))
	require.Equal(t, int64(math.MaxInt64), domain.AddCost(math.MaxInt64, math.MaxInt64))
	require.Equal(t, int64(math.MaxInt64), domain.AddCost(math.MaxInt64-1, 1))
	require.Equal(t, int64(7), domain.AddCost(7, math.MinInt64), "no refunds")
	require.Equal(t, int64(7), domain.AddCost(-1, 7))
}

func TestUSD(t *testing.T) {
	t.Parallel()
	for text, nano := range map[string]int64{
		"0": 0, "0.000000001": 1, "0.0042": 4_200_000, "1": 1_000_000_000, "10": 10_000_000_000, "1.5": 1_500_000_000,
		"-0.25": -250_000_000, "100.000000001": 100_000_000_001,
		"9223372036.854775807": math.MaxInt64, "-9223372036.854775808": math.MinInt64,
	} {
		require.Equal(t, text, domain.USD(nano))
	}
}

func TestParseUSD(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "0.005": 5_000_000, "$2": 2_000_000_000, "1.50": 1_500_000_000, "0.000000001": 1, "007": 7_000_000_000,
		"1.1000000000000": 1_100_000_000, "9223372036.854775807": math.MaxInt64,
		"1." + strings.Repeat("0", 100_000): 1_000_000_000,
	} {
		nano, err := domain.ParseUSD(text)
		require.NoError(t, err, domain.Shorten(text, 40))
		require.Equal(t, want, nano, domain.Shorten(text, 40))
	}
	for text, says := range map[string]string{
		"": "is no sum of money; give dollars such as 0.5 or 2", "$": "is no sum of money", "$$1": "is no sum of money",
		".5": "is no sum of money", "5.": "is no sum of money", ".": "is no sum of money", "1.2.3": "is no sum of money",
		"1e3": "is no sum of money", "1E-3": "is no sum of money", "+1": "is no sum of money", "0x1": "is no sum of money",
		"1_000": "is no sum of money", "NaN": "is no sum of money", "Inf": "is no sum of money", "1/2": "is no sum of money",
		" 1": "is no sum of money", "1 2": "is no sum of money", "1$": "is no sum of money", "1.-5": "is no sum of money",
		"\u0661": "is no sum of money",
		"-1":     "is negative; give dollars from 0 on", "$-1": "is negative", "-0": "is negative", "-": "is negative",
		"1,5": "has a comma; write a point", "1,000.00": "has a comma",
		"0.0000000001":                 "has more than 9 decimals; round it",
		"9223372036.854775808":         "is too much; give at most 9223372036.854775807 dollars",
		strings.Repeat("9", 1_000_000): "is too much",
	} {
		nano, err := domain.ParseUSD(text)
		require.ErrorContains(t, err, says, domain.Shorten(text, 40))
		require.True(t, strings.HasPrefix(err.Error(), says), "%q: %v", domain.Shorten(text, 40), err)
		require.Zero(t, nano)
		require.Less(t, len(err.Error()), 120, "the text is not repeated")
	}
}

// FuzzUSD: every sum is read back as it was written, and a negative one is not
// read.
func FuzzUSD(f *testing.F) {
	for _, nano := range []int64{0, 1, -1, 999_999_999, 1_000_000_000, 1_000_000_001, 4_200_000, math.MaxInt64, math.MinInt64} {
		f.Add(nano)
	}
	f.Fuzz(func(t *testing.T, nano int64) {
		text := domain.USD(nano)
		read, err := domain.ParseUSD(text)
		if nano < 0 {
			require.ErrorContains(t, err, "is negative", text)
			return
		}
		require.NoError(t, err, text)
		require.Equal(t, nano, read, text)
		read, err = domain.ParseUSD("$" + text)
		require.NoError(t, err, text)
		require.Equal(t, nano, read, text)
	})
}

// FuzzParseUSD: what is read is what the text says, to the last decimal.
func FuzzParseUSD(f *testing.F) {
	for _, text := range []string{"0", "$2", "0.5", "1.50", "007", "0.000000001", "0.0000000001", "1e3", "1,5", "-1", "9223372036.854775808"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		nano, err := domain.ParseUSD(text)
		if err != nil {
			require.Zero(t, nano)
			return
		}
		exact, ok := new(big.Rat).SetString(strings.TrimPrefix(text, "$"))
		require.True(t, ok, text)
		require.Zero(t, exact.Cmp(big.NewRat(nano, 1_000_000_000)), text)
	})
}
