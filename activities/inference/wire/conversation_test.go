package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

func TestBody(t *testing.T) {
	t.Parallel()
	body, err := wire.Body("messages", []json.RawMessage{[]byte(`{"b": "<"}`), []byte(`1.50`)}, map[string]json.RawMessage{
		"z": []byte("1"), `a"`: []byte(`{"x": 2}`),
	})
	require.NoError(t, err)
	require.Equal(t, `{"messages":[{"b": "<"},1.50],"a\"":{"x": 2},"z":1}`, string(body))
}

func TestToolName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"weather": "weather", "azAZ09_-": "azAZ09_-", "`{@[/:": "______", "a.b c/é": "a_b_c__", "": "unnamed", "A-1_z": "A-1_z", strings.Repeat("x", 70): strings.Repeat("x", 64), "\xff": "_",
	} {
		require.Equal(t, want, wire.ToolName(name, 64, ""))
	}
	require.Equal(t, "a.b:c_", wire.ToolName("a.b:c ", 64, ".:"))
}

// TestArguments: what goes back is an object of JSON that every server reads, and says what the model wrote.
func TestArguments(t *testing.T) {
	t.Parallel()
	nested := func(levels int) string {
		return `{"a":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + "}"
	}
	shown := func(text string) string { return string(wire.JSON(map[string]string{"none": text})) }
	quoted := `{"a":"` + strings.Repeat(`[{\"`, 50) + `"}`
	for text, want := range map[string]string{
		"": "{}", " \n": "{}", "\u00a0": "{}", "{}": "{}", " {\"a\":1}\n": " {\"a\":1}\n", `{"a":1,"a":2}`: `{"a":1,"a":2}`,
		"null": shown("null"), "[1]": shown("[1]"), "\v{}": shown("\v{}"), "{}\u0085": shown("{}\u0085"), `{"a":1`: shown(`{"a":1`), "{}{}": shown("{}{}"),
		nested(40): nested(40), nested(41): shown(nested(41)), nested(9_995): shown(nested(9_995)), nested(11_000): shown(nested(11_000)), quoted: quoted,
		"{" + strings.Repeat(`"a":[1],`, 50) + `"b":2}`: "{" + strings.Repeat(`"a":[1],`, 50) + `"b":2}`,
	} {
		require.Equal(t, want, string(wire.Arguments(text, "none")), "%.40q", text)
	}
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

func TestParts(t *testing.T) {
	t.Parallel()
	require.True(t, wire.IsPlain(domain.UserMessage("x")))
	require.False(t, wire.IsPlain(domain.Message{Parts: []domain.Part{{Type: domain.PartText}, {Type: domain.PartImage}}}))
	require.Equal(t, "data:image/png;base64,cA==", wire.DataURL(domain.Part{MediaType: "image/png", Data: []byte("p")}))
	for host, want := range map[string]bool{"API.openai.com": true, "me.openai.azure.com": true, "api.openai.com.evil": false, "openai.azure.com": false, "localhost": false} {
		require.Equal(t, want, wire.API{Server: "https://api.openai.com/v1", OwnDomain: wire.AzuresDomain}.Owns(host), host)
	}
}
