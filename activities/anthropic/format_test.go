package anthropic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/inference"
	"everstep/domain"
	"everstep/testsuite/providers"
)

const objectSchema = `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}`

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
		"itself":                   {schema: defs(`{"a":{"type":"array","items":{"$ref":"#/$defs/b"}},"b":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/a"}]}}`), wrong: `definition "a" refers to itself`},
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
	require.Equal(t, int64(1), provider(t, "http://localhost:1").MinOutputTokens())
	require.Equal(t, "anthropic", anthropic.Name)
}

func options(pairs ...string) domain.Metadata {
	out := domain.Metadata{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = []byte(pairs[i+1])
	}
	return out
}

func TestOptions(t *testing.T) {
	t.Parallel()
	providers.Options(t, anthropic.API(), "m", map[string]string{
		`top_k 7`: "", `thinking null`: "", `tools []`: "tools", `max_tokens "x"`: "max_tokens", `thinking "hard"`: "thinking",
		`thinking {"type":"enabled","budget_tokens":5}`: "thinking has a budget_tokens",
		`betas ["a\r\nb"]`: "betas", `betas "a"`: "betas", `output_config [1]`: "output_config",
	})
}
