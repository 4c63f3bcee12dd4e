package output

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

// agree checks a text against a schema, and that another library judges alike.
func agree(t require.TestingT, schema, text string) {
	c, err := Compile(domain.ResponseFormat{Type: domain.FormatSchema, Schema: json.RawMessage(schema)})
	if err != nil {
		require.Less(t, len(err.Error()), 2100)
		require.True(t, utf8.ValidString(err.Error()), "%q", err)
		return
	}
	problems := c.Check(text)
	require.LessOrEqual(t, len(problems), maxLines*(maxLine+1))
	require.True(t, utf8.ValidString(problems), "%q", problems)
	require.NotContains(t, problems, "cannot be checked", "%s with %s", schema, text)
	require.Less(t, strings.Count(problems, "\n"), maxLines)
	require.Equal(t, problems, c.Check(text), "said in the same words each time")
	v, err := parse([]byte(text), maxDepth)
	if err != nil || !c.schema.affordable(v) {
		return
	}
	var other jsonschema.Schema
	require.NoError(t, json.Unmarshal([]byte(schema), &other), schema)
	judge, err := other.Resolve(nil)
	require.NoError(t, err, schema)
	require.Equal(t, judge.Validate(v) == nil, problems == "", "%s with %s: %s against %v", schema, text, problems, judge.Validate(v))
}

// someValue draws a JSON value of few different parts, so that they meet.
func someValue(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 7).Draw(t, "kind"); {
	case kind == 0:
		return nil
	case kind == 1:
		return rapid.Bool().Draw(t, "bool")
	case kind == 2 || kind == 3:
		return rapid.SampledFrom([]float64{0, 1, 2, 3, 0.5, -1, 1e17}).Draw(t, "number")
	case kind == 4 || depth == 0:
		return rapid.SampledFrom([]string{"", "a", "b", "ab", "abc"}).Draw(t, "text")
	case kind == 5:
		list := make([]any, rapid.IntRange(0, 4).Draw(t, "items"))
		for i := range list {
			list[i] = someValue(t, depth-1)
		}
		return list
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			object[someName(t)] = someValue(t, depth-1)
		}
		return object
	}
}

func someName(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "ab", "c"}).Draw(t, "name")
}

// someSchema draws a schema that is right in itself.
func someSchema(t *rapid.T, depth int) any {
	if rapid.IntRange(0, 9).Draw(t, "plain") == 0 {
		return rapid.Bool().Draw(t, "schema")
	}
	schema := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "keywords") {
		words := []string{"type", "types", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
			"pattern", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "required", "dependentRequired", "$ref"}
		if depth > 0 {
			words = append(words, "properties", "properties", "patternProperties", "additionalProperties", "propertyNames", "items", "prefixItems", "contains",
				"allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas")
		}
		word := rapid.SampledFrom(words).Draw(t, "keyword")
		fill(t, schema, word, depth)
	}
	return schema
}

func fill(t *rapid.T, schema map[string]any, word string, depth int) {
	types := []string{"null", "boolean", "object", "array", "number", "string", "integer"}
	some := func() []any {
		list := make([]any, rapid.IntRange(1, 3).Draw(t, "schemas"))
		for i := range list {
			list[i] = someSchema(t, depth-1)
		}
		return list
	}
	named := func(name string) map[string]any { return map[string]any{name: someSchema(t, depth-1)} }
	switch word {
	case "type":
		schema["type"] = rapid.SampledFrom(types).Draw(t, "type")
	case "types":
		schema["type"] = rapid.SliceOfNDistinct(rapid.SampledFrom(types), 1, 3, rapid.ID[string]).Draw(t, "types")
	case "enum":
		schema[word] = []any{someValue(t, 1), someValue(t, 1)}
	case "const":
		schema[word] = someValue(t, 1)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		schema[word] = rapid.SampledFrom([]float64{0, 1, 2, 0.5}).Draw(t, word)
	case "multipleOf":
		schema[word] = rapid.SampledFrom([]float64{1, 2, 0.5, 0.1}).Draw(t, word)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		schema[word] = rapid.IntRange(0, 3).Draw(t, word)
	case "pattern":
		schema[word] = rapid.SampledFrom([]string{"^a", "b$", "^$"}).Draw(t, word)
	case "uniqueItems":
		schema[word] = true
	case "required":
		schema[word] = []string{someName(t)}
	case "dependentRequired":
		schema[word] = map[string]any{someName(t): []string{someName(t)}}
	case "$ref":
		schema[word] = rapid.SampledFrom([]string{"#", "#/$defs/x", "#y"}).Draw(t, word)
	case "properties", "dependentSchemas":
		schema[word] = named(someName(t))
	case "patternProperties":
		schema[word] = named("^a")
	case "additionalProperties", "propertyNames", "items", "contains", "not":
		schema[word] = someSchema(t, depth-1)
	case "if":
		schema["if"], schema["then"], schema["else"] = someSchema(t, depth-1), someSchema(t, depth-1), someSchema(t, depth-1)
	default:
		schema[word] = some()
	}
	if word == "contains" && rapid.Bool().Draw(t, "bounded") {
		schema["minContains"], schema["maxContains"] = rapid.IntRange(0, 2).Draw(t, "least"), rapid.IntRange(0, 3).Draw(t, "most")
	}
}

// TestJudgesAgree: for any schema and any value, something is said of the value
// exactly where another library finds fault too.
func TestJudgesAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		root, _ := someSchema(t, 3).(map[string]any)
		if root == nil {
			root = map[string]any{}
		}
		y, _ := someSchema(t, 1).(map[string]any)
		if y == nil {
			y = map[string]any{}
		}
		y["$anchor"] = "y"
		root["$defs"] = map[string]any{"x": someSchema(t, 2), "z": y}
		schema, err := json.Marshal(root)
		require.NoError(t, err)
		for range 8 {
			text, err := json.Marshal(someValue(t, 3))
			require.NoError(t, err)
			agree(t, string(schema), string(text))
		}
	})
}

// FuzzCheck: no schema and no answer makes a panic, or more than is readable.
func FuzzCheck(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":false}`, `{"a":[{"a":[7]}]}`},
		{`{"$defs":{"a":{"$anchor":"b","enum":[1,null]}},"anyOf":[{"$ref":"#b"},{"pattern":"x*","minLength":1}]}`, `"y"`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"const":1}],"dependencies":{"a":["b"]}}`, `[2]`},
		{`{"unevaluatedProperties":false,"if":{"required":["a"]},"then":{"multipleOf":0.1},"uniqueItems":true}`, "```json\n{}\n```"},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#"}}}`, `[1e999,{"a":1,"a":2}]`},
		{`{"patternProperties":{"(":{}}}`, "\xff"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, schema, text string) {
		agree(t, schema, text)
		_ = Strict(json.RawMessage(schema))
		for _, format := range []domain.ResponseFormat{{Type: domain.FormatJSON}, {Type: domain.FormatType(text)}, {Type: domain.FormatJSON, Name: text}} {
			if c, err := Compile(format); err == nil {
				require.LessOrEqual(t, len(c.Check(text)), maxLines*(maxLine+1))
			}
		}
	})
}

// BenchmarkCheck is an answer of 20 KB.
func BenchmarkCheck(b *testing.B) {
	c, err := Compile(domain.ResponseFormat{Type: domain.FormatSchema, Schema: json.RawMessage(
		`{"type":"array","items":{"type":"object","required":["id","name"],"additionalProperties":false,"properties":{"id":{"type":"integer"},"name":{"type":"string"},"note":{"anyOf":[{"type":"null"},{"type":"string"}]}}}}`)})
	require.NoError(b, err)
	var items []string
	for i := range 400 {
		items = append(items, fmt.Sprintf(`{"id":%d,"name":"number %d","note":null}`, i, i))
	}
	text := "[" + strings.Join(items, ",") + "]"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		require.Empty(b, c.Check(text))
	}
}
