package gemini_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/gemini"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
	"everstep/testsuite/providers"
)

// There are no recordings of this API. The bodies here, and those in testsuite/providers/testdata, were written for these
// tests, by the SDK's types and the API's public documentation, in the forms in
// which others have published answers of Gemini 2.5 to 3.7: events of one JSON
// object each, usage counted up in each of them, the signature of a text in an
// empty part of its own at the end, that of calls on the first of them, and no
// mark of the end but the finish reason.

const testKey = "AIza-test-0123456789"

// event is one event of a stream, with what the API says in each.
func event(candidate, usage string) string {
	if usage == "" {
		usage = `{"promptTokenCount":7,"candidatesTokenCount":2,"totalTokenCount":9}`
	}
	return `data: {"candidates": [` + candidate + `],"usageMetadata": ` + usage + `,"modelVersion": "gemini-3.7-flash","responseId": "WQuqavG5KbfUjMcP"}` + "\r\n\r\n"
}

// says is a candidate with some parts, and with why it stopped where that is
// not empty.
func says(finish string, parts ...string) string {
	out := `{"content": {"parts": [` + strings.Join(parts, ",") + `],"role": "model"},`
	if finish != "" {
		out += `"finishReason": "` + finish + `",`
	}
	return out + `"index": 0}`
}

// bothCalls is a text and parallel calls.
var bothCalls = event(says("", `{"text": "Both."}`, `{"functionCall": {"id": "lpndqlku","name": "weather","args": {"city": "Paris"}},"thoughtSignature": "AY89a19Y"}`), "") +
	event(says("STOP", `{"functionCall": {"id": "m6rogicj","name": "weather","args": {"city": "Tokyo"}}}`, `{"functionCall": {"id": "x","name": "now"}}`), "")

func provider(t *testing.T, url string) *wire.Client {
	t.Helper()
	p, err := wire.New(gemini.API(), wire.Config{BaseURL: url + "/v1beta", Key: wire.FixedKey(testKey)})
	require.NoError(t, err)
	return p
}

func question() inference.Call {
	return inference.Call{
		Config:   domain.LLMConfig{Provider: gemini.Name, Model: "gemini-3.7-flash"},
		Messages: []domain.Message{domain.UserMessage("hello")},
	}
}

func infer(t *testing.T, url string, call inference.Call) (inference.Answer, *domain.Error) {
	t.Helper()
	return providers.Infer(t, provider(t, url), call)
}

// sent returns the body of the request that a call makes.
func sent(t *testing.T, call inference.Call) map[string]any {
	t.Helper()
	var body []byte
	server := providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, event(says("STOP", `{"text": "x"}`), ""))
	})
	_, err := infer(t, server.URL, call)
	require.Nil(t, err)
	out, ok := decoded(t, string(body)).(map[string]any)
	require.True(t, ok)
	return out
}

// decoded keeps numbers as they are written.
func decoded(t require.TestingT, text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var out any
	require.NoError(t, decoder.Decode(&out), text)
	return out
}
