package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"everstep/domain"
)

// parse checks the text of a call's arguments and returns it as one JSON
// object that fits the tool's schema, in which no object has a key twice. The
// standard decoder lets the last of two equal keys win and mends text that is
// not UTF-8: then what was approved and what runs could differ.
func (t Tool) parse(arguments string) ([]byte, error) {
	if arguments == "" {
		arguments = "{}"
	}
	if problems := t.schema.Problems("the text", arguments); problems != "" {
		return nil, malformed(problems)
	}
	return []byte(arguments), nil
}

// decode reads an object that fits the schema of Args into Args.
func decode[Args any](object []byte) (Args, error) {
	var args Args
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&args)
	if err == nil {
		return args, nil
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := mismatch.Field
		if field == "" {
			field = "a value"
		}
		text = fmt.Sprintf("%s: %s does not fit here (%s wanted)", field, mismatch.Value, mismatch.Type)
	}
	return args, malformed(domain.Shorten(text, maxDecodeError))
}

// maxDecodeError bounds what the model is told of a value that does not fit a Go
// type, however long the value is.
const maxDecodeError = 1000

func malformed(text string) error {
	return domain.CodedErrorf(domain.Invalid, domain.CodeMalformed, "arguments: %s", text)
}
