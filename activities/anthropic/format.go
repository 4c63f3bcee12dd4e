package anthropic

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"everstep/activities/inference/wire"
	"everstep/activities/output"
	"everstep/domain"
)

// checkFormat says why the API does not take a format: it takes schemas, with its newer models.
func checkFormat(config domain.LLMConfig, format domain.ResponseFormat, _ bool) error {
	switch format.Type {
	case domain.FormatText, "":
		return nil
	case domain.FormatJSON:
		return domain.Invalidf("response_format.type: this API has no %s of its own; give a schema, or mode %s or %s",
			domain.FormatJSON, domain.OutputTool, domain.OutputInstruction)
	case domain.FormatSchema:
	}
	if !structured(config.Model) {
		return domain.Invalidf("response_format.mode: model %s is not known to take response formats; use a newer one, or give mode %s or %s",
			domain.Shorten(config.Model, 64), domain.OutputTool, domain.OutputInstruction)
	}
	if err := subset(format.Schema); err != nil {
		return domain.Invalidf("response_format.schema: the API does not take it: %s; change that, or give mode %s or %s",
			err, domain.OutputTool, domain.OutputInstruction)
	}
	return nil
}

// unstructured finds the names of the models that came before response formats.
var unstructured = regexp.MustCompile(`^claude-(?:[23]|instant|opus-4-(?:[01]|2025)|sonnet-4-(?:0|2025))`)

// structured reports whether a model takes schemas, which of other makers' is not known.
func structured(model string) bool {
	return strings.HasPrefix(model, "claude-") && !unstructured.MatchString(model)
}

// The limits of Anthropic's guide "Structured outputs", of 2026.
const (
	maxOptional = 24
	maxUnions   = 16
)

// subset says why a schema is outside of what the API takes; nil where it is inside. It errs
// on the side of outside: a request with a schema that the API refuses fails.
func subset(schema json.RawMessage) error {
	w := &walk{refers: map[string][]string{}}
	if err := output.Parts(schema, w.look); err != nil {
		return err
	}
	// What leads to nothing that leads on is taken away, until a circle is left.
	for before := -1; before != len(w.refers); {
		before = len(w.refers)
		maps.DeleteFunc(w.refers, func(_ string, to []string) bool {
			return !slices.ContainsFunc(to, func(name string) bool { return w.refers[name] != nil })
		})
	}
	delete(w.refers, "")
	for _, name := range slices.Sorted(maps.Keys(w.refers)) {
		w.wrong("definition %q refers to itself", name)
	}
	if w.optional > maxOptional {
		w.wrong("%d properties are not required, more than %d", w.optional, maxOptional)
	}
	if w.unions > maxUnions {
		w.wrong("%d places take several types, more than %d", w.unions, maxUnions)
	}
	return w.err
}

// walk adds up what is bounded, and keeps the first reason against a schema.
type walk struct {
	err              error
	optional, unions int
	// refers names the definitions that each refers to; "" is the root.
	refers map[string][]string
}

func (w *walk) wrong(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *walk) look(p output.Part) {
	switch {
	case p.Fields == nil:
		w.wrong("a part of it is not an object")
	case p.IsRoot() && !p.Takes("object"):
		w.wrong("it is not of type object at the root")
	case p.Has("$ref") && len(p.Fields) > 1:
		w.wrong("a $ref has something beside it")
	case !p.IsRoot() && p.Has("$schema", "$defs", "definitions"):
		w.wrong("a part of it has $schema or definitions that are not at the root")
	case p.Level > output.MaxNesting:
		w.wrong("it is nested too deep")
	}
	for _, key := range slices.Sorted(maps.Keys(p.Fields)) {
		w.keyword(key, p.Fields[key], p.Definition)
	}
	w.optional += len(p.Optional())
	switch {
	case !p.Has("type", "anyOf", "allOf", "$ref", "enum", "const"):
		w.wrong("a part of it has no type")
	case (p.Has("properties") || p.Takes("object")) && p.Fields["additionalProperties"] != false:
		w.wrong("an object does not have additionalProperties false")
	}
}

func (w *walk) keyword(key string, value any, in string) {
	text, isText := value.(string)
	list, isList := value.([]any)
	switch key {
	case "title", "description", "const", "required", "additionalProperties", "properties", "items", "$schema", "$defs", "definitions":
	case "type":
		if !isText {
			w.unions++
		}
	case "enum":
		if slices.ContainsFunc(list, func(v any) bool { return strings.Contains(fmt.Sprintf("%T", v), "[") }) {
			w.wrong("an enum may hold an object or a list")
		}
	case "format":
		if !wire.Names("date-time time date duration email hostname uri ipv4 ipv6 uuid")[text] {
			w.wrong("format %q is not known", text)
		}
	case "minItems":
		if value != 0.0 && value != 1.0 {
			w.wrong("minItems is neither 0 nor 1")
		}
	case "$ref":
		name := strings.TrimPrefix(strings.TrimPrefix(text, "#/$defs/"), "#/definitions/")
		if name == text || strings.Contains(name, "/") {
			w.wrong("a $ref leads elsewhere than to $defs")
		}
		w.refers[in] = append(w.refers[in], name)
	case "anyOf", "allOf":
		switch {
		case !isList:
			w.wrong("%s is not a list", key)
		case key == "anyOf":
			w.unions++
		case strings.Contains(fmt.Sprint(value), "$ref:"):
			w.wrong("allOf holds a $ref")
		}
	default:
		w.wrong("keyword %q is not supported", key)
	}
}
