package output

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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
	t := &strictness{}
	if err := Parts(schema, t.look); err != nil {
		return err
	}
	bound := func(n, most int, what string) {
		if n > most {
			t.wrong(nil, "has %d %s, more than %d", n, what, most)
		}
	}
	bound(t.properties, strictProperties, "properties")
	bound(t.enums, strictEnums, "values in enum")
	bound(t.text, strictText, "characters in names and values")
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

func (t *strictness) look(p Part) {
	switch {
	case p.Fields == nil:
		t.wrong(p.at, "is not an object")
		return
	case p.IsRoot() && p.Fields["type"] != "object":
		t.wrong(p.at, "is not of type object")
	case p.IsRoot() && p.Has("anyOf"):
		t.wrong(p.at.step("anyOf"), "is at the root")
	case p.Has("$ref") && len(p.Fields) > 1:
		t.wrong(p.at, "has more than $ref")
	case p.Level >= strictLevels:
		t.wrong(p.at, "is nested deeper than %d levels", strictLevels)
	case p.Takes("array") && !p.Has("items"):
		t.wrong(p.at, "has no items")
	}
	for _, word := range sortedKeys(p.Fields) {
		t.keyword(word, p.Fields[word], p.at.step(word))
	}
	switch optional := p.Optional(); {
	case !p.Has("type", "anyOf", "$ref", "enum", "const"):
		t.wrong(p.at, "has no type")
	case !p.Takes("object") && !p.Has("properties"):
	case p.Fields["additionalProperties"] != false:
		t.wrong(p.at, "does not have additionalProperties false")
	case !p.Has("properties"):
		t.wrong(p.at, "has no properties")
	case len(optional) > 0:
		t.wrong(p.at, "does not require %s", quoted(optional[0]))
	}
}

func (t *strictness) keyword(word string, v any, at place) {
	members := asMap(v)
	list := asList(v)
	switch word {
	case "properties":
		t.properties += len(members)
		fallthrough
	case "$defs", "definitions":
		for name := range members {
			t.count(name)
		}
	case "anyOf":
		// The API has refused alternatives whose first properties have the same name.
		objects := slices.DeleteFunc(slices.Clone(list), func(choice any) bool {
			fields := asMap(choice)
			return fields["$ref"] == nil && !Part{Fields: fields}.Takes("object")
		})
		if len(objects) > 1 {
			t.wrong(at, "has more than one object")
		}
	case "enum":
		before := t.text
		for _, item := range list {
			t.count(item)
		}
		if t.enums += len(list); len(list) > strictLong && t.text-before > strictLongText {
			t.wrong(at, "has more than %d values with %d characters", strictLong, strictLongText)
		}
	case "const":
		t.count(v)
	case "format":
		if !isAmong(fmt.Sprint(v), "date-time time date duration email hostname ipv4 ipv6 uuid") {
			t.wrong(at, "is %s", brief(v))
		}
	default:
		if !isAmong(word, "additionalProperties type required title description $ref $schema pattern items multipleOf minimum maximum "+
			"exclusiveMinimum exclusiveMaximum minItems maxItems") {
			t.wrong(at, "is no keyword of strict mode")
		}
	}
}

func (t *strictness) count(v any) {
	if text, ok := v.(string); ok {
		t.text += utf8.RuneCountInString(text)
	}
}

// A Part is a schema in a schema, for whoever asks whether an API takes it.
type Part struct {
	// Fields are its keywords. Nil: it is no object.
	Fields map[string]any
	// Level counts the properties and items around it, up to the root or a definition.
	Level int
	// Definition is the name of the one that it is in. Empty: it is in none.
	Definition string

	at place
}

// Parts shows a schema, and each one in it that a value may have to fit: the outer ones first.
// Its error is of a text that is no schema.
func Parts(schema json.RawMessage, show func(Part)) error {
	root, err := parse(schema, maxSchemaDepth)
	if err == nil {
		Part{}.visit(root, show)
	}
	return err
}

func (p Part) visit(v any, show func(Part)) {
	p.Fields, _ = v.(map[string]any)
	show(p)
	for _, word := range sortedKeys(p.Fields) {
		value, inner := p.Fields[word], p.step(word)
		switch word {
		case "items":
			inner.Level++
			inner.visit(value, show)
		case "anyOf", "allOf":
			for i, choice := range asList(value) {
				inner.step(strconv.Itoa(i)).visit(choice, show)
			}
		case "properties", "$defs", "definitions":
			members := asMap(value)
			for _, name := range sortedKeys(members) {
				member := inner.step(name)
				if member.Level++; word != "properties" {
					member.Level, member.Definition = 0, name
				}
				member.visit(members[name], show)
			}
		}
	}
}

func (p Part) step(key string) Part {
	p.at = p.at.step(key)
	return p
}

// IsRoot reports whether it is the whole schema.
func (p Part) IsRoot() bool { return len(p.at) == 0 }

// Has reports whether it has one of some keywords.
func (p Part) Has(words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		_, has := p.Fields[word]
		return has
	})
}

// Takes reports whether it takes values of a type.
func (p Part) Takes(kind string) bool {
	return p.Fields["type"] == any(kind) || slices.Contains(asList(p.Fields["type"]), any(kind))
}

// Optional names the properties that are not required, sorted.
func (p Part) Optional() []string {
	required := asList(p.Fields["required"])
	return slices.DeleteFunc(sortedKeys(asMap(p.Fields["properties"])), func(name string) bool { return slices.Contains(required, any(name)) })
}
