package openai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// ours are the fields that options may not set: they are what the loop decides,
// or would make the server keep the conversation.
var ours = []string{"background", "context_management", "conversation", "input", "instructions", "model", "previous_response_id", "stream", "tools"}

// maxOutputTokens is the option that bounds the answer.
const maxOutputTokens = "max_output_tokens"

// checkOptions says what is wrong with the options of a model.
func (p *Provider) checkOptions(options domain.Metadata) error {
	if err := p.wire.CheckOptions(options, ours...); err != nil {
		return err
	}
	if _, err := tokenBound(options); err != nil {
		return err
	}
	var include []string
	var text map[string]json.RawMessage
	if json.Unmarshal(given(options, "include"), &include) != nil {
		return domain.Errorf(domain.Invalid, "options: include is not a list; give a list of names, or null to ask for nothing").From(Name)
	}
	if json.Unmarshal(given(options, "text"), &text) != nil {
		return domain.Errorf(domain.Invalid, "options: text is not an object; write it like {\"verbosity\": \"low\"}").From(Name)
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

// bound is the most tokens that the answer may have: the least that anybody
// says. Zero is no bound.
func bound(call inference.Call) int64 {
	least, _ := tokenBound(call.Config.Options)
	for _, b := range []int64{call.MaxOutputTokens, call.Config.MaxOutputTokens} {
		if b > 0 && (least == 0 || b < least) {
			least = b
		}
	}
	return least
}

// tokenBound reads the bound of the answer out of the options. Zero: none.
func tokenBound(options domain.Metadata) (int64, error) {
	value := given(options, maxOutputTokens)
	if wire.IsNull(value) {
		return 0, nil
	}
	number, err := strconv.ParseInt(strings.TrimSpace(string(value)), 10, 64)
	if err != nil || number <= 0 {
		return 0, domain.Errorf(domain.Invalid, "options: %s is not a positive whole number", maxOutputTokens).From(Name)
	}
	return number, nil
}
