package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/output"
	"everstep/domain"
)

// Name is the provider's name in a model's full name, as in openai/gpt-5.
const Name = "openai"

const maxOutputTokens = "max_output_tokens"

// API is OpenAI's Responses. The base URL goes up to, but does not include, /responses;
// Azure's ends in /openai/v1.
func API() wire.API {
	return wire.API{
		Name: Name, Server: "https://api.openai.com/v1", Title: "OpenAI's Responses", Variables: "OPENAI", Official: wire.OfOpenAI, ObjectsOnly: true, MinOutputTokens: 16,
		// Some of these would make the server keep the conversation.
		Reserved: []string{"background", "context_management", "conversation", "input", "instructions", "model", "previous_response_id", "stream", "tools"},
		Options:  checkOptions, CheckFormat: checkFormat, Schema: output.Merged,
		Prepare: func(a *wire.Attempt, call inference.Call) (wire.Request, wire.Decoder, error) {
			body, err := encode(call, a.Bound)
			request := wire.Request{Path: "responses", Header: a.KeyIn("Authorization", "Bearer "), Body: body}
			return request, &assembly{Attempt: a, summary: map[wire.Count]wire.Count{}, open: map[wire.Count]wire.Text{}, argued: map[wire.Count]bool{}}, err
		},
	}
}

// options are those of a model that stand beside what is ours, and the rest.
type options struct {
	include []responses.ResponseIncludable
	text    map[string]any
	rest    domain.Metadata
}

// readOptions says what is wrong with the options of a model, or reads them. One that is null leaves its field out.
func readOptions(given domain.Metadata) (o options, err error) {
	o.rest = maps.Clone(given)
	take := func(key string, into any, right string) {
		if value, ok := given[key]; ok && !wire.IsNull(value) {
			delete(o.rest, key)
			if json.Unmarshal(value, into) != nil {
				err = domain.Errorf(domain.Invalid, "options: %s is not %s", key, right)
			}
		}
	}
	take("text", &o.text, `an object; write it like {"verbosity": "low"}`)
	take("include", &o.include, "a list; give a list of names, or null to ask for nothing")
	return o, err
}

// checkOptions says what is wrong with a model's options, or returns the bound of the answer
// they give.
func checkOptions(given domain.Metadata) (bound int64, err error) {
	if _, err := readOptions(given); err != nil {
		return 0, err
	}
	return wire.Bound(given, maxOutputTokens, "")
}

// checkFormat says why a format is not taken. A schema outside of strict mode is sent without it.
func checkFormat(config domain.LLMConfig, _ domain.ResponseFormat, _ bool) error {
	if given, _ := readOptions(config.Options); given.text["format"] != nil {
		return domain.Errorf(domain.Invalid, "options: text.format is given beside the definition's response_format; leave one out")
	}
	return nil
}

// reasons reports whether a model thinks before it answers, as all newer ones do. The others
// refuse both to be asked for encrypted reasoning and to be given some.
func reasons(model string) bool {
	model = strings.ToLower(model)
	model = strings.TrimPrefix(model[strings.LastIndexByte(model, '/')+1:], "ft:")
	older := []string{"gpt-3.5", "gpt-35", "gpt-4", "chatgpt-", "gpt-5-chat"}
	return !slices.ContainsFunc(older, func(begins string) bool { return strings.HasPrefix(model, begins) })
}
