package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A value is a JSON value that was read strictly.
type value struct {
	// plain is the value as the library takes it: nil, bool, float64, string,
	// []any or map[string]any.
	plain any
	// size is about how many bytes it takes to print.
	size   int
	list   []*value
	keys   []string
	fields map[string]*value
}

// A syntaxError says why a text is no JSON value, and where.
type syntaxError struct {
	at   *place
	what string
	// unreadable says that the text is no JSON at all.
	unreadable bool
}

func (e *syntaxError) Error() string {
	if e.at == nil {
		return e.what
	}
	return fmt.Sprintf("at %s: %s", e.at, e.what)
}

// parse reads a text that is exactly one JSON value of at most depth levels.
// Beyond what the standard library refuses, it refuses a key that is there
// twice and a number that cannot be held.
func parse(text []byte, depth int) (*value, error) {
	if !utf8.Valid(text) {
		return nil, &syntaxError{what: "is not valid UTF-8"}
	}
	var raw json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, &syntaxError{what: malformed(text, err), unreadable: true}
	}
	r := &reader{decoder: json.NewDecoder(bytes.NewReader(text)), depth: depth}
	r.decoder.UseNumber()
	return r.value(nil, 0)
}

// malformed says what is wrong with a text that is no JSON, and in which line.
func malformed(text []byte, err error) string {
	what := err.Error()
	e, ok := errors.AsType[*json.SyntaxError](err)
	if !ok || e.Offset <= 0 || e.Offset > int64(len(text)) {
		return "is not JSON: " + what
	}
	before := text[:e.Offset-1]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("is not JSON: %s (line %d, column %d)", what, line, column)
}

// A reader builds a value from a text that is known to be JSON.
type reader struct {
	decoder *json.Decoder
	depth   int
}

func (r *reader) value(at *place, level int) (*value, error) {
	token, err := r.decoder.Token()
	if err != nil {
		return nil, &syntaxError{at: at, what: err.Error()}
	}
	switch t := token.(type) {
	case json.Delim:
		if level >= r.depth {
			return nil, &syntaxError{at: at, what: fmt.Sprintf("is nested deeper than %d levels", r.depth)}
		}
		if t == '[' {
			return r.array(at, level+1)
		}
		return r.object(at, level+1)
	case json.Number:
		number, err := strconv.ParseFloat(t.String(), 64)
		if err != nil {
			return nil, &syntaxError{at: at, what: "has a number that is too large"}
		}
		return &value{plain: number, size: 24}, nil
	case string:
		return &value{plain: t, size: len(t) + 2}, nil
	default: // true, false, null
		return &value{plain: t, size: 5}, nil
	}
}

func (r *reader) array(at *place, level int) (*value, error) {
	v, plain := &value{size: 2}, []any{}
	for r.decoder.More() {
		item, err := r.value(at.item(len(plain)), level)
		if err != nil {
			return nil, err
		}
		v.list, plain, v.size = append(v.list, item), append(plain, item.plain), v.size+item.size+1
	}
	v.plain = plain
	return v, r.end(at)
}

func (r *reader) object(at *place, level int) (*value, error) {
	v, plain := &value{size: 5, fields: map[string]*value{}}, map[string]any{}
	for r.decoder.More() {
		token, err := r.decoder.Token()
		if err != nil {
			return nil, &syntaxError{at: at, what: err.Error()}
		}
		key, _ := token.(string)
		if _, twice := plain[key]; twice {
			return nil, &syntaxError{at: at.key(key), what: "the key is there twice"}
		}
		item, err := r.value(at.key(key), level)
		if err != nil {
			return nil, err
		}
		v.keys = append(v.keys, key)
		v.fields[key], plain[key], v.size = item, item.plain, v.size+len(key)+item.size+2
	}
	v.plain = plain
	return v, r.end(at)
}

// end takes the bracket that closes an array or an object.
func (r *reader) end(at *place) error {
	if _, err := r.decoder.Token(); err != nil {
		return &syntaxError{at: at, what: err.Error()}
	}
	return nil
}

// composite reports whether the value is an array or an object.
func (v *value) composite() bool {
	_, array := v.plain.([]any)
	return array || v.fields != nil
}

// kind is the JSON Schema type. A whole number is an integer however it is
// written.
func (v *value) kind() string {
	switch p := v.plain.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if whole(p) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}
