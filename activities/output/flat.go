package output

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Flat is the schema of a tool for an API that takes no alternatives and no reference at the root, and of properties no
// names but usual ones. It lets through no less: what it cannot say it tells in a description, and the call is checked against
// the tool's own schema. One that is fine comes back as it is.
func Flat(schema json.RawMessage) json.RawMessage { return flattening{}.of(schema) }

// Plain is Flat for an API that knows no const, and nothing beside a reference.
func Plain(schema json.RawMessage) json.RawMessage { return flattening{plain: true}.of(schema) }

// Merged is Flat for an API that takes any name.
func Merged(schema json.RawMessage) json.RawMessage { return flattening{anyName: true}.of(schema) }

func (f flattening) of(schema json.RawMessage) json.RawMessage {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil || root == nil {
		return schema
	}
	f.root, f.known = root, keywords()
	made := f.named(f.merged(root, 0))
	if !f.changed {
		return schema
	}
	text, _ := json.Marshal(made) // it was read from JSON
	return text
}

type flattening struct {
	root    map[string]any
	plain   bool
	anyName bool
	known   map[string]keyword
	changed bool
}

// usualName is what APIs take as the name of a property.
var usualName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// maxTold bounds in bytes what a description tells of a schema.
const maxTold = 4 << 10

func told(schema map[string]any, lead string, what any) {
	if part, err := json.Marshal(what); err == nil && len(part) <= maxTold {
		schema["description"] = strings.TrimSpace(text(schema["description"]) + " " + lead + " " + string(part))
	}
}

// merged is a schema of an object with the properties of those that it refers to, and of all alternatives.
func (f *flattening) merged(schema map[string]any, level int) map[string]any {
	made := maps.Clone(schema)
	if pointer, refers := strings.CutPrefix(text(schema["$ref"]), "#/"); refers {
		made["allOf"] = append([]any{place(strings.Split(pointer, "/")).in(f.root)}, asList(schema["allOf"])...)
		delete(made, "$ref")
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		list := asList(made[word])
		if list == nil || level > MaxNesting {
			continue
		}
		f.changed = true
		delete(made, word)
		if level == 0 && schema[word] != nil {
			told(made, "It fits the JSON Schema", map[string]any{word: schema[word]})
		}
		properties, required := map[string]any{}, []any(nil)
		maps.Copy(properties, asMap(made["properties"]))
		for i, branch := range list {
			one := f.merged(asMap(branch), level+1)
			for name, v := range asMap(one["properties"]) {
				if was, ok := properties[name]; ok && !reflect.DeepEqual(was, v) {
					v = map[string]any{"anyOf": []any{was, v}}
				}
				properties[name] = v
			}
			switch needs := asList(one["required"]); {
			case i == 0:
				required = needs
			case word == "allOf":
				required = slices.Concat(required, needs)
			default:
				required = slices.DeleteFunc(slices.Clone(required), func(name any) bool { return !slices.Contains(needs, name) })
			}
		}
		made["properties"] = properties
		if all := once(slices.Concat(asList(made["required"]), required)); len(all) > 0 {
			made["required"] = all
		}
	}
	return made
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

func asMap(v any) map[string]any {
	members, _ := v.(map[string]any)
	return members
}

// named is a schema without the properties of which the API refuses the names.
func (f *flattening) named(schema map[string]any) map[string]any {
	made := maps.Clone(schema)
	for word, v := range schema {
		switch f.known[word].holds {
		case schemas:
			made[word] = f.inside(v)
		case named:
			members := map[string]any{}
			for name, one := range asMap(v) {
				members[name] = f.inside(one)
			}
			made[word] = members
		case other, count, elsewhere:
		}
	}
	if only, ok := made["const"]; ok && f.plain {
		f.changed = true
		made["enum"] = []any{only}
		delete(made, "const")
	}
	if size := len(made); f.plain && made["$ref"] != nil {
		maps.DeleteFunc(made, func(word string, _ any) bool { return !strings.HasPrefix(word, "$") })
		f.changed = f.changed || len(made) < size
	}
	others := map[string]any{}
	for name, v := range asMap(made["properties"]) {
		if !f.anyName && !usualName.MatchString(name) {
			others[name] = v
		}
	}
	if len(others) == 0 {
		return made
	}
	f.changed = true
	told(made, "It also has the properties", others)
	properties := maps.Clone(asMap(made["properties"]))
	maps.DeleteFunc(properties, func(name string, _ any) bool { return others[name] != nil })
	made["properties"] = properties
	if required := asList(made["required"]); required != nil {
		made["required"] = slices.DeleteFunc(slices.Clone(required), func(name any) bool { return others[text(name)] != nil })
	}
	delete(made, "additionalProperties")
	delete(made, "unevaluatedProperties")
	return made
}

func (f *flattening) inside(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return f.named(v)
	case []any:
		all := make([]any, len(v))
		for i, one := range v {
			all[i] = f.inside(one)
		}
		return all
	}
	return v
}
