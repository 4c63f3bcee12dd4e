package modelfacts

import (
	"cmp"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
	"everstep/domain"
)

const (
	nanos = 1_000_000_000
	// maxDollars for a million tokens: what is above is a mistake of units.
	maxDollars = 10_000
	// minNanos for a million tokens: what is below and not free is one too.
	minNanos = 100_000
	// maxNumber is the longest text of a number that is read at all.
	maxNumber   = 40
	maxTokens   = 1_000_000_000
	maxMistakes = 100
)

func readFile(path string, data []byte) (map[name]Facts, error) {
	r := &document.Reader{File: path, Form: document.Form{
		MaxSize: maxFile, Loose: true,
		Needs:  "it needs models: and under it PROVIDER/MODEL with input and output",
		Second: "put all models into the first",
	}}
	models := make(map[name]Facts)
	if text, ok := r.Text(data); ok {
		r.Read(text, document.Keys{{Name: "models", Value: modelsOf(path, models), Needed: "put every PROVIDER/MODEL under it"}})
	}
	if r.Err() == nil {
		return models, nil
	}
	var lines []string // one a problem
	for _, p := range r.Problems[:min(len(r.Problems), maxMistakes)] {
		lines = append(lines, p.String())
	}
	if more := len(r.Problems) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more", path, more))
	}
	return nil, domain.Invalidf("%s", strings.Join(lines, "\n"))
}

func modelsOf(path string, into map[name]Facts) document.Value {
	return document.Value{
		Read: func(at document.Place) {
			at.Entries(nil, func(key *yaml.Node, at document.Place) {
				provider, model, ok := strings.Cut(key.Value, "/")
				if !ok || strings.TrimSpace(provider) == "" || strings.TrimSpace(model) == "" {
					at.On(key).Problem("is not PROVIDER/MODEL, as in openai-chat/llama-4-70b")
					return
				}
				facts := Facts{Source: path, Price: new(domain.Price)}
				at.Mapping(keys(&facts))
				if w, o := facts.ContextWindow, facts.MaxOutputTokens; w > 0 && o > w {
					at.In("max_output_tokens", key).Problem("is %d, more than context_window, which is %d; the window holds input and output", o, w)
				}
				into[name{provider, model}] = facts
			})
		},
	}
}

func keys(f *Facts) document.Keys {
	can := func(name string, into **bool) document.Key {
		return document.Key{Name: name, Value: document.Truth(func(yes bool) { *into = &yes })}
	}
	return append(PriceKeys(f.Price, minNanos),
		tokens("context_window", "What the model can look at, in tokens.", &f.ContextWindow),
		tokens("max_output_tokens", "The longest answer, in tokens.", &f.MaxOutputTokens),
		can("tools", &f.Tools), can("images", &f.Images), can("json_schema", &f.JSONSchema),
	)
}

// PriceKeys are those of a price, in dollars for a million tokens. What is
// less than the least, in nano-dollars, and not free is a mistake of units.
func PriceKeys(p *domain.Price, least int64) document.Keys {
	l := *cmp.Or(p.Long, &domain.LongPrice{})
	above := tokens("above_tokens", "The number of input tokens above which these prices hold.", &l.Above)
	above.Needed = "give the number of input tokens above which these prices hold"
	return append(sums(least, p), document.Key{
		Name: "long", Doc: "The price of calls with more input tokens than above_tokens.",
		Value: document.Mapping(append(sums(least, &l.Price), above)).ShownIf(p.Long != nil).
			Then(func(document.Place) { p.Long = &l }),
	})
}

func sums(least int64, p *domain.Price) document.Keys {
	const needed = "give dollars for a million tokens, 0 for a free model"
	sum := func(held *int64, then func(int64)) document.Value {
		v := document.Dollars("dollars for a million tokens", func(text string) (int64, string) { return dollars(text, least) }, then)
		if held != nil {
			v.Shown = domain.USD(*held)
		}
		return v
	}
	return document.Keys{
		{Name: "input", Doc: "Dollars for a million input tokens, exactly: up to nine decimals.", Value: sum(&p.Input, func(n int64) { p.Input = n }), Needed: needed},
		{Name: "output", Doc: "Dollars for a million output tokens.", Value: sum(&p.Output, func(n int64) { p.Output = n }), Needed: needed},
		{Name: "cache_read", Doc: "Input tokens read from the provider's cache; what input costs unless given.", Value: sum(p.CacheRead, func(n int64) { p.CacheRead = &n })},
		{Name: "cache_write", Doc: "Input tokens written to the provider's cache; what input costs unless given.", Value: sum(p.CacheWrite, func(n int64) { p.CacheWrite = &n })},
	}
}

func tokens(name, doc string, into *int64) document.Key {
	return document.Key{Name: name, Doc: doc, Value: document.Count(1, maxTokens, func(n int64) { *into = n }).Shows(*into)}
}

// decimal is a number that is cheap to read.
var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$`)

// dollars reads dollars for a million tokens, exactly, as nano-dollars.
func dollars(text string, least int64) (nano int64, wrong string) {
	text = strings.TrimSpace(text)
	amount, ok := new(big.Rat), len(text) <= maxNumber && decimal.MatchString(text)
	if ok {
		amount, ok = amount.SetString(text)
	}
	if !ok {
		return 0, "; give dollars for a million tokens as a number, as in 1.25, or 0 for a free model"
	}
	if amount.Cmp(big.NewRat(maxDollars, 1)) > 0 || amount.Sign() != 0 && amount.Cmp(big.NewRat(least, nanos)) < 0 {
		return 0, fmt.Sprintf("; a price is 0, or from %s to %d dollars for a million tokens", domain.USD(max(least, 1)), maxDollars)
	}
	places, _ := amount.FloatPrec() // every decimal number has an end
	nano, err := domain.ParseUSD(amount.FloatString(places))
	if err != nil {
		return 0, ", which " + err.Error()
	}
	return nano, ""
}
