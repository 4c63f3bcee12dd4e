package modelfacts

import (
	"math/big"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
)

const (
	nanos = 1_000_000_000
	// maxDollars for a million tokens: what is above is a mistake of units.
	maxDollars = 10_000
	// minNanos, a hundredth of a cent for a million tokens: what is below and
	// not free is a mistake of units too.
	minNanos = 100_000
	// maxNumber is the longest text of a number that is read at all.
	maxNumber = 40
)

// dollars reads dollars for a million tokens, exactly, as nano-dollars. It
// returns nil, and has said why, where that is not what stands there.
func (m *modelReader) dollars(field string, value *yaml.Node) *int64 {
	value = target(value)
	fail := func(format string, args ...any) *int64 {
		m.failf(value, "%s: %s: "+format, append([]any{m.name, field}, args...)...)
		return nil
	}
	text := strings.TrimSpace(value.Value)
	if value.Kind != yaml.ScalarNode || !decimal(text) {
		return fail("is %s; give dollars for a million tokens as a number, as in 1.25, or 0 for a free model", kindOf(value))
	}
	amount, ok := new(big.Rat).SetString(text)
	if !ok {
		return fail("is %s; give dollars for a million tokens as a number, as in 1.25", kindOf(value))
	}
	if amount.Sign() < 0 {
		return fail("is %s; a price cannot be negative: give dollars for a million tokens, 0 for a free model", text)
	}
	if amount.Cmp(big.NewRat(maxDollars, 1)) > 0 {
		return fail("%s", tooMuch(text, amount))
	}
	if amount.Sign() > 0 && amount.Cmp(big.NewRat(minNanos, nanos)) < 0 {
		return fail("is %s; that looks like dollars for one token: give dollars for a million tokens", text)
	}
	places, _ := amount.FloatPrec() // every decimal number has an end
	n, err := domain.ParseUSD(amount.FloatString(places))
	if err != nil {
		return fail("is %s, which %s", text, err)
	}
	return &n
}

// tooMuch says what a price above the bound most likely is.
func tooMuch(text string, amount *big.Rat) string {
	if amount.IsInt() && amount.Num().IsInt64() && amount.Num().Int64() >= nanos/1000 {
		return "is " + text + "; that looks like nano-dollars: files take dollars for a million tokens, which would be " + domain.USD(amount.Num().Int64())
	}
	return "is " + text + "; no model costs more than 10000 dollars for a million tokens: give dollars for a million tokens"
}

// decimal reports whether a text is a decimal number that is cheap to read.
func decimal(text string) bool {
	if text == "" || len(text) > maxNumber {
		return false
	}
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(text), "e")
	if scientific && (len(exponent) > 3 || strings.Trim(exponent, "+-0123456789") != "") {
		return false
	}
	return mantissa != "" && strings.Trim(mantissa, "+-.0123456789") == "" && strings.ContainsAny(mantissa, "0123456789")
}
