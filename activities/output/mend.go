package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"everstep/domain"
)

// Mend makes a schema of somebody else's one of a tool's arguments that can be checked, in the words of draft 2020-12. What
// cannot be used is left out, so that it accepts no less, and lost says what, on some lines. Its error is
// of a schema that is too large, or lets no object through.
func Mend(schema json.RawMessage) (mended json.RawMessage, lost []string, err error) {
	if len(schema) > maxMended {
		return nil, nil, fmt.Errorf("has %d bytes, more than %d", len(schema), maxMended)
	}
	var raw any
	decoder := json.NewDecoder(bytes.NewReader(schema))
	decoder.UseNumber() // as they are written
	if err := decoder.Decode(&raw); err != nil {
		return nil, nil, errors.New("is no JSON")
	}
	if within, quoted := raw.(string); quoted && json.Valid([]byte(within)) {
		return Mend(json.RawMessage(within))
	}
	root, ok := raw.(map[string]any)
	if !ok && raw != nil && raw != true {
		lost = []string{"it is no schema of an object"}
	}
	if !ok {
		return anyObject, lost, nil
	}
	m := &mending{terse: len(schema) > MaxSchema, known: keywords(), names: map[string]string{}}
	m.name(root, nil)
	delete(root, "nullable") // arguments are never null
	m.old = root["$schema"] != nil && !strings.Contains(text(root["$schema"]), "/20")
	for range 3 { // for the schemas that there are, for those that are left, and for what is lost with the others
		m.places, m.left, m.loose, m.schemas = map[string]bool{}, m.places, len(m.lost) > 0, 0
		made := asMap(m.schema(root, nil, 0))
		if made == nil {
			made = map[string]any{}
		}
		if err := asObject(made); err != nil {
			return nil, nil, err
		}
		mended, _ = json.Marshal(made) // it was read from JSON
	}
	if _, err := CompileSchema(mended); err != nil {
		bare := map[string]any{}
		properties := asMap(root["properties"])
		for name := range properties {
			if len(name) <= maxKey && len(bare) < MaxProperties {
				bare[name] = true
			}
		}
		mended, _ = json.Marshal(map[string]any{"type": "object", "properties": bare})
		if len(mended) > MaxSchema {
			mended = anyObject
		}
		return mended, []string{"the types of its arguments: the schema " + err.Error()}, nil
	}
	if m.terse {
		m.lost = append(m.lost, fmt.Sprintf("its words are cut: it has %d bytes, more than %d", len(schema), MaxSchema))
	}
	return mended, m.lost, nil
}

// anyObject is the schema of a tool that says nothing of its arguments.
var anyObject = json.RawMessage(`{"properties":{},"type":"object"}`)

// asObject has a schema let objects alone through.
func asObject(schema map[string]any) error {
	if kind := schema["type"]; kind != nil && !(Part{Fields: schema}).Takes("object") {
		return fmt.Errorf("its type is %s and not object: arguments are always one JSON object", shown(fmt.Sprintf("%q", kind)))
	}
	schema["type"] = "object"
	return nil
}

// isAmong reports whether a word is one of some.
func isAmong(word, words string) bool { return slices.Contains(strings.Fields(words), word) }

func text(v any) string {
	text, _ := v.(string)
	return text
}

// A mending goes through a schema once.
type mending struct {
	known map[string]keyword
	// places are those of all schemas that are kept, left those of the time before: references to others lead nowhere.
	places, left map[string]bool
	// old says that nothing holds beside a reference, as before draft 2019-09, and names are references to the places of the
	// schemas that have a name of their own, the whole included; empty where several have it.
	old   bool
	names map[string]string
	// loose says that something is lost. Then all goes that refuses more where a part of it refuses less.
	loose   bool
	lost    []string
	schemas int
	// terse says that it is too large with its words, which are cut.
	terse bool
}

// maxTerse bounds a description in bytes where they are cut.
const maxTerse = 100

const (
	maxLost = 5
	// maxMended bounds a schema in bytes of which a part can be used.
	maxMended = 1 << 20
)

func (m *mending) lose(at place, format string, args ...any) {
	if line := mistake(at, format, args...).Error(); len(m.lost) < maxLost && !slices.Contains(m.lost, line) {
		m.lost = append(m.lost, line)
	}
}

// name notes the names of all schemas in a value.
func (m *mending) name(v any, at place) {
	for i, inner := range asList(v) {
		m.name(inner, at.step(strconv.Itoa(i)))
	}
	members := asMap(v)
	for word, mark := range map[string]string{"$id": "", "id": "", "$anchor": "#", "$dynamicAnchor": "#"} {
		if name := strings.TrimSuffix(text(members[word]), "#"); name != "" {
			here := "#" + (&url.URL{Fragment: at.pointer()}).EscapedFragment()
			if other, twice := m.names[mark+name]; twice && other != here {
				here = ""
			}
			m.names[mark+name] = here
		}
	}
	for key, inner := range members {
		m.name(inner, at.step(key))
	}
}

func (m *mending) schema(v any, at place, level int) any {
	given, ok := v.(map[string]any)
	_, truth := v.(bool)
	m.schemas++
	switch {
	case truth:
		m.places[at.pointer()] = true
		return v
	case !ok:
		if v != nil {
			m.lose(at, "is no schema")
		}
		return true
	case level >= MaxNesting, m.schemas > maxSchemas/2:
		m.lose(at, "lies too deep, or there are too many schemas")
		return true
	}
	schema := maps.Clone(given)
	maps.DeleteFunc(schema, func(word string, v any) bool { return v == nil && word != "const" && word != "default" })
	m.modern(schema)
	made := map[string]any{}
	m.places[at.pointer()] = true
	for _, word := range sortedKeys(schema) {
		k, v, here := m.known[word], schema[word], at.step(word)
		switch fits := m.fits(word, k, v); {
		case word == "$ref" && !m.leads(v):
			m.lose(here, "refers to what is not in the schema")
			return true
		case word == "pattern" && fits != "":
			describe(made, "Pattern: "+text(v)) // behind its own words, which come before
			m.lose(here, "%s", fits)
		case fits != "":
			m.lose(here, "%s", fits)
			if word == "properties" || word == "patternProperties" {
				m.open(schema, made)
			}
		case m.terse && isAmong(word, "title $comment examples default markdownDescription enumDescriptions"):
		case m.terse && word == "description":
			made[word] = domain.Shorten(text(v), maxTerse)
		case m.loose && isAmong(word, "not if then else unevaluatedProperties unevaluatedItems maxContains"):
		case k.holds == schemas:
			m.inside(made, word, v, here, level)
		case k.holds == named:
			made[word] = m.members(schema, made, word, v, here, level)
		default:
			made[word] = v
		}
	}
	return made
}

// open lets other properties through where one is lost by its name.
func (m *mending) open(schema, made map[string]any) {
	for _, word := range []string{"additionalProperties", "unevaluatedProperties"} {
		delete(schema, word)
		delete(made, word)
	}
}

func (m *mending) inside(made map[string]any, word string, v any, at place, level int) {
	list, ok := v.([]any)
	if !ok {
		made[word] = m.schema(v, at, level+1)
		return
	}
	all := make([]any, len(list))
	for i, one := range list {
		all[i] = m.schema(one, at.step(strconv.Itoa(i)), level+1)
	}
	if word == "oneOf" && m.loose {
		if made["anyOf"] != nil {
			return // one list is enough that accepts no less
		}
		word = "anyOf"
	}
	made[word] = all
}

func (m *mending) members(schema, made map[string]any, word string, v any, at place, level int) any {
	given := asMap(v)
	all := map[string]any{}
	for _, name := range sortedKeys(given) {
		_, err := compilePattern(name)
		_, names := given[name].([]any)
		switch {
		case len(name) > maxKey, word == "patternProperties" && err != nil:
			m.lose(at.step(name), "its name is too long, or is no regular expression of RE2")
			m.open(schema, made)
		case word == "dependentRequired" && names:
			all[name] = given[name]
		case word != "dependentRequired":
			all[name] = m.schema(given[name], at.step(name), level+1)
		}
	}
	return all
}

// leads reports whether a reference leads to a schema that is kept.
func (m *mending) leads(target any) bool {
	fragment, local := strings.CutPrefix(text(target), "#")
	pointer, err := url.PathUnescape(fragment)
	return local && err == nil && (m.left == nil || m.left[pointer])
}

// modern puts the words of draft 2020-12 in the place of older ones and of OpenAPI's.
func (m *mending) modern(schema map[string]any) {
	for _, word := range []string{"Minimum", "Maximum"} {
		limit := strings.ToLower(word)
		if only, old := schema["exclusive"+word].(bool); old {
			delete(schema, "exclusive"+word)
			if only && schema[limit] != nil {
				schema["exclusive"+word] = schema[limit]
				delete(schema, limit)
			}
		}
	}
	if list, old := schema["items"].([]any); old {
		delete(schema, "items")
		if len(list) > 0 {
			schema["prefixItems"] = list
		}
		if rest, ok := schema["additionalItems"]; ok {
			schema["items"] = rest
		}
	}
	if members, old := schema["dependencies"].(map[string]any); old {
		required, schemas := maps.Clone(members), maps.Clone(members)
		maps.DeleteFunc(required, func(_ string, v any) bool { return asList(v) == nil })
		maps.DeleteFunc(schemas, func(_ string, v any) bool { return asList(v) != nil })
		schema["dependentRequired"], schema["dependentSchemas"] = required, schemas
	}
	for _, word := range []string{"$dynamicRef", "$recursiveRef"} {
		if target, dynamic := schema[word]; dynamic {
			schema["$ref"] = target
		}
	}
	alone := Part{Fields: schema}
	switch kinds, list := schema["type"].([]any); {
	case schema["nullable"] != true:
	case !alone.Has("type") || alone.Has("$ref", "const", "allOf", "anyOf", "oneOf", "not", "if"):
		own := maps.Clone(schema)
		delete(own, "nullable")
		clear(schema)
		schema["anyOf"] = []any{own, map[string]any{"type": "null"}}
	default:
		if !list {
			kinds = []any{schema["type"]}
		}
		schema["type"] = append(slices.Clip(kinds), "null")
		if values, ok := schema["enum"].([]any); ok {
			schema["enum"] = append(slices.Clip(values), nil)
		}
	}
	for word, v := range schema {
		switch word {
		case "$ref":
			name, fragment, _ := strings.Cut(text(v), "#")
			if place, named := m.names[text(v)]; named {
				schema[word] = place
			} else if place, named = m.names[name]; named {
				schema[word] = place + fragment
			}
		case "properties", "patternProperties", "$defs", "definitions":
			if list, ok := v.([]any); ok && len(list) == 0 {
				schema[word] = map[string]any{} // as PHP has it
			}
		case "required":
			switch v := v.(type) {
			case bool:
				delete(schema, word)
			case []any:
				schema[word] = once(v)
			}
		case "type":
			if schema[word] = kindsOf(v); schema[word] == "any" || slices.Contains(asList(schema[word]), any("any")) {
				delete(schema, word) // as draft 3 has it
			}
		default:
			holds, number := m.known[word].holds, text(v)
			if (holds == amount || holds == count) && json.Valid([]byte(number)) {
				schema[word] = json.Number(number)
			}
		}
	}
	for _, word := range strings.Fields("$schema $id $vocabulary $anchor $dynamicAnchor $dynamicRef $recursiveAnchor $recursiveRef nullable additionalItems dependencies") {
		delete(schema, word)
	}
	if _, named := schema["id"].(string); named {
		delete(schema, "id")
	}
	if m.old && schema["$ref"] != nil {
		maps.DeleteFunc(schema, func(word string, _ any) bool {
			return !isAmong(word, "$ref $defs definitions title description default examples")
		})
	}
}

// kindName is a type as JSON Schema calls it, of one as a programming language does.
func kindName(word string) string {
	switch word = strings.ToLower(word); word {
	case "str", "text":
		return "string"
	case "int", "long":
		return "integer"
	case "float", "double", "decimal":
		return "number"
	case "bool":
		return "boolean"
	case "list", "tuple":
		return "array"
	case "dict", "map":
		return "object"
	}
	return word
}

// kindsOf are types as they are written in JSON Schema, each once.
func kindsOf(v any) any {
	switch v := v.(type) {
	case string:
		return kindName(v)
	case []any:
		all := make([]any, len(v))
		for i, kind := range v {
			if all[i] = kindsOf(kind); kind == nil {
				all[i] = "null"
			}
		}
		return once(all)
	}
	return v
}

// once is a list of texts, each once; one that holds something else stays as it is.
func once(list []any) []any {
	all := []any{}
	for _, v := range list {
		if _, ok := v.(string); !ok {
			return list
		}
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// fits says what is wrong with a keyword's value; empty: nothing.
func (m *mending) fits(word string, k keyword, v any) string {
	list, isList := v.([]any)
	_, isMap := v.(map[string]any)
	_, isText := v.(string)
	_, isTruth := v.(bool)
	given, _ := v.(json.Number)
	number, err := given.Float64()
	isNumber := err == nil
	ok := true
	switch {
	case word == "type":
		if !isList {
			list = []any{v}
		}
		ok = len(list) > 0 && !slices.ContainsFunc(list, func(kind any) bool {
			return !isAmong(text(kind), "array boolean integer null number object string")
		})
	case word == "required":
		ok = isList && !slices.ContainsFunc(list, func(v any) bool { return text(v) == "" })
	case word == "examples":
		ok = isList
	case isAmong(word, "enum allOf anyOf oneOf prefixItems"):
		ok = len(list) > 0
	case word == "pattern":
		_, err := compilePattern(text(v))
		if isText && err != nil {
			return "is no regular expression of RE2: " + shown(err.Error())
		}
		ok = isText
	case word == "multipleOf":
		ok = isNumber && number > 0
	case k.holds == amount:
		ok = isNumber
	case k.holds == count:
		ok = isNumber && number == math.Trunc(number) && number >= 0 && number <= math.MaxInt32
	case k.holds == words:
		ok = isText
	case k.holds == truth:
		ok = isTruth
	case k.holds == schemas:
		ok = isMap || isTruth
	case k.holds == named:
		ok = isMap
	}
	if ok {
		return ""
	}
	return "is " + brief(v) + ", which means nothing there"
}
