package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openai"
	"everstep/domain"
	"everstep/testsuite/providers"
)

const okay = `{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}]}`

// sentBytes returns the body of the request that a call makes.
func sentBytes(t testing.TB, call inference.Call) []byte {
	t.Helper()
	var body []byte
	server := providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		if r.URL.Path != "/v1/responses" || r.Header.Get("Authorization") != "Bearer "+testKey {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		_, _ = io.WriteString(w, okay)
	})
	_, err := provider(t, server.URL).Infer(t.Context(), call, func(inference.Delta) {})
	require.NoError(t, err)
	return body
}

func sent(t testing.TB, call inference.Call) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal(sentBytes(t, call), &out))
	return out
}

func text(role domain.Role, text string) domain.Message {
	return domain.Message{Role: role, Parts: []domain.Part{{Type: domain.PartText, Text: text}}}
}

const (
	strictSchema = `{"type":"object","properties":{"z":{"type":"integer"},"a":{"type":"integer"}},"required":["z","a"],"additionalProperties":false}`
	looseSchema  = `{"type":"object","properties":{"z":{"type":"integer"},"a":{"type":"integer"}}}`
)

// told is a question whose answer has a format, told in a mode.
func told(mode domain.OutputMode, format domain.ResponseFormat, tools ...domain.ToolSpec) inference.Call {
	return providers.Told(question(), mode, format, tools...)
}

func TestOptions(t *testing.T) {
	t.Parallel()
	providers.Options(t, openai.API(), "m", map[string]string{
		`reasoning {}`: "", `text null`: "", `previous_response_id "r"`: "previous_response_id", `include "x"`: "include", `include [1]`: "include",
		`text "x"`: "text", `max_output_tokens "x"`: "max_output_tokens",
	})
}

// TestNullLeavesOutWhatIsOurs, as it does any field.
func TestNullLeavesOutWhatIsOurs(t *testing.T) {
	t.Parallel()
	call := told(domain.OutputNative, domain.ResponseFormat{Type: domain.FormatJSON})
	require.Contains(t, sent(t, call), "text")
	call.Config.Options = domain.Metadata{"text": []byte("null")}
	require.NotContains(t, sent(t, call), "text")
}

// TestOwnServers: those of the vendor, and of Azure, ask for more than others.
func TestOwnServers(t *testing.T) {
	t.Parallel()
	own, err := wire.New(openai.API(), wire.Config{Key: wire.FixedKey(testKey)})
	require.NoError(t, err)
	azure, err := wire.New(openai.API(), wire.Config{BaseURL: "https://me.openai.azure.com/openai/v1"})
	require.NoError(t, err)
	require.ErrorContains(t, azure.Check(t.Context(), domain.LLMConfig{Model: "m"}), "me.openai.azure.com needs a key")
	require.NoError(t, provider(t, "http://127.0.0.1:1").Check(t.Context(), domain.LLMConfig{Model: "m", MaxOutputTokens: 1}))
	require.ErrorContains(t, own.Check(t.Context(), domain.LLMConfig{Model: "m", MaxOutputTokens: 15}), "max_output_tokens: api.openai.com takes no fewer than 16")
	small := domain.LLMConfig{Model: "m", Options: domain.Metadata{"max_output_tokens": []byte("15")}}
	require.ErrorContains(t, own.Check(t.Context(), small), "no fewer than 16")
	require.EqualValues(t, 16, own.MinOutputTokens())
	list := domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(`{"type":"array"}`)}
	require.ErrorContains(t, own.CheckFormat(domain.LLMConfig{}, list, false), "response_format.schema: api.openai.com takes only schemas of type object")
	require.NoError(t, provider(t, "http://127.0.0.1:1").CheckFormat(domain.LLMConfig{}, list, false))
	require.NoError(t, own.CheckFormat(domain.LLMConfig{Options: domain.Metadata{"text": []byte(`{"verbosity":"low"}`)}}, domain.ResponseFormat{Type: domain.FormatJSON}, false))
	require.ErrorContains(t, own.CheckFormat(domain.LLMConfig{Options: domain.Metadata{"text": []byte(`{"format":{"type":"text"}}`)}}, list, false), "options: text.format")
}
