package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"everstep/domain"
)

// parse checks the text of a call's arguments and returns it as one JSON
// object that fits the tool's schema.
func (t Tool) parse(arguments string) ([]byte, error) {
	if arguments == "" {
		arguments = "{}"
	}
	object := []byte(arguments)
	if err := checkObject(object); err != nil {
		return nil, malformed(err.Error())
	}
	var instance map[string]any
	if err := json.Unmarshal(object, &instance); err != nil {
		return nil, malformed(describe(err))
	}
	if err := t.schema.Validate(instance); err != nil {
		return nil, malformed(describeMisfit(err))
	}
	return object, nil
}

// decode reads an object that fits the schema of Args into Args.
func decode[Args any](object []byte) (Args, error) {
	var args Args
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&args); err != nil {
		return args, malformed(describe(err))
	}
	return args, nil
}

// maxArgumentsError bounds what the model is told: a validator may quote the
// value that does not fit, however long.
const maxArgumentsError = 1000

func malformed(text string) error {
	if len(text) > maxArgumentsError {
		text = strings.ToValidUTF8(text[:maxArgumentsError], "") + "…"
	}
	return domain.CodedErrorf(domain.Invalid, domain.CodeMalformed, "arguments: %s", text)
}

// checkObject reports whether the text is one JSON object and nothing else, in
// which no object has a key twice. The standard decoder lets the last of two
// equal keys win and mends text that is not UTF-8: then what was approved and
// what runs could differ.
func checkObject(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("the text is not valid UTF-8")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil {
		return errors.New(describe(err))
	}
	if first := bytes.TrimLeft(text, " \t\r\n"); first[0] != '{' {
		return fmt.Errorf("they must be one JSON object, not %s", jsonName(first[0]))
	}
	return checkKeys(json.NewDecoder(bytes.NewReader(text)))
}

// A level is one object or array around the current token.
type level struct {
	// keys is nil for an array.
	keys map[string]bool
	// value says that the next token of an object is a value.
	value bool
}

func checkKeys(tokens *json.Decoder) error {
	tokens.UseNumber()
	var levels []level
	for {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.New(describe(err))
		}
		if n := len(levels); n > 0 && levels[n-1].keys != nil {
			top := &levels[n-1]
			if key, ok := token.(string); ok && !top.value {
				if top.keys[key] {
					return fmt.Errorf("the key %q stands twice in one object", key)
				}
				top.keys[key], top.value = true, true
				continue
			}
			top.value = false
		}
		switch token {
		case json.Delim('{'):
			levels = append(levels, level{keys: map[string]bool{}})
		case json.Delim('['):
			levels = append(levels, level{})
		case json.Delim('}'), json.Delim(']'):
			levels = levels[:len(levels)-1]
		}
	}
}

// describe says in a model's terms what a decoder did not like.
func describe(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("not valid JSON: %s at byte %d", syntax, syntax.Offset)
	}
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := mismatch.Field
		if field == "" {
			field = "a value"
		}
		return fmt.Sprintf("%s: %s does not fit here (%s wanted)", field, mismatch.Value, mismatch.Type)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// describeMisfit says in a model's terms why arguments do not fit a schema. The
// validator wraps its finding once for each level, outermost first: only the
// innermost place is of use.
func describeMisfit(err error) string {
	place, finding := "", err.Error()
	for {
		rest, ok := strings.CutPrefix(finding, "validating ")
		if !ok {
			break
		}
		place, finding, _ = strings.Cut(rest, ": ")
	}
	if place == "root" || place == "" {
		return finding
	}
	return strings.ReplaceAll(strings.TrimPrefix(place, "/properties/"), "/properties/", "/") + ": " + finding
}

// jsonName names the kind of value that begins with a byte.
func jsonName(first byte) string {
	switch first {
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
