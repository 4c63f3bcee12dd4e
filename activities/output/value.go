package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"everstep/domain"
)

const (
	// maxLines and maxLine bound what is said of one text: 2 KB.
	maxLines  = 10
	maxLine   = 200
	maxQuoted = 60
)

// An unreadable says why a text is no JSON at all.
type unreadable string

func (e unreadable) Error() string { return string(e) }

// parse reads a text that is exactly one JSON value of at most depth levels, as
// the library takes it: nil, bool, float64, string, []any or map[string]any.
// Beyond what the standard library refuses, it refuses a key that is there
// twice and a number that cannot be held.
func parse(text []byte, depth int) (any, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("is not valid UTF-8")
	}
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		what := "is not JSON: " + err.Error()
		if e, ok := errors.AsType[*json.SyntaxError](err); ok && 0 < e.Offset && e.Offset <= int64(len(text)) {
			before := text[:e.Offset-1]
			column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
			what += fmt.Sprintf(" (line %d, column %d)", bytes.Count(before, []byte("\n"))+1, column)
		}
		return nil, unreadable(what)
	}
	r := reader{decoder: json.NewDecoder(bytes.NewReader(text)), depth: depth}
	r.decoder.UseNumber()
	return r.value(nil)
}

// A reader builds a value from a text that is known to be JSON, so that there
// always is a token.
type reader struct {
	decoder *json.Decoder
	depth   int
}

func (r reader) token() json.Token {
	token, _ := r.decoder.Token()
	return token
}

func (r reader) value(at place) (any, error) {
	switch t := r.token().(type) {
	case json.Delim:
		if len(at) >= r.depth {
			return nil, mistake(at, "is nested deeper than %d levels", r.depth)
		}
		return r.parts(at, t == '[')
	case json.Number:
		number, err := t.Float64()
		if err != nil {
			return nil, mistake(at, "has a number that is too large")
		}
		return number, nil
	default: // a string, true, false, null
		return t, nil
	}
}

// parts are the items of a list, or the members of an object.
func (r reader) parts(at place, isList bool) (any, error) {
	items, members := []any{}, map[string]any{}
	for r.decoder.More() {
		key := strconv.Itoa(len(items))
		if !isList {
			key, _ = r.token().(string)
		}
		if _, twice := members[key]; twice {
			return nil, mistake(at.step(key), "the key is there twice")
		}
		part, err := r.value(append(at, key))
		switch {
		case err != nil:
			return nil, err
		case isList:
			items = append(items, part)
		default:
			members[key] = part
		}
	}
	if r.token(); isList {
		return items, nil
	}
	return members, nil
}

// kindOf is the JSON Schema type of a value. A whole number is an integer
// however it is written.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if math.Trunc(v) == v {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// A place is the way from a value's root to a part of it.
type place []string

// step is the place of a part of the value there.
func (p place) step(key string) place { return append(slices.Clip(p), key) }

// in is the value that lies there in another.
func (p place) in(v any) any {
	for _, step := range p {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[step]
		case []any:
			if i, err := strconv.Atoi(step); err == nil && i < len(parent) {
				v = parent[i]
			}
		}
	}
	return v
}

// String returns the JSON pointer, shortened for people and models to read.
func (p place) String() string {
	if len(p) == 0 {
		return "the root"
	}
	short := make(place, len(p))
	for i, step := range p {
		short[i] = shown(step)
	}
	return shown(short.pointer())
}

func (p place) pointer() string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, step := range p {
		b.WriteString("/" + escape.Replace(step))
	}
	return b.String()
}

func mistake(at place, format string, args ...any) error {
	return fmt.Errorf("at %s: %s", at, domain.Shorten(fmt.Sprintf(format, args...), 2*maxLine))
}

// shown is a text from elsewhere, on one line and bounded.
func shown(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, domain.Shorten(text, 2*maxQuoted+1))
	if len(text) > 2*maxQuoted {
		return domain.Shorten(text, 2*maxQuoted) + "…"
	}
	return text
}

// quoted is a name from elsewhere in quotes.
func quoted(text string) string {
	if len(text) > maxQuoted {
		text = domain.Shorten(text, maxQuoted) + "…"
	}
	return strconv.Quote(shown(text))
}

func brief(v any) string {
	switch v := v.(type) {
	case float64:
		return number(v)
	case string:
		return quoted(v)
	case bool, json.Number:
		return shown(fmt.Sprint(v))
	case []any, map[string]any:
		return "an " + kindOf(v)
	default:
		return kindOf(v)
	}
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func lines(all []string) string {
	if more := len(all) - maxLines; more > 0 {
		all = append(slices.Clip(all[:maxLines-1]), "and "+strconv.Itoa(more+1)+" more")
	}
	bounded := make([]string, len(all))
	for i, line := range all {
		if bounded[i] = line; len(line) > maxLine {
			bounded[i] = domain.Shorten(line, maxLine-len("…")) + "…"
		}
	}
	return strings.Join(bounded, "\n")
}
