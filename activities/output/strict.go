package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

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
	if kind, _ := root.fields["type"]; kind == nil || kind.plain != "object" {
		return errors.New("at the root: is not of type object")
	}
	t := &strictness{}
	if err := t.schema(root, nil, 1); err != nil {
		return err
	}
	for _, limit := range []struct {
		what    string
		n, most int
	}{{"properties", t.properties, strictProperties}, {"values in enum", t.enums, strictEnums}, {"characters in names and values", t.text, strictText}} {
		if limit.n > limit.most {
			return fmt.Errorf("has %d %s, more than %d", limit.n, limit.what, limit.most)
		}
	}
	return nil
}

// strictness adds up what strict mode bounds.
type strictness struct{ properties, enums, text int }

func (t *strictness) schema(v *value, at *place, level int) error {
	switch {
	case v.fields == nil:
		return mistake(at, "is not an object")
	case v.fields["$ref"] != nil && len(v.keys) > 1:
		if at != nil || v.fields["$defs"] == nil {
			return mistake(at, "has more than $ref")
		}
	case level > strictLevels:
		return mistake(at, "is nested deeper than %d levels", strictLevels)
	}
	for _, word := range v.keys {
		if err := t.keyword(word, v.fields[word], at.key(word), level); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc([]string{"type", "anyOf", "$ref", "enum", "const"}, func(word string) bool { return v.fields[word] != nil }) {
		return mistake(at, "has no type")
	}
	if has(v, "array") && v.fields["items"] == nil {
		return mistake(at, "has no items")
	}
	if has(v, "object") || v.fields["properties"] != nil {
		return t.object(v, at)
	}
	return nil
}

// has reports whether a schema takes values of a type.
func has(v *value, kind string) bool {
	types := v.fields["type"]
	return types != nil && (types.plain == kind || slices.ContainsFunc(types.list, func(t *value) bool { return t.plain == kind }))
}

// object checks that an object is closed and all its properties are required.
func (t *strictness) object(v *value, at *place) error {
	if extra := v.fields["additionalProperties"]; extra == nil || extra.plain != false {
		return mistake(at, "does not have additionalProperties false")
	}
	required := map[any]bool{}
	if list := v.fields["required"]; list != nil {
		for _, name := range list.list {
			required[name.plain] = true
		}
	}
	properties := v.fields["properties"]
	if properties == nil {
		return mistake(at, "has no properties")
	}
	for _, name := range properties.keys {
		if !required[name] {
			return mistake(at, "does not require %s", quoted(name))
		}
	}
	t.properties += len(properties.keys)
	return nil
}

func (t *strictness) keyword(word string, v *value, at *place, level int) error {
	switch word {
	case "properties":
		return t.members(v, at, level+1)
	case "$defs", "definitions":
		return t.members(v, at, 1)
	case "items":
		return t.schema(v, at, level+1)
	case "anyOf":
		return t.anyOf(v, at, level)
	case "enum":
		return t.enum(v, at)
	case "const":
		t.count(v)
	case "format":
		if !slices.Contains(strings.Fields("date-time time date duration email hostname ipv4 ipv6 uuid"), fmt.Sprint(v.plain)) {
			return mistake(at, "is %s", brief(v.plain))
		}
	case "additionalProperties", "type", "required", "title", "description", "$ref", "$schema", "pattern",
		"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems":
	default:
		return mistake(at, "is no keyword of strict mode")
	}
	return nil
}

func (t *strictness) members(v *value, at *place, level int) error {
	for _, name := range v.keys {
		t.text += utf8.RuneCountInString(name)
		if err := t.schema(v.fields[name], at.key(name), level); err != nil {
			return err
		}
	}
	return nil
}

// anyOf takes at most one object: the API has refused alternatives whose first
// properties have the same name.
func (t *strictness) anyOf(v *value, at *place, level int) error {
	if at.above == nil {
		return mistake(at, "is at the root")
	}
	objects := 0
	for i, choice := range v.list {
		if choice.fields["$ref"] != nil || has(choice, "object") {
			objects++
		}
		if err := t.schema(choice, at.item(i), level); err != nil {
			return err
		}
	}
	if objects > 1 {
		return mistake(at, "has more than one object")
	}
	return nil
}

func (t *strictness) enum(v *value, at *place) error {
	before := t.text
	for _, item := range v.list {
		t.count(item)
	}
	if t.enums += len(v.list); len(v.list) > strictLong && t.text-before > strictLongText {
		return mistake(at, "has more than %d values with %d characters", strictLong, strictLongText)
	}
	return nil
}

func (t *strictness) count(v *value) {
	if text, ok := v.plain.(string); ok {
		t.text += utf8.RuneCountInString(text)
	}
}
