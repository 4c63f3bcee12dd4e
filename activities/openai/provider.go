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
		Objects:  []string{"text"},
		Bounds:   []string{maxOutputTokens},
		Formats:  []string{"text.format"},
		Options: func(given domain.Metadata) error {
			_, err := readOptions(given)
			return err
		},
		Schema: output.Merged,
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

// readOptions says what is wrong with the options of a model, or reads them.
func readOptions(given domain.Metadata) (o options, err error) {
	_ = json.Unmarshal(given["text"], &o.text) // it was checked, or is none
	if value := given["include"]; value != nil && json.Unmarshal(value, &o.include) != nil {
		err = domain.Errorf(domain.Invalid, "options: include is not a list; give a list of names, or null to ask for nothing")
	}
	o.rest = maps.Clone(given)
	delete(o.rest, maxOutputTokens) // it is in the bound
	for _, key := range []string{"text", "include"} {
		if !wire.IsNull(given[key]) {
			delete(o.rest, key)
		}
	}
	return o, err
}

// reasons reports whether a model thinks before it answers, as all newer ones do. The others
// refuse both to be asked for encrypted reasoning and to be given some.
func reasons(model string) bool {
	model = strings.ToLower(model)
	model = strings.TrimPrefix(model[strings.LastIndexByte(model, '/')+1:], "ft:")
	older := []string{"gpt-3.5", "gpt-35", "gpt-4", "chatgpt-", "gpt-5-chat"}
	return !slices.ContainsFunc(older, func(begins string) bool { return strings.HasPrefix(model, begins) })
}
