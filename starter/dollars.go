package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// decimals is how many a sum of dollars may have: those of a nano-dollar.
const decimals = 9

// readDollars reads a sum of money in dollars, such as 0.5 or $2, as
// nano-dollars. It never rounds.
func readDollars(text string) (int64, error) {
	const fix = "give dollars such as 0.5 or 2"
	plain := strings.TrimPrefix(strings.TrimSpace(text), "$")
	whole, fraction, point := strings.Cut(plain, ".")
	switch {
	case strings.HasPrefix(plain, "-"):
		return 0, errors.New("is negative; " + fix)
	case strings.Contains(plain, ","):
		return 0, errors.New("has a comma; decimals come after a point, and thousands stand together: " + fix)
	case !digits(whole) || point && !digits(fraction):
		return 0, errors.New("is no sum of money; " + fix)
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > decimals {
		return 0, fmt.Errorf("has more than %d decimals; a thousand-millionth of a dollar is the smallest sum", decimals)
	}
	nano, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("is too much; at most %d dollars can be counted", math.MaxInt64/1_000_000_000)
	}
	return nano, nil
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
