package output

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Flat is the schema of a tool for an API that takes no alternatives and no reference at the root, and of properties no
// names but usual ones. What it cannot say it tells in a description, and the call is checked against the tool's own schema; what
// one alternative says of a property holds for all. One that is fine comes back as it is. Said has a line for each part that is told or left out.
func Flat(schema json.RawMessage) (flat json.RawMessage, said []string) {
	return (&flattening{}).of(schema)
}

// Plain is Flat for an API that knows no const, and references to $defs alone, with nothing beside them but what describes them.
func Plain(schema json.RawMessage) (plain json.RawMessage, said []string) {
	return (&flattening{plain: true}).of(schema)
}

// Merged is Flat for an API that takes any name.
func Merged(schema json.RawMessage) (merged json.RawMessage, said []string) {
	return (&flattening{anyName: true}).of(schema)
}

// Told is the schema of a tool for an API that refused it, nobody knows for what: of each property its type alone, where it has one
// of a usual name, and the whole in words.
func Told(schema json.RawMessage) json.RawMessage {
	flat, _ := Flat(schema)
	var root map[string]any
	_ = json.Unmarshal(flat, &root) // it is an object
	properties := map[string]any{}
	for name, held := range asMap(root["properties"]) {
		one := map[string]any{}
		if kind := text(asMap(held)["type"]); isAmong(kind, "boolean integer number object string") {
			one["type"] = kind
		}
		properties[name] = one
	}
	told, _ := json.Marshal(map[string]any{ // it was read from JSON
		"type": "object", "properties": properties, "required": append([]any{}, asList(root["required"])...),
		"description": "It fits the JSON Schema " + string(schema),
	})
	return told
}

type flattening struct {
	root    map[string]any
	plain   bool
	anyName bool
	known   map[string]keyword
	changed bool
	said    []string
	// moved are the names under $defs of schemas that lie elsewhere, by the references to them.
	moved   map[string]string
	defined map[string]any
}

var (
	// usualName is what APIs take as the name of a property.
	usualName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	// unusual finds in a regular expression of RE2 what other engines may not know: APIs refuse a schema for it.
	unusual = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*(?:\\[pPzQEC]|\\x\{|\(\?[^:])`)
)

// maxTold bounds in bytes what a description tells of a schema.
const maxTold = 4 << 10

func (f *flattening) of(schema json.RawMessage) (json.RawMessage, []string) {
	if json.Unmarshal(schema, &f.root) != nil || f.root == nil {
		return schema, nil
	}
	f.known, f.moved, f.defined = keywords(), map[string]string{}, map[string]any{}
	made := f.named(f.merged(f.root, 0))
	if !f.changed {
		return schema, nil
	}
	if len(f.defined) > 0 {
		maps.Copy(f.defined, asMap(made["$defs"]))
		made["$defs"] = f.defined
		delete(made, "definitions") // all references to them lead to $defs now
	}
	text, _ := json.Marshal(made) // it was read from JSON
	return text, f.said
}

// tell says in a schema's description what is taken out of it.
func (f *flattening) tell(schema map[string]any, name, lead string, what any) {
	f.changed = true
	part, _ := json.Marshal(what) // it was read from JSON
	if len(part) > maxTold {
		f.said = append(f.said, name+" is left out: it is too long to be told in words")
		return
	}
	f.said = append(f.said, name+" is told in words")
	describe(schema, lead+" "+string(part))
}

// describe says more in a schema's description.
func describe(schema map[string]any, words string) {
	schema["description"] = strings.TrimSpace(text(schema["description"]) + " " + words)
}

// target is the schema to which a reference leads; nil: none that is known by its place.
func (f *flattening) target(reference string) any {
	fragment, local := strings.CutPrefix(reference, "#")
	pointer, err := url.PathUnescape(fragment)
	if !local || err != nil || pointer != "" && pointer[0] != '/' {
		return nil
	}
	steps := strings.Split(pointer, "/")[1:]
	for i, step := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
	}
	return place(steps).in(f.root)
}

// merged is a schema of an object with the properties of those that it refers to, and of all alternatives.
func (f *flattening) merged(schema map[string]any, level int) map[string]any {
	made := maps.Clone(schema)
	target := f.target(text(schema["$ref"]))
	if target != nil {
		made["allOf"] = append([]any{target}, asList(schema["allOf"])...)
		delete(made, "$ref")
	}
	for _, word := range strings.Fields("allOf anyOf oneOf not const enum") {
		held, has := made[word]
		if !has || level > MaxNesting {
			continue
		}
		f.changed = true
		delete(made, word)
		if level == 0 && (schema[word] != nil || Part{Fields: asMap(target)}.Has("allOf", "anyOf", "oneOf", "not")) {
			f.tell(made, word, "It fits the JSON Schema", map[string]any{word: held})
		}
		if !strings.HasSuffix(word, "Of") {
			continue
		}
		delete(made, "unevaluatedProperties") // which takes what an alternative names
		fitting, required := map[string][]any{}, []any(nil)
		for name, v := range asMap(made["properties"]) {
			fitting[name] = []any{v}
		}
		for i, branch := range asList(held) {
			one := f.merged(asMap(branch), level+1)
			for name, v := range asMap(one["properties"]) {
				if !slices.ContainsFunc(fitting[name], func(was any) bool { return reflect.DeepEqual(was, v) }) {
					fitting[name] = append(fitting[name], v)
				}
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
		properties := map[string]any{}
		for name, all := range fitting {
			if properties[name] = all[0]; len(all) > 1 {
				properties[name] = map[string]any{"anyOf": all}
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

func sortedKeys[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }

func asMap(v any) map[string]any {
	members, _ := v.(map[string]any)
	return members
}

// named is a schema, and all in it, as the API takes them: without properties of which it refuses the names.
func (f *flattening) named(schema map[string]any) map[string]any {
	made, others := maps.Clone(schema), map[string]any{}
	put := func(word, name string, v any) {
		into := asMap(made[word])
		if word == "properties" && !f.anyName && !usualName.MatchString(name) || word == "patternProperties" && unusual.MatchString(name) {
			into = others
		}
		into[name] = v
	}
	for _, word := range sortedKeys(schema) { // sorted, since what is moved is numbered as it comes
		held, holds := schema[word], f.known[word].holds
		if holds == schemas {
			made[word] = f.inside(word, held)
		}
		if holds == named {
			given := asMap(held)
			made[word] = map[string]any{}
			for _, name := range sortedKeys(given) {
				put(word, name, f.inside(word, given[name]))
			}
		}
	}
	if (Part{Fields: made}).Takes("array") && made["items"] == nil {
		f.changed = true
		made["items"] = map[string]any{} // some APIs refuse an array without
	}
	if pattern := text(made["pattern"]); unusual.MatchString(pattern) {
		delete(made, "pattern")
		describe(made, "Pattern: "+pattern)
		f.changed, f.said = true, append(f.said, "pattern "+quoted(pattern)+" is told in words")
	}
	if f.plain {
		f.simplify(made)
	}
	required := asList(made["required"])
	if made["properties"] == nil && (Part{Fields: made}).Takes("object") && len(required) > 0 {
		made["properties"] = map[string]any{}
	}
	for _, name := range required { // some APIs refuse one that is no property
		name := text(name)
		if properties := asMap(made["properties"]); properties != nil && properties[name] == nil && others[name] == nil {
			declared := asMap(made["additionalProperties"])
			if declared == nil {
				declared = map[string]any{}
			}
			put("properties", name, declared)
			f.changed = true
		}
	}
	if len(others) == 0 {
		return made
	}
	f.tell(made, "what it has as "+quoted(slices.Min(slices.Collect(maps.Keys(others)))), "It also has the properties", others)
	if required != nil {
		made["required"] = slices.DeleteFunc(slices.Clone(required), func(name any) bool { return others[text(name)] != nil })
	}
	delete(made, "additionalProperties")
	delete(made, "unevaluatedProperties")
	return made
}

// simplify puts an enum for a const, and a reference to $defs for one that leads elsewhere, alone but for what describes it.
func (f *flattening) simplify(schema map[string]any) {
	if only, ok := schema["const"]; ok {
		f.changed = true
		schema["enum"] = []any{only}
		delete(schema, "const")
	}
	reference := text(schema["$ref"])
	if reference == "" {
		return
	}
	size := len(schema)
	maps.DeleteFunc(schema, func(word string, _ any) bool {
		return !strings.HasPrefix(word, "$") && word != "description" && word != "default"
	})
	if line := "what stands beside a reference is left out"; len(schema) < size {
		f.changed = true
		if !slices.Contains(f.said, line) {
			f.said = append(f.said, line)
		}
	}
	target := f.target(reference)
	if name, below := strings.CutPrefix(reference, "#/$defs/"); target == nil || below && usualName.MatchString(name) {
		return
	}
	f.changed = true
	name, known := f.moved[reference]
	if !known {
		name = fmt.Sprintf("ref%d", len(f.moved)+1)
		for asMap(f.root["$defs"])[name] != nil {
			name += "_"
		}
		f.moved[reference] = name // also for what lies in it
		f.defined[name] = f.inside("$defs", target)
	}
	schema["$ref"] = "#/$defs/" + name
}

// inside is what a keyword holds. Some APIs know true and false as bounds of what else there may be, and as no schemas.
func (f *flattening) inside(word string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		return f.named(v)
	case []any:
		all := make([]any, len(v))
		for i, one := range v {
			all[i] = f.inside(word, one)
		}
		return all
	case bool:
		if strings.HasSuffix(word, "Properties") || strings.HasSuffix(word, "tems") && !v {
			return v
		}
		f.changed = true
		if v {
			return map[string]any{}
		}
		return map[string]any{"not": map[string]any{}}
	}
	return v
}
