package wire_test

import (
	"encoding/json"
	"math"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// TestTextAndCount: what servers write otherwise is no failure.
func TestTextAndCount(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]struct {
		text  wire.Text
		count wire.Count
	}{
		`"a\n"`: {"a\n", 0}, `null`: {"", 0}, "12\t": {"12", 12}, `{"a":1}`: {`{"a":1}`, 0}, `-1`: {"-1", 0}, `1.9`: {"1.9", 1}, `0`: {"0", 0},
		`2199023254528`: {"2199023254528", math.MaxInt32 << 10}, `2199023254529`: {"2199023254529", 0}, `"7"`: {"7", 0},
	} {
		var text wire.Text
		var count wire.Count
		require.NoError(t, json.Unmarshal([]byte(data), &text))
		require.NoError(t, json.Unmarshal([]byte(data), &count))
		require.Equal(t, want.text, text)
		require.Equal(t, want.count, count, data)
	}
	var text wire.Text
	require.NoError(t, text.UnmarshalJSON(nil))
	require.Empty(t, text)
	require.Error(t, text.UnmarshalJSON([]byte(`"a`)))
}

func TestPresent(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", " null ", "{}", `""`, "[]", "false", "0", `{"a":{"b":[0.0,"",null,false]}}`, "{oops"} {
		require.False(t, wire.Present([]byte(data)), data)
	}
	for _, data := range []string{"true", `{"a":1}`, `[[{"a":" "}]]`, "-0.1", "[1e999]"} {
		require.True(t, wire.Present([]byte(data)), data)
	}
}

// TestFields: options stand over what the SDK and the definition say.
func TestFields(t *testing.T) {
	t.Parallel()
	half := 0.5
	fields, err := wire.Fields(json.RawMessage(`{"a":1,"b":2,"c":3}`), domain.LLMConfig{Temperature: &half, TopP: &half}, domain.Metadata{
		"b": []byte("[4]"), "c": []byte("null"), "top_p": []byte("1"),
	})
	require.NoError(t, err)
	encoded, err := json.Marshal(fields)
	require.NoError(t, err)
	require.JSONEq(t, `{"a":1,"b":[4],"stream":true,"temperature":0.5,"top_p":1}`, string(encoded))
	_, err = wire.Fields(json.RawMessage(`[]`), domain.LLMConfig{}, nil)
	require.Error(t, err)
}

func TestFormat(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	for want, call := range map[string]inference.Call{
		`null`:                   {Format: domain.ResponseFormat{Type: domain.FormatJSON}},
		`{"type":"json_object"}`: {OutputMode: domain.OutputNative, Format: domain.ResponseFormat{Type: domain.FormatJSON}},
		`{"type":"json_schema","name":"answer","strict":true,"schema":` + schema + `}`: {
			OutputMode: domain.OutputNative, Format: domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(schema)}},
		`{"type":"json_schema","name":"n","strict":false,"schema":{"type":"object"}}`: {
			OutputMode: domain.OutputNative, Format: domain.ResponseFormat{Type: domain.FormatSchema, Name: "n", Schema: []byte(`{"type":"object"}`)}},
	} {
		encoded, err := json.Marshal(wire.Format(call))
		require.NoError(t, err)
		require.JSONEq(t, want, string(encoded))
	}
	require.Nil(t, wire.Format(inference.Call{OutputMode: domain.OutputNative}))
}

func TestToolChoice(t *testing.T) {
	t.Parallel()
	one, two := []domain.ToolSpec{{Name: "out"}}, []domain.ToolSpec{{Name: "out"}, {Name: "f"}}
	require.Nil(t, wire.ToolChoice(inference.Call{Tools: one}, false))
	require.Equal(t, "required", wire.ToolChoice(inference.Call{Tools: two, OutputTool: "out"}, true))
	flat, nested := wire.ToolChoice(inference.Call{Tools: one, OutputTool: "out"}, false), wire.ToolChoice(inference.Call{Tools: one, OutputTool: "out"}, true)
	require.Equal(t, map[string]any{"type": "function", "name": "out"}, flat)
	require.Equal(t, map[string]any{"type": "function", "function": map[string]any{"name": "out"}}, nested)
}

// TestDecode: an error inside of an answer is no answer, nor is another form.
func TestDecode(t *testing.T) {
	t.Parallel()
	for data, test := range map[string]struct {
		event string
		kind  domain.Kind
		code  domain.Code
	}{
		`{"error":{"type":"rate_limit"}}`: {"", domain.Throttled, ""},
		`{"type":"rate_limit"}`:           {"error", domain.Throttled, ""},
		`[]`:                              {"", domain.Unavailable, domain.CodeMalformed},
	} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
		var out, okay reply
		_ = ask(t, wire.Config{BaseURL: server}, question(), func(a *wire.Attempt) (wire.Request, wire.Decoder) {
			failed := failure(t, a.Decode(wire.Event{Name: test.event, Data: []byte(data)}, &out, "another form"))
			require.Equal(t, test.kind, failed.Kind, data)
			require.Equal(t, test.code, failed.Code, data)
			require.NoError(t, a.Decode(wire.Event{Data: []byte(`{"text":"x"}`)}, &okay, ""))
			require.Equal(t, "x", okay.Text)
			return says(a)
		})
	}
}

type reply struct {
	Text  string          `json:"text"`
	Error json.RawMessage `json:"error"`
}

func (r reply) Failed() bool { return wire.Present(r.Error) }
