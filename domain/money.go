package domain

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	// nanosPerUSD is the number of nano-dollars in a dollar.
	nanosPerUSD = 1_000_000_000
	// usdDecimals is how many decimals a sum of dollars may have: those of a
	// nano-dollar.
	usdDecimals = 9
	// maxCost is what a cost that cannot be reckoned is taken to be: so much
	// that every limit is reached.
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

// ParseUSD reads a sum of dollars, such as "0.5" or "$2", as nano-dollars. It
// never rounds: ParseUSD(USD(n)) is n for every n from 0 on. Bounds of its own
// are the caller's to check.
//
// An error continues the name of what was read, or "which": "is negative; …".
// It does not repeat the text.
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

// digits reports whether a text has decimal digits and nothing else.
func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// AddCost adds two sums of nano-dollars; what does not fit is the largest sum,
// and what is negative counts as nothing, so that a limit never fails open.
func AddCost(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	if a > maxCost-b {
		return maxCost
	}
	return a + b
}
