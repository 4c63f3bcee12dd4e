package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// Name is the provider's name in a model's full name, as in openai/gpt-5.
const Name = "openai"

// New checks the configuration and returns the provider. It makes no request.
// The base URL goes up to, but does not include, /responses; Azure's ends in
// /openai/v1.
func New(config wire.Config) (*wire.Client, error) { return wire.New(API(), config) }

// maxOutputTokens is the option that bounds the answer.
const maxOutputTokens = "max_output_tokens"

// API is OpenAI's Responses.
func API() wire.API {
	return wire.API{
		Name: Name, Server: "https://api.openai.com/v1", Variables: "OPENAI", Official: wire.OfOpenAI, ObjectsOnly: true, MinOutputTokens: 16,
		// Azure's own name for it stands beside the one it passes on.
		RequestIDs: []string{"X-Request-Id", "Apim-Request-Id"},
		// Some of these would make the server keep the conversation.
		Reserved: []string{"background", "context_management", "conversation", "input", "instructions", "model", "previous_response_id", "stream", "tools"},
		Options:  checkOptions, CheckFormat: checkFormat,
		Prepare: func(a *wire.Attempt, call inference.Call) (wire.Request, wire.Decoder, error) {
			body, err := encode(call, a.Bound)
			return wire.Request{Path: "responses", Header: a.KeyIn("Authorization", "Bearer "), Body: body}, &assembly{Attempt: a}, err
		},
	}
}

// checkOptions says what is wrong with options of which a part is ours, or returns
// the bound of the answer that they give.
func checkOptions(options domain.Metadata) (bound int64, err error) {
	var include []string
	var text map[string]json.RawMessage
	if json.Unmarshal(given(options, "include"), &include) != nil {
		return 0, domain.Errorf(domain.Invalid, "options: include is not a list; give a list of names, or null to ask for nothing")
	}
	if json.Unmarshal(given(options, "text"), &text) != nil {
		return 0, domain.Errorf(domain.Invalid, "options: text is not an object; write it like {\"verbosity\": \"low\"}")
	}
	return wire.Bound(options, maxOutputTokens, "")
}

// checkFormat says why the API does not take a format. A schema outside of the
// subset of strict mode is sent without it.
func checkFormat(config domain.LLMConfig, _ domain.ResponseFormat, _ bool) error {
	var text struct {
		Format json.RawMessage `json:"format"`
	}
	if json.Unmarshal(given(config.Options, "text"), &text) == nil && len(text.Format) > 0 {
		return domain.Errorf(domain.Invalid, "options: text.format is given beside the definition's response_format; leave one out")
	}
	return nil
}

// given is an option, null where there is none.
func given(options domain.Metadata, key string) json.RawMessage {
	if value, ok := options[key]; ok {
		return value
	}
	return json.RawMessage("null")
}

// addOptions adds the options as they are, a null one by leaving the field
// out. Of include and text, what is ours stays beside what is given. They were
// checked.
func addOptions(fields map[string]json.RawMessage, options domain.Metadata) error {
	for key, value := range options {
		var err error
		switch {
		case key == maxOutputTokens:
			// It is in the bound already.
		case wire.IsNull(value):
			delete(fields, key)
		case key == "include":
			fields[key], err = union(fields[key], value)
		case key == "text":
			fields[key], err = merged(value, fields[key])
		default:
			fields[key] = value
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// union is what two lists hold.
func union(ours, given json.RawMessage) (json.RawMessage, error) {
	var all []string
	for _, list := range []json.RawMessage{ours, given} {
		var names []string
		if len(list) == 0 {
			continue
		}
		if err := json.Unmarshal(list, &names); err != nil {
			return nil, err
		}
		for _, name := range names {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return json.Marshal(all)
}

// merged is an object with the fields of another, which win.
func merged(given, ours json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	for _, object := range []json.RawMessage{given, ours} {
		if len(object) == 0 {
			continue
		}
		if err := json.Unmarshal(object, &fields); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

// reasons reports whether a model thinks before it answers. The others refuse
// both to be asked for encrypted reasoning and to be given some. All that are
// not known to be of an older kind do.
func reasons(model string) bool {
	model = strings.ToLower(model)
	model = strings.TrimPrefix(model[strings.LastIndexByte(model, '/')+1:], "ft:")
	for _, older := range []string{"gpt-3.5", "gpt-35", "gpt-4", "chatgpt-", "gpt-5-chat"} {
		if strings.HasPrefix(model, older) {
			return false
		}
	}
	return true
}
