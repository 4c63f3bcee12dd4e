package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
)

func TestBody(t *testing.T) {
	t.Parallel()
	body := wire.Body("messages", [][]byte{[]byte(`{"b": "<"}`), []byte(`1.50`)}, map[string]json.RawMessage{
		"z": []byte("1"), "messages": []byte(`[]`), `a"`: []byte(`{"x": 2}`),
	})
	require.Equal(t, `{"messages":[{"b": "<"},1.50],"a\"":{"x": 2},"z":1}`, string(body))
	require.Equal(t, `{"input":[]}`, string(wire.Body("input", nil, nil)))
}

func TestToolName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"weather": "weather", "a.b c/é": "a_b_c__", "": "unnamed", "A-1_z": "A-1_z", strings.Repeat("x", 70): strings.Repeat("x", 64), "\xff": "_",
	} {
		require.Equal(t, want, wire.ToolName(name, 64, ""))
	}
	require.Equal(t, "a.b:c_", wire.ToolName("a.b:c ", 64, ".:"))
}

func TestParameters(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		``:                                    `{"type":"object","properties":{}}`,
		`{"type":"object"}`:                   `{"properties":{},"type":"object"}`,
		`{"type":"object","title":"none"}`:    `{"properties":{},"title":"none","type":"object"}`,
		`{"type":"object","properties":null}`: `{"type":"object","properties":null}`,
		`{"properties":{"b":{},"a":{}},"type":"object"}`: `{"properties":{"b":{},"a":{}},"type":"object"}`,
		`{"$ref":"#/$defs/a"}`:                           `{"$ref":"#/$defs/a"}`,
		`true`:                                           `true`,
	} {
		require.Equal(t, want, string(wire.Parameters(json.RawMessage(schema))))
	}
}
