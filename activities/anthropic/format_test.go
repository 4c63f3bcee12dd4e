package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/inference"
	"everstep/domain"
	"everstep/testsuite/providers"
)

// told is a question whose answer has a format, told in a mode.
func told(mode domain.OutputMode, format domain.ResponseFormat, tools ...domain.ToolSpec) inference.Call {
	return providers.Told(question(), mode, format, tools...)
}

func TestResponseFormat(t *testing.T) {
	t.Parallel()
	f := domain.ToolSpec{Name: "f", Schema: []byte(objectSchema)}
	schema := domain.ResponseFormat{Type: domain.FormatSchema, Name: "out", Schema: []byte(objectSchema)}
	loose := domain.ResponseFormat{Type: domain.FormatSchema, Name: "out", Schema: []byte(`{"type":"object"}`)}
	thinks := told(domain.OutputTool, schema)
	thinks.Config.Options = options("thinking", `{"type":"adaptive"}`)
	always := told(domain.OutputTool, schema)
	always.Config.Model = "claude-opus-5-5"
	quiet := told(domain.OutputTool, schema)
	quiet.Config.Model, quiet.Config.Options = "claude-opus-5-5", options("thinking", `{"type":"disabled"}`)
	older := told(domain.OutputTool, schema)
	older.Config.Model = "claude-3-7-sonnet-latest"
	without := told("", domain.ResponseFormat{})
	without.Messages = append(without.Messages, calls("a"), result("a", "x"))
	without.Config.Options = options("tool_choice", `{"type":"any"}`)
	for name, test := range map[string]struct {
		call           inference.Call
		format, choice string
		strict         bool
		tools          int
	}{
		"text":                    {call: told("", domain.ResponseFormat{})},
		"native":                  {call: told(domain.OutputNative, schema), format: `{"format":{"type":"json_schema","schema":` + objectSchema + `}}`},
		"tool alone":              {call: told(domain.OutputTool, schema), choice: `{"type":"tool","name":"out"}`, strict: true, tools: 1},
		"tool with others":        {call: told(domain.OutputTool, schema, f), choice: `{"type":"any"}`, strict: true, tools: 2},
		"tool of a loose schema":  {call: told(domain.OutputTool, loose), choice: `{"type":"tool","name":"out"}`, tools: 1},
		"tool of an older model":  {call: older, choice: `{"type":"tool","name":"out"}`, tools: 1},
		"a model that thinks":     {call: thinks, strict: true, tools: 1},
		"one that always thinks":  {call: always, strict: true, tools: 1},
		"one that does not now":   {call: quiet, choice: `{"type":"tool","name":"out"}`, strict: true, tools: 1},
		"instruction":             {call: told(domain.OutputInstruction, schema, f), tools: 1},
		"no tools left, but used": {call: without, choice: `{"type":"none"}`, tools: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := sent(t, test.call)
			same := func(want, field string) {
				if want == "" {
					require.NotContains(t, body, field)
					return
				}
				got, err := json.Marshal(body[field])
				require.NoError(t, err)
				require.JSONEq(t, want, string(got))
			}
			same(test.format, "output_config")
			same(test.choice, "tool_choice")
			tools, _ := body["tools"].([]any)
			require.Len(t, tools, test.tools)
			if test.tools > 0 {
				_, strict := tools[test.tools-1].(map[string]any)["strict"]
				require.Equal(t, test.strict, strict)
			}
		})
	}
}

func TestCheckFormat(t *testing.T) {
	t.Parallel()
	object := func(inside string) string {
		return `{"type":"object","properties":{"x":` + inside + `},"required":["x"],"additionalProperties":false}`
	}
	many := func(n int, of string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"p%d":%s`, i, of))
		}
		return `{"type":"object","properties":{` + strings.Join(list, ",") + `},"additionalProperties":false}`
	}
	defs := func(d string) string {
		return strings.TrimSuffix(object(`{"$ref":"#/$defs/a"}`), "}") + `,"$defs":` + d + "}"
	}
	deep := strings.Repeat(`{"type":"array","items":`, 70) + `{"type":"null"}` + strings.Repeat("}", 70)
	// A ladder of definitions, each of which refers twice to the next.
	var ladder []string
	for i := range 60 {
		next := fmt.Sprintf(`{"$ref":"#/$defs/n%d"}`, i+1)
		ladder = append(ladder, fmt.Sprintf(`"n%d":{"anyOf":[%s,%s]}`, i, next, next))
	}
	for name, test := range map[string]struct{ schema, wrong string }{
		"an object":                {schema: objectSchema},
		"all that is known":        {schema: object(`{"anyOf":[{"type":["string","null"],"format":"date","title":"t","description":"d"},{"enum":[1,"a",null]},{"const":2},{"type":"array","minItems":1,"items":{"type":"boolean"}}]}`)},
		"definitions":              {schema: defs(`{"a":{"allOf":[{"type":"string"}]}}`)},
		"optional":                 {schema: many(24, `{"type":"string"}`)},
		"a draft":                  {schema: `{"$schema":"https://json-schema.org/draft/2020-12/schema",` + objectSchema[1:]},
		"a list at the root":       {schema: `{"type":"array","items":{"type":"string"}}`, wrong: "at the root"},
		"open":                     {schema: `{"type":"object","properties":{}}`, wrong: "additionalProperties"},
		"bounds":                   {schema: object(`{"type":"integer","minimum":1}`), wrong: `"minimum"`},
		"patterns":                 {schema: object(`{"type":"string","pattern":"^a"}`), wrong: `"pattern"`},
		"oneOf":                    {schema: object(`{"oneOf":[{"type":"string"}]}`), wrong: `"oneOf"`},
		"a format":                 {schema: object(`{"type":"string","format":"regex"}`), wrong: `format "regex"`},
		"minItems":                 {schema: object(`{"type":"array","minItems":2,"items":{"type":"null"}}`), wrong: "minItems"},
		"no type":                  {schema: object(`{"description":"anything"}`), wrong: "no type"},
		"a boolean":                {schema: object(`true`), wrong: "not an object"},
		"an enum of objects":       {schema: object(`{"enum":[{"a":1}]}`), wrong: "enum"},
		"itself":                   {schema: defs(`{"a":{"type":"array","items":{"$ref":"#/$defs/b"}},"b":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/a"}]}}`), wrong: "refers to itself"},
		"another place":            {schema: object(`{"$ref":"#/properties/y"}`), wrong: "$ref leads elsewhere"},
		"beside a $ref":            {schema: object(`{"$ref":"#/$defs/a","title":"t"}`), wrong: "beside"},
		"allOf with a $ref":        {schema: defs(`{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"type":"null"}}`), wrong: "allOf"},
		"definitions far down":     {schema: object(`{"type":"string","$defs":{}}`), wrong: "not at the root"},
		"too many optional":        {schema: many(25, `{"type":"string"}`), wrong: "25 properties"},
		"too many unions":          {schema: many(17, `{"type":["string","null"]}`), wrong: "17 places"},
		"too deep":                 {schema: object(deep), wrong: "too deep"},
		"a ladder ends in time":    {schema: defs(`{"a":{"type":"null"},` + strings.Join(ladder, ",") + `,"n60":{"type":"null"}}`), wrong: "60 places"},
		"choices that are no list": {schema: object(`{"anyOf":{}}`), wrong: "anyOf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := provider(t, "http://localhost:1").CheckFormat(domain.LLMConfig{Model: "claude-opus-5"}, domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(test.schema)}, false)
			if test.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.wrong)
			require.ErrorContains(t, err, "response_format.schema")
		})
	}
}

func TestCheckFormatOfModels(t *testing.T) {
	t.Parallel()
	var formatter inference.Formatter = provider(t, "http://localhost:1")
	schema := domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(objectSchema)}
	for model, takes := range map[string]bool{
		"claude-opus-5": true, "claude-haiku-4-5-20251001": true, "claude-sonnet-4-6": true, "claude-opus-4-5": true,
		"claude-sonnet-4-20250514": false, "claude-opus-4-1-20250805": false, "claude-3-5-haiku-latest": false, "glm-5": false,
	} {
		err := formatter.CheckFormat(domain.LLMConfig{Model: model}, schema, false)
		require.Equal(t, takes, err == nil, "%s: %v", model, err)
	}
	newest := domain.LLMConfig{Model: "claude-opus-5"}
	require.NoError(t, formatter.CheckFormat(newest, domain.ResponseFormat{}, false))
	require.ErrorContains(t, formatter.CheckFormat(newest, domain.ResponseFormat{Type: domain.FormatJSON}, false), "response_format.type")
	newest.Options = options("output_config", `{"effort":"low"}`)
	require.NoError(t, formatter.CheckFormat(newest, schema, false))
	newest.Options = options("output_config", `{"format":{"type":"json_schema"}}`)
	require.ErrorContains(t, formatter.CheckFormat(newest, schema, false), "options: output_config")
	newest.Options = options("max_tokens", `-1`)
	require.ErrorContains(t, formatter.CheckFormat(newest, schema, false), "options: max_tokens")
	require.Equal(t, int64(1), provider(t, "http://localhost:1").MinOutputTokens())
	require.Equal(t, "anthropic", anthropic.Name)
}
