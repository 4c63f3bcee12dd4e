package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"everstep/domain"
)

// A priceTag is a flag that says what a model costs.
type priceTag struct{ target **domain.Price }

func (p priceTag) String() string { return "" }
func (p priceTag) Type() string   { return "KIND=DOLLARS,…" }

const priceForm = "give dollars for a million tokens by kind, such as input=1.25,output=10"

// Set reads dollars for a million tokens by kind, such as input=1.25,output=10.
func (p priceTag) Set(text string) error {
	var price domain.Price
	fields := map[string]**int64{}
	input, output := &price.Input, &price.Output
	fields["input"], fields["output"] = &input, &output
	fields["cache_read"], fields["cache_write"] = &price.CacheRead, &price.CacheWrite
	var given []string
	for _, part := range strings.Split(text, ",") {
		kind, dollars, ok := strings.Cut(strings.TrimSpace(part), "=")
		field, known := fields[kind]
		switch {
		case !ok:
			return fmt.Errorf("has the part %q without =; %s", domain.Shorten(part, 40), priceForm)
		case !known:
			return fmt.Errorf("names %q, which is none of input, output, cache_read, cache_write; %s", domain.Shorten(kind, 40), priceForm)
		case slices.Contains(given, kind):
			return fmt.Errorf("names %s twice; give it once", kind)
		}
		nano, err := readDollars(dollars)
		if err != nil {
			return fmt.Errorf("has %s=%s, which %w", kind, domain.Shorten(dollars, 40), err)
		}
		given = append(given, kind)
		if *field == nil {
			*field = new(int64)
		}
		**field = nano
	}
	if !slices.Contains(given, "input") || !slices.Contains(given, "output") {
		return errors.New("needs both input and output; " + priceForm)
	}
	if err := price.Check(); err != nil {
		return fmt.Errorf("is not in dollars for a million tokens: %w", err)
	}
	*p.target = &price
	return nil
}
