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

// closed is an object of strict mode with one property.
func closed(property string) string {
	return `{"type":"object","additionalProperties":false,"required":["p"],"properties":{"p":` + property + `}}`
}

func levels(n int) string {
	schema := `{"type":"string"}`
	for range n - 1 {
		schema = closed(schema)
	}
	return schema
}

func enumOf(n, length int) string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("%0*d", length, i)
	}
	text, _ := json.Marshal(values)
	return string(text)
}

func wide(n int) string {
	properties, required := map[string]any{}, []string{}
	for i := range n {
		name := fmt.Sprintf("p%d", i)
		properties[name], required = map[string]any{"type": "null"}, append(required, name)
	}
	text, _ := json.Marshal(map[string]any{"type": "object", "additionalProperties": false, "required": required, "properties": properties})
	return string(text)
}

func TestStrict(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ schema, want string }{
		"an object":          {closed(`{"type":"string","description":"x","pattern":"^a","format":"date"}`), ""},
		"or null":            {closed(`{"type":["string","null"],"enum":["a",null]}`), ""},
		"one object or null": {closed(`{"anyOf":[` + closed(`{"const":1}`) + `,{"type":"null"}]}`), ""},
		"a list":             {closed(`{"type":"array","items":{"type":"number","minimum":0},"minItems":1}`), ""},
		"a tree":             {`{"type":"object","additionalProperties":false,"required":["l"],"properties":{"l":{"$ref":"#/$defs/n"}},"$defs":{"n":` + closed(`{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}`) + `}}`, ""},
		"10 levels":          {levels(10), ""},
		"1000 values":        {closed(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"string","enum":` + enumOf(250, 4) + `}}}`), ""},
		"250 long values":    {closed(`{"type":"string","enum":` + enumOf(250, 100) + `}`), ""},
		"251 short values":   {closed(`{"type":"string","enum":` + enumOf(250, 59)[:250*62] + `,"` + strings.Repeat("x", 250) + `"]}`), ""},
		"much text, just":    {closed(`{"type":"string","const":"` + strings.Repeat("é", 119_999) + `"}`), ""},
		"levels of a part":   {`{"type":"object","additionalProperties":false,"required":["p"],"properties":{"p":{"$ref":"#/$defs/a"}},"$defs":{"a":` + levels(10) + `}}`, ""},
		"levels of an item":  {closed(`{"type":"array","items":` + levels(8) + `}`), ""},

		"a long part":             {`{"type":"object","additionalProperties":false,"required":[],"properties":{},"$defs":{"a":` + levels(11) + `}}`, "is nested deeper than 10 levels"},
		"a long item":             {closed(`{"type":"array","items":` + levels(9) + `}`), "is nested deeper than 10 levels"},
		"text of a part's name":   {`{"type":"object","additionalProperties":false,"required":[],"properties":{},"$defs":{"` + strings.Repeat("x", 60_001) + `":{"type":"string","const":"` + strings.Repeat("y", 60_000) + `"}}}`, "has 120001 characters in names and values"},
		"several reasons":         {`{"type":"object","properties":{"a":{}}}`, "at the root: does not have additionalProperties false"},
		"a list or nothing":       {closed(`{"type":["array","null"]}`), "at /properties/p: has no items"},
		"11 levels":               {levels(11), "is nested deeper than 10 levels"},
		"a list at the root":      {`{"type":"array","items":{"type":"string"}}`, "at the root: is not of type object"},
		"a reference at the root": {`{"$ref":"#/$defs/a","$defs":{"a":` + levels(2) + `}}`, "at the root: is not of type object"},
		"anyOf at the root":       {`{"type":"object","anyOf":[{"type":"object"}],"properties":{}}`, "at /anyOf: is at the root"},
		"open":                    {`{"type":"object","properties":{}}`, "at the root: does not have additionalProperties false"},
		"open within":             {closed(`{"type":"object","properties":{},"additionalProperties":true}`), "at /properties/p: does not have"},
		"optional":                {`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, `at the root: does not require "b"`},
		"no properties":           {`{"type":"object","additionalProperties":false}`, "has no properties"},
		"no type":                 {closed(`{}`), "at /properties/p: has no type"},
		"true":                    {closed(`true`), "at /properties/p: is not an object"},
		"no items":                {closed(`{"type":"array"}`), "at /properties/p: has no items"},
		"allOf":                   {closed(`{"allOf":[{"type":"string"}]}`), "at /properties/p/allOf: is no keyword of strict mode"},
		"minLength":               {closed(`{"type":"string","minLength":1}`), "is no keyword of strict mode"},
		"default":                 {closed(`{"type":"string","default":"a"}`), "is no keyword of strict mode"},
		"another format":          {closed(`{"type":"string","format":"uri"}`), `at /properties/p/format: is "uri"`},
		"more than $ref":          {closed(`{"$ref":"#","description":"x"}`), "at /properties/p: has more than $ref"},
		"two objects":             {closed(`{"anyOf":[` + levels(2) + `,` + levels(2) + `]}`), "at /properties/p/anyOf: has more than one object"},
		"a long enum":             {closed(`{"type":"string","enum":` + enumOf(251, 60) + `}`), "has more than 250 values with 15000 characters"},
		"many values":             {closed(`{"type":"string","enum":` + enumOf(1001, 4) + `}`), "has 1001 values in enum, more than 1000"},
		"much text":               {closed(`{"type":"string","const":"` + strings.Repeat("x", 120_000) + `"}`), "has 120001 characters in names and values, more than 120000"},
		"5000 properties":         {wide(5000), ""},
		"many properties":         {wide(5001), "has 5001 properties, more than 5000"},
		"no JSON":                 {`{`, "is not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := output.Strict(json.RawMessage(test.schema))
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestTool(t *testing.T) {
	t.Parallel()
	format := domain.ResponseFormat{Type: domain.FormatSchema, Name: "report", Schema: []byte(`{"type":"object"}`)}
	tools := []domain.ToolSpec{{Name: "report"}, {Name: "report_2"}}
	require.Equal(t, "report", output.Tool(format, nil).Name)
	require.Equal(t, "report_3", output.Tool(format, tools).Name)
	require.JSONEq(t, `{"type":"object"}`, string(output.Tool(format, nil).Schema))
	format.Name = strings.Repeat("x", 64)
	require.Equal(t, strings.Repeat("x", 62)+"_2", output.Tool(format, []domain.ToolSpec{{Name: format.Name}}).Name)
	tool := output.Tool(domain.ResponseFormat{Type: domain.FormatJSON}, nil)
	require.Equal(t, "final_answer", tool.Name)
	require.JSONEq(t, `{"type":"object"}`, string(tool.Schema))
}

func TestInstruct(t *testing.T) {
	t.Parallel()
	format := formatOf(`{"type":"array"}`)
	require.True(t, strings.HasPrefix(output.Instruct("be brief", format), "be brief\n\nYour final answer must be exactly one JSON value"))
	require.True(t, strings.HasSuffix(output.Instruct("", format), "\n"+`{"type":"array"}`))
	require.Contains(t, output.Instruct("", domain.ResponseFormat{Type: domain.FormatJSON}), "one JSON object")
}

func TestIsObject(t *testing.T) {
	t.Parallel()
	require.True(t, output.IsObject(domain.ResponseFormat{Type: domain.FormatJSON}))
	for schema, want := range map[string]bool{`{"type":"object"}`: true, `{"type":["object"]}`: false, `{"type":"array"}`: false, `true`: false, `{"$ref":"#/$defs/a"}`: false} {
		require.Equal(t, want, output.IsObject(formatOf(schema)), schema)
	}
}
