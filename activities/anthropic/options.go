package anthropic

import (
	"encoding/json"
	"strconv"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

const (
	// defaultMaxTokens bounds an answer where nobody does.
	defaultMaxTokens = 8192
	// minThinking is the smallest budget of thinking that the API accepts.
	minThinking = 1024
)

// ours are the fields that options may not set: they are what the loop decides.
// Tools that the server runs would cost what no budget knows of.
var ours = []string{"messages", "model", "stream", "system", "tools"}

// options are those of a model that mean something here. The others are sent
// as they are.
type options struct {
	// maxTokens is the user's bound of an answer. Zero: none.
	maxTokens int64
	// thinks says that thinking is asked for, with a budget of tokens or, where
	// that is zero, as the model likes.
	thinks bool
	budget int64
	// thinking and output are the fields of these options.
	thinking, output map[string]json.RawMessage
	betas            []string
	// caches says that the user places the marks for the prompt cache, or wants
	// none.
	caches bool
	// rest are the options that are sent as they are.
	rest domain.Metadata
}

// readOptions says what is wrong with the options of a model, or reads them.
func (p *Provider) readOptions(given domain.Metadata) (options, error) {
	var out options
	if err := p.wire.CheckOptions(given, ours...); err != nil {
		return out, err
	}
	out.rest = domain.Metadata{}
	for key, value := range given {
		if err := out.read(key, value); err != "" {
			return options{}, domain.Errorf(domain.Invalid, "options: %s %s", key, err).From(Name)
		}
	}
	return out, nil
}

// read takes one option. It returns what is wrong with it.
func (o *options) read(key string, value json.RawMessage) (wrong string) {
	switch null := wire.IsNull(value); {
	case key == "cache_control":
		o.caches = true
		if !null {
			o.rest[key] = value
		}
	case null:
		// Null leaves a field out, and all of them are left out by themselves.
	case key == "max_tokens":
		number, err := strconv.ParseInt(strings.TrimSpace(string(value)), 10, 64)
		if err != nil || number <= 0 {
			return "is not a positive whole number"
		}
		o.maxTokens = number
	case key == "thinking":
		return o.readThinking(value)
	case key == "output_config":
		if json.Unmarshal(value, &o.output) != nil {
			return "is not an object"
		}
	case key == "betas":
		if json.Unmarshal(value, &o.betas) != nil {
			return "is not a list of names"
		}
		for _, name := range o.betas {
			if name == "" || strings.Trim(name, nameCharacters+".") != "" {
				return "has a name with characters that no name has"
			}
		}
	default:
		o.rest[key] = value
	}
	return ""
}

func (o *options) readThinking(value json.RawMessage) (wrong string) {
	var thinking struct {
		Type   string      `json:"type"`
		Budget json.Number `json:"budget_tokens"`
	}
	if json.Unmarshal(value, &o.thinking) != nil || json.Unmarshal(value, &thinking) != nil {
		return `is not an object like {"type":"adaptive"}`
	}
	if o.thinks = thinking.Type != "disabled"; thinking.Budget == "" {
		return ""
	}
	var err error
	if o.budget, err = thinking.Budget.Int64(); err != nil || o.budget < minThinking {
		return "has a budget_tokens that is not a whole number from 1024 on"
	}
	return ""
}

// bounds returns the most tokens that the answer may have, and the part of them
// that thinking may use; zero leaves thinking with a budget out.
func (o *options) bounds(call inference.Call) (bound, thinking int64) {
	for _, b := range []int64{o.maxTokens, call.MaxOutputTokens, call.Config.MaxOutputTokens} {
		if b > 0 && (bound == 0 || b < bound) {
			bound = b
		}
	}
	switch {
	case bound == 0:
		return defaultMaxTokens + o.budget, o.budget
	case o.budget < bound:
		return bound, o.budget
	case bound/2 >= minThinking:
		return bound, bound / 2
	}
	return bound, 0
}
