package output_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/output"
	"everstep/domain"
)

// TestMend: what a schema of any draft says is checked, and what cannot be is left out, so that it accepts no less.
func TestMend(t *testing.T) {
	t.Parallel()
	of := func(property string) string { return `{"properties":{"a":` + property + `},"type":"object"}` }
	const d7, d4 = `"$schema":"http://json-schema.org/draft-07/schema#"`, `"$schema":"http://json-schema.org/draft-04/schema#"`
	for name, c := range map[string]struct{ given, want, lost string }{
		"as it should be":          {of(`{"enum":["a",1,null],"type":["string","null","integer"]}`), of(`{"enum":["a",1,null],"type":["string","null","integer"]}`), ""},
		"look-ahead":               {of(`{"description":"Mail.","pattern":"^(?!x)a$","type":"string"}`), of(`{"description":"Mail. Pattern: ^(?!x)a$","type":"string"}`), "at /properties/a/pattern: is no regular expression of RE2"},
		"within not":               {of(`{"not":{"pattern":"(?!x)"},"type":"string"}`), of(`{"type":"string"}`), "at /properties/a/not/pattern"},
		"within oneOf":             {of(`{"oneOf":[{"pattern":"(?!x)"},{"type":"string"}]}`), of(`{"anyOf":[{"description":"Pattern: (?!x)"},{"type":"string"}]}`), "/oneOf/0/pattern"},
		"within if":                {of(`{"if":{"pattern":"(?!x)"},"then":false}`), of(`{}`), "/if/pattern"},
		"a pattern of names":       {`{"additionalProperties":false,"patternProperties":{"(?!x)":{},"b":{}}}`, `{"patternProperties":{"b":{}},"type":"object"}`, "at /patternProperties/(?!x)"},
		"draft-4's exclusive":      {of(`{"minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}`), of(`{"exclusiveMinimum":0,"maximum":9}`), ""},
		"draft-4's id":             {`{` + d4 + `,"id":"http://a/b#","type":"object","properties":{"id":{"type":"string"},"b":{"$ref":"http://a/b#/properties/id"}}}`, `{"properties":{"b":{"$ref":"#/properties/id"},"id":{"type":"string"}},"type":"object"}`, ""},
		"null everywhere":          {`{"type":"object","required":null,"properties":{"a":{"type":"string","enum":null,"default":null,"const":null},"b":null},"description":null}`, `{"properties":{"a":{"const":null,"default":null,"type":"string"},"b":true},"type":"object"}`, ""},
		"required on a property":   {of(`{"type":"string","required":true}`), of(`{"type":"string"}`), ""},
		"required as a text":       {`{"type":"object","required":"a"}`, `{"type":"object"}`, `at /required: is "a", which means nothing there`},
		"required is empty":        {`{"type":"object","properties":{"a":{"type":"string"}},"required":[]}`, `{"properties":{"a":{"type":"string"}},"required":[],"type":"object"}`, ""},
		"names twice":              {`{"type":"object","required":["a","a"]}`, `{"required":["a"],"type":"object"}`, ""},
		"a tuple":                  {`{` + d7 + `,"type":"object","properties":{"a":{"items":[{"type":"string"}],"additionalItems":false}}}`, of(`{"items":false,"prefixItems":[{"type":"string"}]}`), ""},
		"dependencies":             {`{"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"required":["d"]}},"type":"object"}`, ""},
		"definitions":              {`{` + d7 + `,"$ref":"#/definitions/A","definitions":{"A":{"type":"object","properties":{"b":{"$ref":"#/definitions/A"}}}}}`, `{"$ref":"#/definitions/A","definitions":{"A":{"properties":{"b":{"$ref":"#/definitions/A"}},"type":"object"}},"type":"object"}`, ""},
		"beside a reference":       {`{` + d7 + `,"properties":{"a":{"$ref":"#/definitions/A","maxLength":1}},"definitions":{"A":{}}}`, `{"definitions":{"A":{}},"properties":{"a":{"$ref":"#/definitions/A"}},"type":"object"}`, ""},
		"itself":                   {of(`{"items":{"$ref":"#"}}`), of(`{"items":{"$ref":"#"}}`), ""},
		"a reference nowhere":      {of(`{"$ref":"#/definitions/gone"}`), of(`true`), "at /properties/a/$ref: refers to what is not in the schema"},
		"a reference away":         {of(`{"$ref":"https://a.example.com/b.json"}`), of(`true`), "refers to what is not in the schema"},
		"a dynamic reference":      {of(`{"$dynamicRef":"#a"}`), of(`true`), "refers to what is not in the schema"},
		"a loop":                   {`{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, `{"properties":{"a":true},"type":"object"}`, "the types of its arguments: the schema at /properties/a: the schema refers to itself without end"},
		"an unfolding":             {`{"type":"object","properties":{"a":{"$ref":"#/$defs/a0"}},"$defs":` + defs(40) + `}`, of(`true`), "20000 schemas"},
		"a format":                 {of(`{"format":"moon"}`), of(`{"format":"moon"}`), ""},
		"properties as a list":     {`{"type":"object","properties":[],"additionalProperties":false}`, `{"additionalProperties":false,"properties":{},"type":"object"}`, ""},
		"a list of names":          {`{"type":"object","properties":["a"],"additionalProperties":false}`, `{"type":"object"}`, "at /properties: is an array, which means nothing there"},
		"numbers as texts":         {of(`{"minimum":"1","maxLength":"5","minContains":"2","maximum":"many"}`), of(`{"maxLength":5,"minContains":2,"minimum":1}`), `at /properties/a/maximum: is "many"`},
		"a large number":           {of(`{"maximum":12345678901234567890}`), of(`{"maximum":12345678901234567890}`), ""},
		"a length beyond all":      {of(`{"maxLength":9007199254740991}`), of(`{}`), "/maxLength"},
		"types in capitals":        {of(`{"type":"STRING"}`), of(`{"type":"string"}`), ""},
		"any type":                 {of(`{"type":"any"}`), of(`{}`), ""},
		"any among types":          {of(`{"type":["string","any"],"minLength":1}`), of(`{"minLength":1}`), ""},
		"a type that is none":      {of(`{"type":"date"}`), of(`{}`), `at /properties/a/type: is "date"`},
		"types of a language":      {of(`{"type":["str","int","float","Bool","list","dict"]}`), of(`{"type":["string","integer","number","boolean","array","object"]}`), ""},
		"a length in halves":       {of(`{"maxLength":2.5}`), of(`{}`), "at /properties/a/maxLength: is 2.5, which means nothing there"},
		"a schema as a text":       {`"{\"properties\":{\"a\":{\"type\":\"string\"}}}"`, of(`{"type":"string"}`), ""},
		"null among types":         {of(`{"type":["string",null]}`), of(`{"type":["string","null"]}`), ""},
		"nullable":                 {of(`{"type":"string","nullable":true,"enum":["a"]}`), of(`{"enum":["a",null],"type":["string","null"]}`), ""},
		"nullable and more":        {of(`{"const":"a","type":"string","nullable":true}`), of(`{"anyOf":[{"const":"a","type":"string"},{"type":"null"}]}`), ""},
		"a nullable reference":     {`{"nullable":true,"properties":{"a":{"allOf":[{"$ref":"#/properties/b"}],"nullable":true},"b":{"type":"string"}}}`, `{"properties":{"a":{"anyOf":[{"allOf":[{"$ref":"#/properties/b"}]},{"type":"null"}]},"b":{"type":"string"}},"type":"object"}`, ""},
		"by their own names":       {`{"$defs":{"a b":{"$anchor":"s","type":"string"},"n":{"$dynamicAnchor":"n"}},"properties":{"a":{"$ref":"#s"},"b":{"$dynamicRef":"#n"},"c":{"$id":"C","items":{"$ref":"C"},"contains":{"$ref":"C#/properties/a"},"properties":{"a":{}}},"d":{"$recursiveRef":"#"}}}`, `{"$defs":{"a b":{"type":"string"},"n":{}},"properties":{"a":{"$ref":"#/$defs/a%20b"},"b":{"$ref":"#/$defs/n"},"c":{"contains":{"$ref":"#/properties/c/properties/a"},"items":{"$ref":"#/properties/c"},"properties":{"a":{}}},"d":{"$ref":"#"}},"type":"object"}`, ""},
		"a name told twice":        {`{"$id":"s","id":"s","$defs":{"a":{"$anchor":"a","$dynamicAnchor":"a"}},"properties":{"a":{"$ref":"s#/$defs/a"},"b":{"$ref":"#a"}}}`, `{"$defs":{"a":{}},"properties":{"a":{"$ref":"#/$defs/a"},"b":{"$ref":"#/$defs/a"}},"type":"object"}`, ""},
		"a name of two":            {`{"$defs":{"a":{"$anchor":"s"},"b":{"$anchor":"s"}},"properties":{"a":{"$ref":"#s"}}}`, `{"$defs":{"a":{},"b":{}},"properties":{"a":true},"type":"object"}`, "at /properties/a/$ref: refers to what is not in the schema"},
		"nothing":                  {`null`, `{"properties":{},"type":"object"}`, ""},
		"true":                     {`true`, `{"properties":{},"type":"object"}`, ""},
		"a text":                   {`"a"`, `{"properties":{},"type":"object"}`, "it is no schema of an object"},
		"no type":                  {`{}`, `{"type":"object"}`, ""},
		"object among types":       {`{"type":["object","null"]}`, `{"type":"object"}`, ""},
		"anyOf at the root":        {`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"anyOf":[{"required":["a"]},{"required":["b"]}],"type":"object"}`, ""},
		"deep":                     {`{"type":"object","properties":{"a":` + nested(300) + `}}`, "", "lies too deep"},
		"large":                    {`{"type":"object","description":"` + strings.Repeat("x", 200_000) + `","properties":{"a":{"type":"string","title":"A","default":"b"}}}`, `{"description":"` + strings.Repeat("x", 100) + `",` + of(`{"type":"string"}`)[1:], "its words are cut: it has 2000"},
		"large in all":             {`{"type":"object","properties":{"a":{"enum":["` + strings.Repeat("x", 200_000) + `"]}}}`, of("true"), "the types of its arguments: the schema has 2000"},
		"a word that nobody knows": {of(`{"x-a":1,"widget":{"b":null}}`), of(`{"widget":{"b":null},"x-a":1}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, lost, err := output.Mend(json.RawMessage(c.given))
			require.NoError(t, err)
			if c.want != "" {
				require.Equal(t, c.want, string(got))
			}
			require.Equal(t, c.lost == "", len(lost) == 0, "%q", lost)
			require.Contains(t, strings.Join(lost, "\n"), c.lost)
			_, err = output.CompileSchema(got)
			require.NoError(t, err)
		})
	}
	for _, wrong := range []string{`{"type":"string"}`, `{"type":["string","null"]}`, `{`} {
		_, _, err := output.Mend(json.RawMessage(wrong))
		require.Error(t, err, wrong)
	}
}

// defs are definitions that refer to each other, each twice.
func defs(n int) string {
	all := fmt.Sprintf(`"a%d":{}`, n)
	for i := range n {
		all += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i+1, i+1)
	}
	return "{" + all + "}"
}

// FuzzMend: what comes of any schema can be checked, and takes objects alone.
func FuzzMend(f *testing.F) {
	for _, seed := range []string{`{"properties":{"a":{"$ref":"#/definitions/a"}},"not":{"oneOf":[{"pattern":"(?!a)"}]}}`, `{"required":[1],"enum":[],"items":[[]],"type":[]}`, `{"$anchor":"a","$defs":{"b":{"$anchor":"a"}}}`, `{"dependentRequired":{"a":[1]},"minLength":-1,"multipleOf":0}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		mended, _, err := output.Mend(json.RawMessage(schema))
		if err != nil {
			return
		}
		_, err = output.CompileSchema(mended)
		require.NoError(t, err)
		require.True(t, output.IsObject(domain.ResponseFormat{Type: domain.FormatSchema, Schema: mended}))
	})
}
