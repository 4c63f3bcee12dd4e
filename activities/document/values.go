package document

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"everstep/domain"
)

// A Key is a key of a mapping.
type Key struct {
	Name string
	// Doc says what it is for, to people.
	Doc   string
	Value Value
	// Needed says why the key has to be there, where it has to.
	Needed string
}

// Keys are all that a mapping may have, in the order in which people are told.
type Keys []Key

// Schema is the JSON Schema of a mapping with these keys.
func (k Keys) Schema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for _, key := range k {
		property := *cmp.Or(key.Value.Schema, &jsonschema.Schema{})
		property.Description = key.Doc
		s.Properties[key.Name] = &property
		s.PropertyOrder = append(s.PropertyOrder, key.Name)
		if key.Needed != "" {
			s.Required = append(s.Required, key.Name)
		}
	}
	return s
}

// A Value reads what stands at a place of a file, never an alias or nothing, and
// says as JSON Schema what it takes, though Read may find more. Where nobody is shown
// the schema it may have none.
type Value struct {
	Schema *jsonschema.Schema
	Read   func(at Place)
	// Shown is what was held when the value was made, as a file would have it; nil: nothing that is worth a line.
	Shown any
}

// Shows returns the value with what is held, which is not shown where it is zero.
func (v Value) Shows(held any) Value {
	v.Shown = held
	return v.ShownIf(!reflect.ValueOf(held).IsZero())
}

// ShownIf returns the value, which is shown only where the condition holds.
func (v Value) ShownIf(holds bool) Value {
	if !holds {
		v.Shown = nil
	}
	return v
}

// Default returns the value with what holds, and is shown, where it is not given.
func (v Value) Default(value any) Value {
	v.Shown = cmp.Or(v.Shown, value)
	return v.Implied(value)
}

// Implied is Default for what is not worth showing.
func (v Value) Implied(value any) Value {
	s := *v.Schema
	s.Default, _ = json.Marshal(value) // a value of our own
	v.Schema = &s
	return v
}

// Example returns the value with what may stand there.
func (v Value) Example(values ...any) Value {
	s := *v.Schema
	s.Examples = values
	v.Schema = &s
	return v
}

// Not returns the value without one that is in its range.
func (v Value) Not(value any) Value {
	s := *v.Schema
	s.Not = &jsonschema.Schema{Const: &value}
	v.Schema = &s
	return v
}

// Then returns the value with what is read after it, if nothing was wrong with it.
func (v Value) Then(then func(at Place)) Value {
	read := v.Read
	v.Read = func(at Place) {
		before := len(at.Reader.Problems)
		if read(at); len(at.Reader.Problems) == before {
			then(at)
		}
	}
	return v
}

// Mapping is a mapping with these keys.
func Mapping(keys Keys) Value {
	return Value{Schema: keys.Schema(), Read: func(at Place) { at.Mapping(keys) }}.Shows(keys.Shown())
}

// MapOf is a mapping of any names to values. A check returns what is wrong with a name.
func MapOf(check func(name string) string, value func(name string) Value) Value {
	return Value{Schema: &jsonschema.Schema{Type: "object", AdditionalProperties: value("").Schema}, Read: func(at Place) {
		at.Entries(nil, func(name *yaml.Node, at Place) {
			if wrong := check(name.Value); wrong != "" {
				at.On(name).Problem("%s", wrong)
				return
			}
			value(name.Value).Read(at)
		})
	}}
}

// Either is a mapping that says all, and is shown, or something shorter.
func Either(short, mapping Value) Value {
	schema := &jsonschema.Schema{OneOf: []*jsonschema.Schema{short.Schema, mapping.Schema}}
	return Value{Schema: schema, Shown: mapping.Shown, Read: func(at Place) {
		if at.Node.Kind == yaml.MappingNode {
			mapping.Read(at)
			return
		}
		short.Read(at)
	}}
}

// ListOf is a list of values.
func ListOf[T any](into *[]T, item func(*T) Value) Value {
	var shown []any
	for i := range *into {
		shown = append(shown, item(&(*into)[i]).Shown)
	}
	return Value{Schema: &jsonschema.Schema{Type: "array", Items: item(new(T)).Schema}, Read: func(at Place) {
		at.Items(func(at Place) {
			var v T
			item(&v).Read(at)
			*into = append(*into, v)
		})
	}}.Shows(shown)
}

// Names is a list of names, or a text with commas, each once. Kind is what they
// are names of; a check returns what is wrong with one. The
// result is not nil, except where it cannot be read.
func Names(into *[]string, kind, pattern string, checks ...func(string) string) Value {
	one := strings.TrimSuffix(strings.TrimPrefix(pattern, "^"), "$")
	if pattern == "" {
		pattern, one = `\S`, `[^,\s][^,]*`
	}
	schema := &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "array", Items: &jsonschema.Schema{Type: "string", Pattern: pattern}, UniqueItems: true},
		{Type: "string", Pattern: `^\s*` + one + `\s*(,\s*` + one + `\s*)*$`},
	}}
	return Value{Schema: schema, Read: func(at Place) {
		names := []string{}
		take := func(at Place, name string) {
			wrong := ""
			for _, check := range checks {
				wrong = cmp.Or(wrong, check(name))
			}
			switch {
			case name == "":
				at.Problem("has a comma without a name beside it; leave it out")
			case wrong != "":
				at.Problem("%s", wrong)
			case slices.Contains(names, name):
				at.Problem("the %s %q is listed twice; keep one", kind, Shorten(name))
			default:
				names = append(names, name)
			}
		}
		if at.Node.Kind != yaml.ScalarNode {
			at.Items(func(at Place) {
				if name, ok := at.text(); ok {
					take(at, name)
				}
			})
		} else if text, ok := at.text(); ok {
			for name := range strings.SplitSeq(text, ",") {
				take(at, strings.TrimSpace(name))
			}
		}
		if at.Node.Kind != yaml.MappingNode {
			*into = names
		}
	}}.Shows(*into)
}

// TextThen is a text that is handed on; what comes back is wrong with it.
func TextThen(then func(string) string) Value {
	return Value{Schema: &jsonschema.Schema{Type: "string", Pattern: `\S`}, Read: func(at Place) {
		if text, ok := at.text(); ok {
			at.Wrong(then(text))
		}
	}}
}

// Text is a text. A check returns what is wrong with it.
func Text(into *string, checks ...func(string) string) Value {
	return TextThen(func(text string) (wrong string) {
		for _, check := range checks {
			wrong = cmp.Or(wrong, check(text))
		}
		if wrong == "" {
			*into = text
		}
		return wrong
	}).Shows(*into)
}

// Pattern returns a text with the pattern that its check has.
func (v Value) Pattern(pattern string) Value {
	s := *v.Schema
	s.Pattern = pattern
	v.Schema = &s
	return v
}

// Word is one of a few words.
func Word[E ~string](into *E, among []E) Value {
	s, names := &jsonschema.Schema{}, make([]string, len(among))
	for i, e := range among {
		s.Enum, names[i] = append(s.Enum, string(e)), string(e)
	}
	word := TextThen(func(text string) string {
		if !slices.Contains(names, text) {
			return fmt.Sprintf("%q is not known; %s", Shorten(text), Suggest(text, names))
		}
		*into = E(text)
		return ""
	}).Shows(*into)
	word.Schema = s
	return word
}

// OffOr is a mapping, or the word off, which some editors take for false. The hint names what the mapping has.
func OffOr(off bool, then func(), hint string, mapping Value) Value {
	either := Either(Value{Schema: &jsonschema.Schema{Enum: []any{"off", false}}, Read: func(at Place) {
		switch node := at.Node; {
		case node.Kind != yaml.ScalarNode:
			at.is(yaml.MappingNode)
		case node.Value == "off" && node.ShortTag() == tagText, node.Value == "false" && node.ShortTag() == tagBool:
			then()
		default:
			at.Problem("is %q; give off, or a mapping with %s", Shorten(node.Value), hint)
		}
	}}, mapping)
	if off {
		either.Shown = "off"
	}
	return either
}

// OrNone is a value, or the word none.
func OrNone(value Value, then func()) Value {
	schema := &jsonschema.Schema{OneOf: []*jsonschema.Schema{value.Schema, {Enum: []any{"none"}}}}
	return Value{Schema: schema, Shown: value.Shown, Read: func(at Place) {
		if at.Node.Kind == yaml.ScalarNode && at.Node.Value == "none" {
			then()
			return
		}
		value.Read(at)
	}}
}

func numeral(s *jsonschema.Schema, what string, read func(text string) (wrong string)) Value {
	return Value{Schema: s, Read: func(at Place) {
		node := at.Node
		tag := node.ShortTag()
		_, err := strconv.ParseFloat(node.Value, 64)
		switch {
		case node.Kind != yaml.ScalarNode:
			at.Problem("is %s, not %s", Describe(node), what)
		case tag == tagInt, tag == tagFloat, at.Reader.Loose && err == nil:
			if wrong := read(node.Value); wrong != "" {
				at.Problem("is %s; give %s", Shorten(node.Value), wrong)
			}
		default:
			fix := ""
			if err == nil {
				fix = "; leave the quotes out"
			}
			at.Problem("%q is %s, not %s%s", Shorten(node.Value), Describe(node), what, fix)
		}
	}}
}

// Count is a whole number in a range.
func Count(least, most int64, then func(int64)) Value {
	s := &jsonschema.Schema{Type: "integer", Minimum: new(float64(least))}
	if most < math.MaxInt64 {
		s.Maximum = new(float64(most))
	}
	return numeral(s, "a whole number", func(text string) string {
		n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
		if err == nil && n >= least && n <= most {
			then(n)
			return ""
		}
		bound := "on"
		if most < math.MaxInt64 || errors.Is(err, strconv.ErrRange) {
			bound = fmt.Sprintf("to %d", most)
		}
		return fmt.Sprintf("a whole number from %d %s, in digits alone", least, bound)
	})
}

// Number is a number in a range.
func Number(most float64, then func(float64)) Value {
	s := &jsonschema.Schema{Type: "number", Minimum: new(0.0), Maximum: &most}
	return numeral(s, "a number", func(text string) string {
		n, err := strconv.ParseFloat(text, 64)
		if err == nil && n >= 0 && n <= most { // and no NaN
			then(n)
			return ""
		}
		return "a number from 0 to " + strconv.FormatFloat(most, 'f', -1, 64)
	})
}

// Truth is true or false.
func Truth(then func(bool)) Value {
	return Value{Schema: &jsonschema.Schema{Type: "boolean"}, Read: func(at Place) {
		node := at.Node
		truth, err := strconv.ParseBool(strings.ToLower(node.Value))
		if text := at.Reader.Loose && node.ShortTag() == tagText; node.Kind != yaml.ScalarNode || node.ShortTag() != tagBool && !text || err != nil {
			at.Problem("is %s; give true or false", Describe(node))
			return
		}
		then(truth)
	}}
}

// scalar is a scalar of a form of its own, of which read returns what is wrong.
func scalar(s *jsonschema.Schema, fix string, read func(r *Reader, text string) (wrong string)) Value {
	return Value{Schema: s, Read: func(at Place) {
		if at.Node.Kind != yaml.ScalarNode {
			at.Problem("is %s%s", Describe(at.Node), fix)
		} else if wrong := read(at.Reader, at.Node.Value); wrong != "" {
			at.Problem("is %q%s", Shorten(at.Node.Value), wrong)
		}
	}}
}

// Duration is a time such as 30s that is not zero; in loose files it may be, and be in seconds.
func Duration(then func(time.Duration)) Value {
	const fix = "; give a duration with its unit, such as 30s or 5m"
	s := &jsonschema.Schema{Type: "string", Pattern: `^\+?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`}
	return scalar(s, fix, func(r *Reader, text string) string {
		d, err := time.ParseDuration(text)
		if seconds, e := strconv.ParseFloat(text, 64); e == nil && r.Loose && seconds >= 0 && seconds < 1e9 {
			d, err = time.Duration(seconds*float64(time.Second)), nil
		}
		if err != nil || d < 0 || d == 0 && !r.Loose {
			return fix
		}
		then(d)
		return ""
	})
}

// Time is a time of the form of RFC 3339.
func Time(then func(time.Time)) Value {
	const fix = "; give a time with its zone, such as 2030-01-31T12:00:00Z"
	s := &jsonschema.Schema{Type: "string", Format: "date-time"}
	return scalar(s, fix, func(_ *Reader, text string) string {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return fix
		}
		then(t.UTC())
		return ""
	}).Example("2030-01-31T12:00:00Z")
}

// Dollars is a sum of money, exactly: 0.5, or the same in quotes. Read returns it in nano-dollars,
// and what is wrong with it.
func Dollars(unit string, read func(text string) (nano int64, wrong string), then func(int64)) Value {
	s := &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "number", Minimum: new(0.0)}, {Type: "string", Pattern: `^[0-9]+(\.[0-9]+)?$`}}}
	return scalar(s, "; give "+unit+" such as 0.5", func(_ *Reader, text string) string {
		nano, wrong := read(text)
		if wrong == "" {
			then(nano)
		}
		return wrong
	})
}

// USD reads a sum of dollars without a currency's sign.
func USD(text string) (nano int64, wrong string) {
	nano, err := domain.ParseUSD(text)
	switch {
	case strings.HasPrefix(text, "$"):
		return 0, "; give dollars from 0 on as a plain decimal such as 0.5"
	case err != nil:
		return 0, ", which " + err.Error()
	}
	return nano, ""
}
