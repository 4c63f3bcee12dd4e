package modelfacts

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
)

// A modelReader reads what a file says of one model.
type modelReader struct {
	*reader
	name string
	key  *yaml.Node
}

// priceKeys are of money; modelKeys are all that a model has.
func priceKeys() []string { return []string{"input", "output", "cache_read", "cache_write"} }

func longKeys() []string { return append(priceKeys(), "above_tokens") }

func modelKeys() []string {
	return append(priceKeys(), "long", "context_window", "max_output_tokens", "tools", "images", "json_schema")
}

// read fills in the facts and returns the price, or nil where it is not whole.
func (m *modelReader) read(value *yaml.Node, facts *Facts) *domain.Price {
	before := len(m.wrong)
	money := make(map[string]*int64)
	var long *domain.LongPrice
	m.entries(value, m.name, strings.Join(modelKeys(), ", "), func(key, value *yaml.Node) {
		switch key.Value {
		case "input", "output", "cache_read", "cache_write":
			money[key.Value] = m.dollars(key.Value, value)
		case "long":
			long = m.long(value)
		case "context_window":
			facts.ContextWindow = m.tokens(key.Value, value)
		case "max_output_tokens":
			facts.MaxOutputTokens = m.tokens(key.Value, value)
		case "tools":
			facts.Tools = m.yesOrNo(key.Value, value)
		case "images":
			facts.Images = m.yesOrNo(key.Value, value)
		case "json_schema":
			facts.JSONSchema = m.yesOrNo(key.Value, value)
		default:
			m.unknown(key, "", modelKeys())
		}
	})
	if target(value).Kind == yaml.MappingNode {
		m.needs(m.key, "", money)
	}
	if w, o := facts.ContextWindow, facts.MaxOutputTokens; w > 0 && o > w {
		m.failf(m.key, "%s: max_output_tokens: is %d, more than context_window, which is %d; the window holds input and output", m.name, o, w)
	}
	if len(m.wrong) > before {
		return nil
	}
	return &domain.Price{
		Input: *money["input"], Output: *money["output"],
		CacheRead: money["cache_read"], CacheWrite: money["cache_write"], Long: long,
	}
}

// long reads the price of long inputs.
func (m *modelReader) long(value *yaml.Node) *domain.LongPrice {
	before := len(m.wrong)
	money := make(map[string]*int64)
	var long domain.LongPrice
	m.entries(value, m.name+": long", strings.Join(longKeys(), ", "), func(key, value *yaml.Node) {
		switch {
		case key.Value == "above_tokens":
			long.Above = m.tokens("long.above_tokens", value)
		case slices.Contains(priceKeys(), key.Value):
			money[key.Value] = m.dollars("long."+key.Value, value)
		default:
			m.unknown(key, "long.", longKeys())
		}
	})
	if target(value).Kind == yaml.MappingNode {
		m.needs(value, "long.", money)
		if long.Above == 0 && len(m.wrong) == before {
			m.failf(value, "%s: long.above_tokens: is missing; give the number of input tokens above which these prices hold", m.name)
		}
	}
	if len(m.wrong) > before {
		return nil
	}
	long.Input, long.Output = *money["input"], *money["output"]
	long.CacheRead, long.CacheWrite = money["cache_read"], money["cache_write"]
	return &long
}

// needs reports the prices without which there is none. A key that was there
// and wrong has been reported already.
func (m *modelReader) needs(node *yaml.Node, prefix string, money map[string]*int64) {
	for _, field := range []string{"input", "output"} {
		if _, given := money[field]; !given {
			m.failf(node, "%s: %s%s: is missing; give dollars for a million tokens, 0 for a free model", m.name, prefix, field)
		}
	}
}

func (m *modelReader) unknown(key *yaml.Node, prefix string, known []string) {
	m.failf(key, "%s: %s%s: unknown key%s", m.name, prefix, key.Value, suggest(key.Value, known))
}

// tokens reads a number of tokens above zero.
func (m *modelReader) tokens(field string, value *yaml.Node) int64 {
	value = target(value)
	n, err := strconv.ParseInt(strings.ReplaceAll(value.Value, "_", ""), 10, 64)
	if value.Kind != yaml.ScalarNode || err != nil || n < 1 || n > maxTokens {
		m.failf(value, "%s: %s: is %s; give a whole number of tokens from 1 to %d", m.name, field, kindOf(value), int64(maxTokens))
		return 0
	}
	return n
}

// maxTokens bounds windows; none comes near it.
const maxTokens = 1_000_000_000

func (m *modelReader) yesOrNo(field string, value *yaml.Node) *bool {
	value = target(value)
	var answer bool
	if value.Kind != yaml.ScalarNode || value.Tag != "!!bool" || value.Decode(&answer) != nil {
		m.failf(value, "%s: %s: is %s; give true or false", m.name, field, kindOf(value))
		return nil
	}
	return &answer
}
