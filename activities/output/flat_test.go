package output_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/output"
)

// TestFlat: an API that takes no alternatives at the root gets the properties of all, and of those that it refuses a description.
func TestFlat(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ given, want string }{
		"fine as it is":           {`{"type":"object",  "properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"type":"object",  "properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`},
		"one or the other":        {`{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{"description":"It fits the JSON Schema {\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}","properties":{"a":{},"b":{}},"type":"object"}`},
		"of different properties": {`{"type":"object","oneOf":[{"properties":{"k":{"const":1},"a":{}},"required":["k","a"]},{"properties":{"k":{"const":2}},"required":["k"]}]}`, `{"description":"It fits the JSON Schema {\"oneOf\":[{\"properties\":{\"a\":{},\"k\":{\"const\":1}},\"required\":[\"k\",\"a\"]},{\"properties\":{\"k\":{\"const\":2}},\"required\":[\"k\"]}]}","properties":{"a":{},"k":{"anyOf":[{"const":1},{"const":2}]}},"required":["k"],"type":"object"}`},
		"all of them":             {`{"type":"object","required":["a"],"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}},"required":["b"]}]}`, `{"description":"It fits the JSON Schema {\"allOf\":[{\"properties\":{\"a\":{}}},{\"properties\":{\"b\":{}},\"required\":[\"b\"]}]}","properties":{"a":{},"b":{}},"required":["a","b"],"type":"object"}`},
		"a reference":             {`{"type":"object","$ref":"#/$defs/A","$defs":{"A":{"properties":{"a":{}},"required":["a"]}}}`, `{"$defs":{"A":{"properties":{"a":{}},"required":["a"]}},"properties":{"a":{}},"required":["a"],"type":"object"}`},
		"a name":                  {`{"type":"object","properties":{"a b":{"type":"string"},"c":{"items":{"properties":{"$d":{}}}}},"required":["a b","c"],"additionalProperties":false}`, `{"description":"It also has the properties {\"a b\":{\"type\":\"string\"}}","properties":{"c":{"items":{"description":"It also has the properties {\"$d\":{}}","properties":{}}}},"required":["c"],"type":"object"}`},
		"no schema":               {`7`, `7`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, string(output.Flat(json.RawMessage(c.given))))
		})
	}
	odd := `{"type":"object","properties":{"$a":{}}}`
	require.Equal(t, odd, string(output.Merged(json.RawMessage(odd))))
	require.Equal(t, `{"$defs":{"A":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/A"},"b":{"enum":[1]},"const":{}},"type":"object"}`, string(output.Plain(json.RawMessage(
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/A","description":"An A."},"b":{"const":1},"const":{}},"$defs":{"A":{"type":"string"}}}`))))
}
