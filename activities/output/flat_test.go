package output_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/output"
)

// TestFlat: an API that takes no alternatives at the root gets the properties of all, and of those that it refuses a description.
func TestFlat(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ given, want string }{
		"fine as it is":                        {`{"type":"object",  "properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"type":"object",  "properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`},
		"one or the other":                     {`{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"description":"It fits the JSON Schema {\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}","properties":{"a":{},"b":{}},"type":"object"}`},
		"of different properties":              {`{"type":"object","oneOf":[{"properties":{"k":{"const":1},"a":{}},"required":["k","a"]},{"properties":{"k":{"const":2}},"required":["k"]}]}`, `{"description":"It fits the JSON Schema {\"oneOf\":[{\"properties\":{\"a\":{},\"k\":{\"const\":1}},\"required\":[\"k\",\"a\"]},{\"properties\":{\"k\":{\"const\":2}},\"required\":[\"k\"]}]}","properties":{"a":{},"k":{"anyOf":[{"const":1},{"const":2}]}},"required":["k"],"type":"object"}`},
		"all of them":                          {`{"type":"object","required":["a"],"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}},"required":["b"]}]}`, `{"description":"It fits the JSON Schema {\"allOf\":[{\"properties\":{\"a\":{}}},{\"properties\":{\"b\":{}},\"required\":[\"b\"]}]}","properties":{"a":{},"b":{}},"required":["a","b"],"type":"object"}`},
		"a reference":                          {`{"type":"object","$ref":"#/$defs/A","$defs":{"A":{"properties":{"a":{}},"required":["a"]}}}`, `{"$defs":{"A":{"properties":{"a":{}},"required":["a"]}},"properties":{"a":{}},"required":["a"],"type":"object"}`},
		"a name":                               {`{"type":"object","properties":{"a b":{"type":"string"},"c":{"items":{"properties":{"$d":{}}}}},"required":["a b","c"],"additionalProperties":false}`, `{"description":"It also has the properties {\"a b\":{\"type\":\"string\"}}","properties":{"c":{"items":{"description":"It also has the properties {\"$d\":{}}","properties":{}}}},"required":["c"],"type":"object"}`},
		"a reference to what has alternatives": {`{"type":"object","$ref":"#/definitions/My%20A~1B","definitions":{"My A/B":{"anyOf":[{"properties":{"a":{}}},{"required":["b"]}]}}}`, `{"definitions":{"My A/B":{"anyOf":[{"properties":{"a":{}}},{"required":["b"]}]}},"description":"It fits the JSON Schema {\"allOf\":[{\"anyOf\":[{\"properties\":{\"a\":{}}},{\"required\":[\"b\"]}]}]}","properties":{"a":{}},"type":"object"}`},
		"not both":                             {`{"type":"object","properties":{"a":{},"b":{}},"not":{"required":["a","b"]}}`, `{"description":"It fits the JSON Schema {\"not\":{\"required\":[\"a\",\"b\"]}}","properties":{"a":{},"b":{}},"type":"object"}`},
		"one of three":                         {`{"type":"object","oneOf":[{"properties":{"k":{"const":1}}},{"properties":{"k":{"const":2}}},{"properties":{"k":{"const":1}}},{"properties":{"k":{"const":3}}}]}`, `{"description":"It fits the JSON Schema {\"oneOf\":[{\"properties\":{\"k\":{\"const\":1}}},{\"properties\":{\"k\":{\"const\":2}}},{\"properties\":{\"k\":{\"const\":1}}},{\"properties\":{\"k\":{\"const\":3}}}]}","properties":{"k":{"anyOf":[{"const":1},{"const":2},{"const":3}]}},"type":"object"}`},
		"what only an alternative names":       {`{"type":"object","anyOf":[{"patternProperties":{"^x":{}}}],"unevaluatedProperties":false}`, `{"description":"It fits the JSON Schema {\"anyOf\":[{\"patternProperties\":{\"^x\":{}}}]}","properties":{},"type":"object"}`},
		"an array of anything":                 {`{"type":"object","properties":{"a":{"type":["array","null"]},"b":{"type":"array","prefixItems":[true],"items":false}}}`, `{"properties":{"a":{"items":{},"type":["array","null"]},"b":{"items":false,"prefixItems":[{}],"type":"array"}},"type":"object"}`},
		"anything and nothing":                 {`{"type":"object","properties":{"a":true,"b":false,"c":{"additionalProperties":true}},"additionalProperties":false}`, `{"additionalProperties":false,"properties":{"a":{},"b":{"not":{}},"c":{"additionalProperties":true}},"type":"object"}`},
		"what it requires and does not name":   {`{"type":"object","properties":{"a":{"properties":{},"required":["b"],"additionalProperties":{"type":"string"}}},"required":["c","d e"]}`, `{"description":"It also has the properties {\"d e\":{}}","properties":{"a":{"additionalProperties":{"type":"string"},"properties":{"b":{"type":"string"}},"required":["b"]},"c":{}},"required":["c"],"type":"object"}`},
		"patterns of RE2":                      {`{"type":"object","properties":{"a":{"type":"string","pattern":"^[\\p{L} ]+$"},"b":{"pattern":"(?P<n>a)\\z"},"c":{"pattern":"^\\(?(?:a|\\\\d)\\\\p$"}},"patternProperties":{"^\\pN":{},"^x":{}},"additionalProperties":false}`, `{"description":"It also has the properties {\"^\\\\pN\":{}}","patternProperties":{"^x":{}},"properties":{"a":{"description":"Pattern: ^[\\p{L} ]+$","type":"string"},"b":{"description":"Pattern: (?P\u003cn\u003ea)\\z"},"c":{"pattern":"^\\(?(?:a|\\\\d)\\\\p$"}},"type":"object"}`},
		"no schema":                            {`7`, `7`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := output.Flat(json.RawMessage(c.given))
			require.Equal(t, c.want, string(got))
		})
	}
}

func TestWhatOthersTake(t *testing.T) {
	t.Parallel()
	merged, said := output.Merged(json.RawMessage(`{"type":"object","properties":{"$a":{}},"oneOf":[{"required":["` + strings.Repeat("x", 5000) + `"]}],"not":{"required":["b"]}}`))
	require.Equal(t, `{"description":"It fits the JSON Schema {\"not\":{\"required\":[\"b\"]}}","properties":{"$a":{},"`+strings.Repeat("x", 5000)+`":{}},"required":["`+strings.Repeat("x", 5000)+`"],"type":"object"}`, string(merged))
	require.Equal(t, []string{"oneOf is left out: it is too long to be told in words", "not is told in words"}, said)
	const refused = `{"type":"object","properties":{"a":{"type":"string","pattern":"^x$"},"b":{"$ref":"#/$defs/B"}},"required":["a"],"$defs":{"B":{"minProperties":1}}}`
	told, err := json.Marshal("It fits the JSON Schema " + refused)
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"object","description":`+string(told)+`,"properties":{"a":{"type":"string"},"b":{}},"required":["a"]}`, string(output.Told(json.RawMessage(refused))))
	for given, want := range map[string]string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/A","description":"An A.","minLength":1},"b":{"const":1},"const":{}},"$defs":{"A":{"type":"string"}}}`:                         `{"$defs":{"A":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/A","description":"An A."},"b":{"enum":[1]},"const":{}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/definitions/A"},"b":{"items":{"$ref":"#/definitions/A"},"type":"array"}},"definitions":{"A":{"items":{"$ref":"#/definitions/A"}}}}`: `{"$defs":{"ref1":{"items":{"$ref":"#/$defs/ref1"}}},"properties":{"a":{"$ref":"#/$defs/ref1"},"b":{"items":{"$ref":"#/$defs/ref1"},"type":"array"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"},"c":{"$ref":"#"}},"$defs":{"ref1":{}}}`:                                                        `{"$defs":{"ref1":{},"ref1_":{"type":"string"},"ref2":{"$defs":{"ref1":{}},"properties":{"a":{"type":"string"},"b":{"$ref":"#/$defs/ref1_"},"c":{"$ref":"#/$defs/ref2"}},"type":"object"}},"properties":{"a":{"type":"string"},"b":{"$ref":"#/$defs/ref1_"},"c":{"$ref":"#/$defs/ref2"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/My~1A"},"b":{"$ref":"#/$defs/List%3CB%3E"}},"$defs":{"My/A":{"type":"string"},"List<B>":{"type":"array","items":{}}}}`:        `{"$defs":{"My/A":{"type":"string"},"List<B>":{"type":"array","items":{}},"ref1":{"type":"string"},"ref2":{"type":"array","items":{}}},"properties":{"a":{"$ref":"#/$defs/ref1"},"b":{"$ref":"#/$defs/ref2"}},"type":"object"}`,
	} {
		plain, said := output.Plain(json.RawMessage(given))
		require.JSONEq(t, want, string(plain))
		require.Equal(t, strings.Contains(given, "minLength"), slices.Contains(said, "what stands beside a reference is left out"))
	}
}
