package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// checkFormat says why the API does not take a format: it takes schemas, with its newer models.
func checkFormat(config domain.LLMConfig, format domain.ResponseFormat, _ bool) error {
	given, _ := readOptions(config.Options)
	if own, ok := given.output["format"]; ok && !wire.IsNull(own) {
		return domain.Errorf(domain.Invalid, "options: output_config has a format beside the definition's; leave one out")
	}
	switch format.Type {
	case domain.FormatText, "":
		return nil
	case domain.FormatJSON:
		return domain.Errorf(domain.Invalid, "response_format.type: this API has no %s of its own; give a schema, or mode %s or %s",
			domain.FormatJSON, domain.OutputTool, domain.OutputInstruction)
	case domain.FormatSchema:
	}
	if !structured(config.Model) {
		return domain.Errorf(domain.Invalid, "response_format.mode: model %s is not known to take response formats; use a newer one, or give mode %s or %s",
			domain.Shorten(config.Model, 64), domain.OutputTool, domain.OutputInstruction)
	}
	if err := subset(format.Schema); err != nil {
		return domain.Errorf(domain.Invalid, "response_format.schema: the API does not take it: %s; change that, or give mode %s or %s",
			err, domain.OutputTool, domain.OutputInstruction)
	}
	return nil
}

// unstructured begin the names of the models that came before response formats.
var unstructured = []string{
	"claude-2", "claude-3", "claude-instant", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-2025",
	"claude-sonnet-4-0", "claude-sonnet-4-2025",
}

// structured reports whether a model takes schemas, which of other makers' is not known.
func structured(model string) bool {
	return strings.HasPrefix(model, "claude-") &&
		!slices.ContainsFunc(unstructured, func(older string) bool { return strings.HasPrefix(model, older) })
}

// tellFormat puts the format, where it is told in the API's own way, beside the given
// output_config.
func (o *options) tellFormat(call inference.Call) error {
	output := maps.Clone(o.output)
	if call.OutputMode == domain.OutputNative && call.Format.Type == domain.FormatSchema {
		var schema map[string]json.RawMessage
		if json.Unmarshal(call.Format.Schema, &schema) != nil || schema == nil {
			return domain.Errorf(domain.Invalid, "response_format: has no schema that is an object; give one")
		}
		delete(schema, "$schema")
		format, err := json.Marshal(map[string]any{"type": "json_schema", "schema": schema})
		if err != nil {
			return err
		}
		if output == nil {
			output = map[string]json.RawMessage{}
		}
		output["format"] = format
	}
	if len(output) == 0 {
		return nil
	}
	encoded, err := json.Marshal(output)
	o.rest["output_config"] = encoded
	return err
}

// The limits of Anthropic's guide "Structured outputs", of 2026.
const (
	maxOptional = 24
	maxUnions   = 16
	// maxLevels bounds what is looked at, not what the API takes.
	maxLevels = 64
)

// subset says why a schema is outside of what the API takes; nil where it is inside. It errs
// on the side of outside: a request with a schema that the API refuses fails.
func subset(schema json.RawMessage) error {
	w := &walk{refers: map[string][]string{}}
	if err := w.schema(schema, "", 0); err != nil {
		return err
	}
	for name := range w.refers {
		if w.circular(name, map[string]bool{}) {
			return fmt.Errorf("definition %q refers to itself", name)
		}
	}
	if w.optional > maxOptional {
		return fmt.Errorf("%d properties are not required, more than %d", w.optional, maxOptional)
	}
	if w.unions > maxUnions {
		return fmt.Errorf("%d places take several types, more than %d", w.unions, maxUnions)
	}
	return nil
}

// walk adds up what is bounded.
type walk struct {
	optional, unions int
	// refers names the definitions that each refers to; "" is the root.
	refers map[string][]string
}

// circular reports whether a definition leads to one above it. Seen holds true for those above.
func (w *walk) circular(name string, seen map[string]bool) bool {
	if above, ok := seen[name]; ok {
		return above
	}
	seen[name] = true
	for _, next := range w.refers[name] {
		if w.circular(next, seen) {
			return true
		}
	}
	seen[name] = false
	return false
}

// schema looks at one, which is a part of a definition.
func (w *walk) schema(data json.RawMessage, in string, level int) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || fields == nil {
		return errors.New("a part of it is not an object")
	}
	switch {
	case level > maxLevels:
		return errors.New("it is nested too deep")
	case level == 0 && !types(fields["type"], "object"):
		return errors.New("it is not of type object at the root")
	case fields["$ref"] != nil && len(fields) > 1:
		return errors.New("a $ref has something beside it")
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if err := w.keyword(key, fields[key], in, level); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc([]string{"type", "anyOf", "allOf", "$ref", "enum", "const"}, func(key string) bool { return fields[key] != nil }) {
		return errors.New("a part of it has no type")
	}
	if fields["properties"] == nil && !types(fields["type"], "object") {
		return nil
	}
	if string(fields["additionalProperties"]) != "false" {
		return errors.New("an object does not have additionalProperties false")
	}
	var properties map[string]json.RawMessage
	var required []string
	_ = json.Unmarshal(fields["properties"], &properties)
	_ = json.Unmarshal(fields["required"], &required)
	for name := range properties {
		if !slices.Contains(required, name) {
			w.optional++
		}
	}
	return nil
}

// formats are those of texts that the API knows.
const formats = "date-time time date duration email hostname uri ipv4 ipv6 uuid"

func (w *walk) keyword(key string, value json.RawMessage, in string, level int) error {
	var text string
	_ = json.Unmarshal(value, &text)
	switch key {
	case "title", "description", "const", "required", "additionalProperties":
	case "type":
		if text == "" {
			w.unions++
		}
	case "enum":
		if strings.ContainsAny(strings.TrimPrefix(strings.TrimSpace(string(value)), "["), "{[") {
			return errors.New("an enum may hold an object or a list")
		}
	case "format":
		if !slices.Contains(strings.Fields(formats), text) {
			return fmt.Errorf("format %q is not known", text)
		}
	case "minItems":
		if text := string(value); text != "0" && text != "1" {
			return errors.New("minItems is neither 0 nor 1")
		}
	case "$schema", "$defs", "definitions":
		if level > 0 {
			return fmt.Errorf("%s is not at the root", key)
		}
		if key != "$schema" {
			return w.members(value, level, nil)
		}
	case "$ref":
		name := strings.TrimPrefix(strings.TrimPrefix(text, "#/$defs/"), "#/definitions/")
		if name == text || strings.Contains(name, "/") {
			return errors.New("a $ref leads elsewhere than to $defs")
		}
		w.refers[in] = append(w.refers[in], name)
	case "properties":
		return w.members(value, level, &in)
	case "items":
		return w.schema(value, in, level+1)
	case "anyOf", "allOf":
		return w.choices(key, value, in, level)
	default:
		return fmt.Errorf("keyword %q is not supported", key)
	}
	return nil
}

// members looks at those of an object, which are parts of a definition, or where
// that is nil definitions themselves.
func (w *walk) members(value json.RawMessage, level int, in *string) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil {
		return errors.New("a part of it is not an object")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := w.schema(members[name], *cmp.Or(in, &name), level+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) choices(key string, value json.RawMessage, in string, level int) error {
	var list []json.RawMessage
	switch {
	case json.Unmarshal(value, &list) != nil:
		return fmt.Errorf("%s is not a list", key)
	case key == "anyOf":
		w.unions++
	case strings.Contains(string(value), `"$ref"`):
		return errors.New("allOf holds a $ref")
	}
	for _, choice := range list {
		if err := w.schema(choice, in, level+1); err != nil {
			return err
		}
	}
	return nil
}

// types reports whether a schema's type is a kind, or may be.
func types(value json.RawMessage, kind string) bool {
	return strings.Contains(string(value), `"`+kind+`"`)
}
