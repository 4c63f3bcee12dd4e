package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The limits are those of OpenAI's guide "Structured model outputs", section
// "Supported schemas", as of February 2026.
const (
	strictLevels     = 10
	strictProperties = 5_000
	strictEnums      = 1_000
	// strictText bounds the characters of all names and values together.
	strictText = 120_000
	// A list of more than strictLong values is bounded in characters too.
	strictLong     = 250
	strictLongText = 15_000
)

// Strict says why a schema that Compile takes is outside of the subset that
// OpenAI's strict mode takes; nil where it is inside. It errs on the side of
// outside: a request with a schema that the API refuses fails, one that is not
// strict is only checked later.
func Strict(schema json.RawMessage) error {
	root, err := parse(schema, maxSchemaDepth)
	if err != nil {
		return err
	}
	if fields, _ := root.(map[string]any); fields["type"] != "object" {
		return errors.New("at the root: is not of type object")
	}
	t := &strictness{}
	t.schema(root, nil, 1)
	for _, limit := range []struct {
		what    string
		n, most int
	}{{"properties", t.properties, strictProperties}, {"values in enum", t.enums, strictEnums}, {"characters in names and values", t.text, strictText}} {
		if limit.n > limit.most {
			t.wrong(nil, "has %d %s, more than %d", limit.n, limit.what, limit.most)
		}
	}
	return t.err
}

// strictness adds up what strict mode bounds, and keeps the first reason against it.
type strictness struct {
	err                     error
	properties, enums, text int
}

func (t *strictness) wrong(at place, format string, args ...any) {
	if t.err == nil {
		t.err = mistake(at, format, args...)
	}
}

func (t *strictness) schema(v any, at place, level int) {
	s, ok := v.(map[string]any)
	has := func(word string) bool {
		_, there := s[word]
		return there
	}
	switch {
	case !ok:
		t.wrong(at, "is not an object")
	case has("$ref") && len(s) > 1 && (len(at) > 0 || !has("$defs")):
		t.wrong(at, "has more than $ref")
	case level > strictLevels:
		t.wrong(at, "is nested deeper than %d levels", strictLevels)
	}
	for _, word := range slices.Sorted(maps.Keys(s)) {
		t.keyword(word, s[word], at.step(word), level)
	}
	if !slices.ContainsFunc([]string{"type", "anyOf", "$ref", "enum", "const"}, has) {
		t.wrong(at, "has no type")
	}
	if takes(s, "array") && !has("items") {
		t.wrong(at, "has no items")
	}
	if takes(s, "object") || has("properties") {
		t.object(s, at)
	}
}

// takes reports whether a schema takes values of a type.
func takes(schema map[string]any, kind string) bool {
	list, _ := schema["type"].([]any)
	return schema["type"] == any(kind) || slices.Contains(list, any(kind))
}

// object checks that an object is closed and all its properties are required.
func (t *strictness) object(s map[string]any, at place) {
	if s["additionalProperties"] != false {
		t.wrong(at, "does not have additionalProperties false")
	}
	properties, ok := s["properties"].(map[string]any)
	if !ok {
		t.wrong(at, "has no properties")
	}
	required := map[any]bool{}
	list, _ := s["required"].([]any)
	for _, name := range list {
		required[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !required[name] {
			t.wrong(at, "does not require %s", quoted(name))
		}
	}
	t.properties += len(properties)
}

func (t *strictness) keyword(word string, v any, at place, level int) {
	switch word {
	case "properties":
		t.members(v, at, level+1)
	case "$defs", "definitions":
		t.members(v, at, 1)
	case "items":
		t.schema(v, at, level+1)
	case "anyOf":
		t.anyOf(v, at, level)
	case "enum":
		t.enum(v, at)
	case "const":
		t.count(v)
	case "format":
		if !slices.Contains(strings.Fields("date-time time date duration email hostname ipv4 ipv6 uuid"), fmt.Sprint(v)) {
			t.wrong(at, "is %s", brief(v))
		}
	case "additionalProperties", "type", "required", "title", "description", "$ref", "$schema", "pattern",
		"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems":
	default:
		t.wrong(at, "is no keyword of strict mode")
	}
}

func (t *strictness) members(v any, at place, level int) {
	members, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		t.text += utf8.RuneCountInString(name)
		t.schema(members[name], at.step(name), level)
	}
}

// anyOf takes at most one object: the API has refused alternatives whose first
// properties have the same name.
func (t *strictness) anyOf(v any, at place, level int) {
	if len(at) == 1 {
		t.wrong(at, "is at the root")
	}
	objects := 0
	list, _ := v.([]any)
	for i, choice := range list {
		t.schema(choice, at.step(strconv.Itoa(i)), level)
		if s, _ := choice.(map[string]any); s["$ref"] != nil || takes(s, "object") {
			objects++
		}
	}
	if objects > 1 {
		t.wrong(at, "has more than one object")
	}
}

func (t *strictness) enum(v any, at place) {
	before := t.text
	list, _ := v.([]any)
	for _, item := range list {
		t.count(item)
	}
	if t.enums += len(list); len(list) > strictLong && t.text-before > strictLongText {
		t.wrong(at, "has more than %d values with %d characters", strictLong, strictLongText)
	}
}

func (t *strictness) count(v any) {
	if text, ok := v.(string); ok {
		t.text += utf8.RuneCountInString(text)
	}
}
