package anthropic

import (
	"encoding/json"
	"net/url"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// Name is the provider's name in a model's full name, as in anthropic/claude-sonnet-4-5.
const Name = "anthropic"

// Paused is the finish word of a turn that the server will go on with when it is sent back.
const Paused = domain.WordPaused

// version is the API's, which fixes the form of requests and answers.
const version = "2023-06-01"

// New checks the configuration and returns the provider. It makes no request.
// The base URL is the server's with or without the /v1 at its end.
func New(config wire.Config) (*wire.Client, error) { return wire.New(API(), config) }

// maxTokens is the option that bounds the answer.
const maxTokens = "max_tokens"

// API is Anthropic's Messages.
func API() wire.API {
	return wire.API{
		Name: Name, Server: "https://api.anthropic.com", Variables: "ANTHROPIC",
		// Tools that the server runs would cost what no budget knows of.
		Reserved: []string{"messages", "model", "stream", "system", "tools"},
		Options: func(given domain.Metadata) (int64, error) {
			if _, err := readOptions(given); err != nil {
				return 0, err
			}
			return wire.Bound(given, maxTokens, "")
		},
		CheckFormat: checkFormat, Prepare: prepare,
	}
}

func prepare(a *wire.Attempt, call inference.Call) (wire.Request, wire.Decoder, error) {
	given, err := readOptions(call.Config.Options)
	if err != nil {
		return wire.Request{}, nil, err
	}
	if binds(call.Config.Model) && thoughtful(call.Messages) {
		given.bind()
	}
	var thinking int64
	a.Bound, thinking = given.bounds(a.Bound)
	header := a.KeyIn("X-Api-Key", "")
	header.Set("Anthropic-Version", version)
	if len(given.betas) > 0 {
		header.Set("Anthropic-Beta", strings.Join(given.betas, ","))
	}
	body, err := encode(call, given, a.Bound, thinking)
	return wire.Request{Path: path(a.Base), Header: header, Body: body}, &assembly{Attempt: a, open: map[int]*block{}}, err
}

// path is that of the API below a base URL.
func path(base *url.URL) string {
	if strings.HasSuffix(strings.TrimRight(base.Path, "/"), "/v1") {
		return "messages"
	}
	return "v1/messages"
}

const (
	// defaultMaxTokens bounds an answer where nobody does.
	defaultMaxTokens = 8192
	// minThinking is the smallest budget of thinking that the API accepts.
	minThinking = 1024
)

// options are those of a model that mean something here.
type options struct {
	// thinks says that thinking is asked for, with a budget of tokens or, without one, as the
	// model likes.
	thinks bool
	budget int64
	// thinking and output are the fields of these options.
	thinking, output map[string]json.RawMessage
	betas            []string
	// caches says that the user places the marks for the prompt cache, or wants none.
	caches bool
	// rest are the options that are sent as they are.
	rest domain.Metadata
}

// readOptions says what is wrong with the options of a model, or reads them.
func readOptions(given domain.Metadata) (options, error) {
	var out options
	out.rest = domain.Metadata{}
	for key, value := range given {
		if err := out.read(key, value); err != "" {
			return options{}, domain.Errorf(domain.Invalid, "options: %s %s", key, err)
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
	case key == maxTokens:
		// It is in the attempt's bound.
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

// bounds returns the most tokens of an answer, and how many of them thinking may use: zero
// leaves thinking with a budget out.
func (o *options) bounds(bound int64) (all, thinking int64) {
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
