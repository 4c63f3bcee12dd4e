package openai

import (
	"encoding/json"
	"maps"
	"regexp"
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
		Name: Name, Server: "https://api.openai.com/v1", Title: "OpenAI's Responses", Variables: "OPENAI", OwnDomain: wire.AzuresDomain, ObjectsOnly: true, MinOutputTokens: 16,
		// Some of these would make the server keep the conversation.
		Reserved: strings.Fields("background context_management conversation input instructions model previous_response_id stream tools"),
		Objects:  []string{"text"},
		Bounds:   []string{maxOutputTokens},
		Formats:  []string{"text.format"},
		Options: func(given domain.Metadata) error {
			_, _, err := readOptions(given)
			return err
		},
		Schema: output.Merged,
		Prepare: func(a *wire.Attempt, call inference.Call) (wire.Request, wire.Decoder, error) {
			body, err := encode(call, a.Bound)
			request := wire.Request{Path: "responses", Header: a.KeyIn("Authorization", "Bearer "), Body: body}
			return request, &assembly{Attempt: a, summary: map[int]wire.Count{}, open: map[int]wire.Text{}, argued: map[int]bool{}}, err
		},
	}
}

// readOptions says what is wrong with the options of a model, or reads those that stand beside what is ours, and the rest.
func readOptions(given domain.Metadata) (include []responses.ResponseIncludable, rest domain.Metadata, err error) {
	if value := given["include"]; value != nil && json.Unmarshal(value, &include) != nil {
		err = domain.Invalidf("options: include is not a list; give a list of names, or null to ask for nothing")
	}
	rest = maps.Clone(given)
	delete(rest, maxOutputTokens) // it is in the bound
	if include != nil {
		delete(rest, "include")
	}
	return include, rest, err
}

// unreasoning finds the names of models that do not think before they answer, as all newer ones do. They
// refuse both to be asked for encrypted reasoning and to be given some.
var unreasoning = regexp.MustCompile(`(?i)^(?:.*/)?(?:ft:)?(?:gpt-3\.?5|gpt-4|chatgpt-|gpt-5-chat)[^/]*$`)
