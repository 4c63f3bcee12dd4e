package output_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/output"
	"everstep/domain"
)

func formatOf(schema string) domain.ResponseFormat {
	return domain.ResponseFormat{Type: domain.FormatSchema, Schema: json.RawMessage(schema)}
}

func compiled(t *testing.T, schema string) *output.Checker {
	t.Helper()
	checker, err := output.Compile(formatOf(schema))
	require.NoError(t, err)
	return checker
}

// nested is a schema in which schemas lie n deep.
func nested(n int) string {
	return strings.Repeat(`{"items":`, n) + `{}` + strings.Repeat(`}`, n)
}

// chain is a schema whose definitions refer to each other, each twice.
func chain(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"a%d":{}}}`, n)
	return b.String()
}

func manyProperties(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`"p%d":{}`, i)
	}
	return `{"properties":{` + strings.Join(names, ",") + `}}`
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	const old = `"$schema":"http://json-schema.org/draft-07/schema#"`
	for name, test := range map[string]struct{ schema, want string }{
		"no JSON":                 {`{"type":`, "is not JSON: unexpected end of JSON input"},
		"two values":              {`{} {}`, "is not JSON: invalid character '{' after top-level value (line 1, column 4)"},
		"no UTF-8":                {"{\"title\":\"\xff\"}", "is not valid UTF-8"},
		"a number":                {`7`, "at the root: must be of type boolean or object and is of type integer"},
		"a list":                  {`[]`, "at the root: must be of type boolean or object and is of type array"},
		"null":                    {`null`, "at the root: must be of type boolean or object and is of type null"},
		"a key twice":             {`{"type":"object","type":"array"}`, "at /type: the key is there twice"},
		"null within":             {`{"properties":{"a":null}}`, "at /properties/a: must be of type boolean or object and is of type null"},
		"a misspelt keyword":      {`{"properties":{"a/b":{"requiredd":["x"]}}}`, `at /properties/a~1b/requiredd: there is no such keyword; did you mean "required"?`},
		"a keyword in lower case": {`{"additionalproperties":false}`, `did you mean "additionalProperties"?`},
		"a word":                  {`{"zzzzzzzz":1}`, "at /zzzzzzzz: there is no such keyword; check its spelling, or begin it with x-"},
		"a type that is none":     {`{"items":{"type":"float"}}`, `at /items/type: is "float" and must be one of "array", "boolean", "integer", "null", "number", "object", "string"`},
		"types twice":             {`{"type":["string","string"]}`, "at /type/1: is the same as item 0; each may be there once"},
		"no types":                {`{"type":[]}`, "at /type: has 0 items and must have at least 1"},
		"nullable":                {`{"type":"string","nullable":true}`, `at /nullable: is not taken; write "type": ["…", "null"]`},
		"required on a property":  {`{"properties":{"a":{"type":"string","required":true}}}`, "at /properties/a/required: must be of type array and is of type boolean"},
		"required twice":          {`{"required":["a","a"]}`, "at /required/1: is the same as item 0; each may be there once"},
		"properties as a list":    {`{"properties":["a"]}`, "at /properties: must be of type object and is of type array"},
		"an empty anyOf":          {`{"anyOf":[]}`, "at /anyOf: has 0 items and must have at least 1"},
		"anyOf as an object":      {`{"anyOf":{"type":"string"}}`, "at /anyOf: must be of type array and is of type object"},
		"a schema in a list":      {`{"allOf":[true,{"type":3}]}`, "at /allOf/1/type: is 3 and must be one of"},
		"enum as a text":          {`{"enum":"a"}`, "at /enum: must be of type array and is of type string"},
		"a negative length":       {`{"minLength":-1}`, "at /minLength: is -1 and must be at least 0"},
		"half a length":           {`{"maxItems":1.5}`, "at /maxItems: must be of type integer and is of type number"},
		"a large length":          {`{"maxItems":1e300}`, "at /maxItems: is 1e+300 and may be at most 2147483647"},
		"a number as a text":      {`{"minimum":"1"}`, "at /minimum: must be of type number and is of type string"},
		"a number beyond all":     {`{"minimum":1e999}`, "at /minimum: has a number that is too large"},
		"a multiple of nothing":   {`{"multipleOf":0}`, "at /multipleOf: is 0 and must be more than 0"},
		"a pattern":               {`{"properties":{"a":{"pattern":"(a"}}}`, "at /properties/a/pattern: is no regular expression that can be used: error parsing regexp: missing closing )"},
		"look-ahead":              {`{"pattern":"^(?!x)"}`, "without look-around"},
		"a pattern of names":      {`{"patternProperties":{"[":{}}}`, "at /patternProperties/[: is no regular expression"},
		"a title that is none":    {`{"title":3}`, "at /title: must be of type string and is of type integer"},
		"uniqueItems":             {`{"uniqueItems":"yes"}`, "at /uniqueItems: must be of type boolean and is of type string"},
		"dependentRequired":       {`{"dependentRequired":{"a":"b"}}`, "at /dependentRequired/a: must be of type array and is of type string"},

		"another dialect":        {`{"$schema":"https://example.com/mine"}`, "at /$schema: is \"https://example.com/mine\"; leave it out"},
		"a dialect within":       {`{"items":{"$schema":"https://json-schema.org/draft/2020-12/schema"}}`, "at /items/$schema: is only taken at the root"},
		"an id":                  {`{"$id":"https://example.com/a"}`, "at /$id: is not taken; leave it out"},
		"a dynamic reference":    {`{"$dynamicRef":"#a"}`, "at /$dynamicRef: is not taken"},
		"a list of items":        {`{"items":[{}]}`, "at /items: is a list; write prefixItems"},
		"old dependencies":       {`{"dependencies":{"a":["b"]}}`, "at /dependencies: is not taken; write dependentRequired"},
		"new in old":             {`{` + old + `,"prefixItems":[{}]}`, "at /prefixItems: is not taken; in draft-07 write items"},
		"old dependencies in it": {`{` + old + `,"dependencies":{"a":["b",1]}}`, "at /dependencies/a/1: must be of type string and is of type integer"},
		"several mistakes":       {`{"required":true,"properties":{"a":{"minLength":-1},"b":{"type":"text"}}}`, "at /properties/a/minLength: is -1 and must be at least 0; at /properties/b/type: is \"text\" and must be one of"},
		"several words":          {`{"requird":[],"properties":{"a":{"minlength":1}}}`, `at /properties/a/minlength: there is no such keyword; did you mean "minLength"?; at /requird: there is no such keyword; did you mean "required"?`},
		"many schemas":           {`{"allOf":[` + strings.Repeat(`{},`, 20_000) + `{}]}`, "there are more than 10000 schemas in the schema; make it smaller"},

		"a reference away":         {`{"$ref":"https://example.com/a.json"}`, "at /$ref: refers to \"https://example.com/a.json\", outside of the schema; schemas are never fetched"},
		"a reference to a file":    {`{"$ref":"a.json#/x"}`, "outside of the schema"},
		"a reference nowhere":      {`{"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"a":{}}}`, `at /properties/a/$ref: refers to "#/$defs/b", and there is no schema`},
		"a reference to no schema": {`{"$ref":"#/properties","properties":{}}`, "and there is no schema"},
		"a reference into enum":    {`{"$ref":"#/enum/0","enum":[{}]}`, "and there is no schema"},
		"an unknown anchor":        {`{"$ref":"#a"}`, "and there is no schema"},
		"an anchor twice":          {`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, "at /$defs/b/$anchor: \"x\" is there twice"},
		"an anchor like a place":   {`{"$anchor":"/x"}`, "at /$anchor: is \"/x\""},
		"a loop":                   {`{"$ref":"#"}`, "at the root: the schema refers to itself without end"},
		"a loop of two":            {`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, "at /$defs/a: the schema refers to itself without end; let the reference go through properties or items"},
		"a loop over anyOf":        {`{"anyOf":[{"type":"null"},{"not":{"if":{"$ref":"#"}}}]}`, "refers to itself without end"},
		"a loop over dependents":   {`{"dependentSchemas":{"a":{"$ref":"#"}}}`, "refers to itself without end"},
		"an unfolding":             {chain(40), "one value would have to be checked against more than 20000 schemas"},
		"deep":                     {nested(33), "schemas are nested deeper than 32 levels"},
		"deep values":              {`{"const":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "is nested deeper than 96 levels"},
		"deeper than any parser":   {strings.Repeat(`{"items":`, 11_000), "is not JSON"},
		"many properties":          {manyProperties(5001), "at /properties: the schema has more than 5000 properties"},
		"a long name":              {`{"properties":{"` + strings.Repeat("x", 201) + `":{}}}`, "the name has 201 bytes, more than 200"},
		"large":                    {`{"title":"` + strings.Repeat("x", 100_000) + `"}`, "has 100012 bytes, more than 100000; make it smaller"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := output.Compile(formatOf(test.schema))
			require.Error(t, err)
			require.Contains(t, err.Error(), test.want)
			require.True(t, strings.HasPrefix(err.Error(), "response_format.schema: "), err.Error())
			require.Less(t, len(err.Error()), 1000)
			require.NotContains(t, err.Error(), "\n")
			require.False(t, domain.AsError(err).Kind.Retryable())
		})
	}
}

func TestCompileRefusesFormats(t *testing.T) {
	t.Parallel()
	for want, format := range map[string]domain.ResponseFormat{
		`response_format.type: there is no "xml"`:            {Type: "xml"},
		"response_format.schema: is missing":                 {Type: domain.FormatSchema},
		"response_format.schema: is only for type":           {Type: domain.FormatJSON, Schema: []byte(`{}`)},
		`response_format.name: "a b" is not 1 to 64 letters`: {Type: domain.FormatSchema, Name: "a b", Schema: []byte(`{}`)},
		`response_format.name: "é" is not`:                   {Type: domain.FormatJSON, Name: "é"},
		`response_format.name: "` + strings.Repeat("x", 60):  {Type: domain.FormatJSON, Name: strings.Repeat("x", 65)},
	} {
		_, err := output.Compile(format)
		require.ErrorContains(t, err, want)
	}
}

func TestCompileTakes(t *testing.T) {
	t.Parallel()
	const old = `"$schema":"http://json-schema.org/draft-07/schema#"`
	for name, test := range map[string]struct{ schema, good, bad string }{
		"true":                      {`true`, `7`, `7,`},
		"false":                     {`false`, ``, `7`},
		"nothing":                   {`{}`, `null`, `nul`},
		"a tree":                    {`{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"left":{"$ref":"#/$defs/node"},"right":{"$ref":"#/$defs/node"}},"additionalProperties":false}}}`, `{"left":{"right":{}}}`, `{"left":{"right":{"middle":{}}}}`},
		"a tree of its root":        {`{"type":"array","items":{"$ref":"#"}}`, `[[],[[]]]`, `[[],[7]]`},
		"an anchor":                 {`{"items":{"$ref":"#x"},"$defs":{"a":{"$anchor":"x","type":"string"}}}`, `["a"]`, `[1]`},
		"an odd name":               {`{"$ref":"#/$defs/a~1b%20c","$defs":{"a/b c":{"type":"string"}}}`, `"a"`, `1`},
		"a reference into a schema": {`{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, `{"b":"x"}`, `{"b":1}`},
		"32 levels":                 {nested(32), `[[[]]]`, `[[[]]`},
		"5000 properties":           {manyProperties(5000), `{}`, `{`},
		"some unfolding":            {chain(12), `1`, ``},
		"words of other tools":      {`{"x-order":[1],"discriminator":{"propertyName":"kind"},"type":"string","format":"date"}`, `"no date"`, `1`},
		"both definitions":          {`{"$defs":{"a":{"type":"string"}},"definitions":{"b":{"$ref":"#/$defs/a"}},"items":{"$ref":"#/definitions/b"}}`, `["a"]`, `[1]`},
		"draft-07":                  {`{` + old + `,"type":"array","items":[{"type":"string"}],"additionalItems":{"type":"integer"}}`, `["a",1]`, `["a","b"]`},
		"draft-07 references":       {`{` + old + `,"properties":{"a":{"$ref":"#/definitions/x","type":"string"}},"definitions":{"x":{"type":"integer"}}}`, `{"a":1}`, `{"a":"x"}`},
		"draft-07 dependencies":     {`{` + old + `,"dependencies":{"a":["b"],"c":{"minProperties":2}}}`, `{"a":1,"b":1}`, `{"c":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checker := compiled(t, test.schema)
			if test.good != "" {
				require.Empty(t, checker.Check(test.good))
			}
			require.NotEmpty(t, checker.Check(test.bad))
		})
	}
}

// TestNothingIsFetched: whichever way a schema names a server, the server never
// hears of it, neither when the schema is read nor when it is used.
func TestNothingIsFetched(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{}`))
	}))
	defer server.Close()
	for _, schema := range []string{
		`{"$ref":"%s/a"}`, `{"$ref":"%s/a#/x"}`, `{"properties":{"a":{"$ref":"%s"}}}`, `{"$schema":"%s/meta"}`, `{"$id":"%s/a","$ref":"b"}`,
		`{"$id":"%s/a"}`, `{"items":{"$id":"%s/a"}}`, `{"$dynamicRef":"%s/a#x"}`, `{"$recursiveRef":"%s"}`, `{"$vocabulary":{"%s":true}}`,
		`{"$defs":{"a":{"not":{"$ref":"%s/a"}}}}`, `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"$ref":"%s/a"}}}`,
	} {
		_, err := output.Compile(formatOf(fmt.Sprintf(schema, server.URL)))
		require.Error(t, err, schema)
	}
	for _, schema := range []string{`{"const":{"$ref":"%s"}}`, `{"default":{"$ref":"%s"},"examples":[{"$schema":"%s"}],"enum":[{"$id":"%s"}],"description":"%s"}`} {
		checker := compiled(t, strings.ReplaceAll(schema, "%s", server.URL))
		checker.Check(`{"$ref":"` + server.URL + `"}`)
	}
	require.Zero(t, asked.Load())
	response, err := http.Get(server.URL)
	require.NoError(t, err)
	response.Body.Close()
	require.EqualValues(t, 1, asked.Load(), "the server hears")
}

// TestCompileSchemaOfSomebodyElse: what is not known there is an annotation, and
// what leads elsewhere is refused all the same.
func TestCompileSchemaOfSomebodyElse(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{`{"$schema":"https://example.com/mine","titel":1,"type":"string"}`, `{"$id":"a","nullable":true,"type":"string"}`} {
		s, err := output.CompileSchema(json.RawMessage(schema))
		require.NoError(t, err, schema)
		require.Equal(t, "it at the root: must be of type string and is of type integer", "it "+s.Problems("it", "1"))
		require.Equal(t, "it is empty; give one JSON value", s.Problems("it", ""))
	}
	for schema, want := range map[string]string{
		`{"$dynamicRef":"#a"}`:             "at /$dynamicRef: is not taken",
		`{"$ref":"https://example.com/a"}`: "outside of the schema",
		`{"type":"text"}`:                  `at /type: is "text"`,
		`[]`:                               "at the root: must be of type boolean or object",
		strings.Repeat(" ", 100_001):       "has 100001 bytes, more than 100000; make it smaller",
	} {
		_, err := output.CompileSchema(json.RawMessage(schema))
		require.ErrorContains(t, err, want)
	}
	_, err := output.CompileSchema(json.RawMessage("{" + strings.Repeat(" ", 99_998) + "}"))
	require.NoError(t, err)
}
