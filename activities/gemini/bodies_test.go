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

// There are no recordings of this API. The bodies here were written for these
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

// A said is what a body means.
type said struct {
	Text, Thought, Finish string
	Calls                 []domain.ToolCall
	Usage                 domain.Usage
}

var bodies = map[string]struct {
	body string
	want said
}{
	"text": {
		body: event(says("", `{"text": "There are **3**"}`), `{"promptTokenCount":9,"candidatesTokenCount":13,"totalTokenCount":324,"thoughtsTokenCount":302}`) +
			event(says("", `{"text": " r's <&> é"}`), "") +
			event(says("STOP", `{"text": "","thoughtSignature": "EqkE/+8gABYp"}`), `{"promptTokenCount":9,"candidatesTokenCount":23,"totalTokenCount":334,"thoughtsTokenCount":302}`),
		want: said{Text: "There are **3** r's <&> é", Finish: "STOP", Usage: domain.Usage{InputTokens: 9, OutputTokens: 325, ReasoningTokens: 302}},
	},
	"thoughts": {
		body: event(says("", `{"text": "Let me see. ","thought": true}`), "") + event(says("", `{"text": "Hm.","thought": true}`), "") +
			event(says("", `{"text": "hel"}`), "") + event(says("STOP", `{"text": "lo","thoughtSignature": "c2ln"}`), `{"promptTokenCount":6,"candidatesTokenCount":1,"totalTokenCount":83,"thoughtsTokenCount":76}`),
		want: said{Text: "hello", Thought: "Let me see. Hm.", Finish: "STOP", Usage: domain.Usage{InputTokens: 6, OutputTokens: 77, ReasoningTokens: 76}},
	},
	"one call": {
		body: event(says("", `{"functionCall": {"name": "weather","args": {"city": "San Francisco","days": 10000000000000001}},"thoughtSignature": "EpEgCo4gAb4+9w=="}`), "") +
			event(says("STOP", `{"text": ""}`), `{"promptTokenCount":29,"candidatesTokenCount":15,"totalTokenCount":848,"thoughtsTokenCount":804}`),
		want: said{Finish: "STOP", Calls: []domain.ToolCall{{Name: "weather", Arguments: `{"city": "San Francisco","days": 10000000000000001}`}},
			Usage: domain.Usage{InputTokens: 29, OutputTokens: 819, ReasoningTokens: 804}},
	},
	"parallel calls with ids": {
		body: event(says("", `{"text": "Both."}`, `{"functionCall": {"id": "lpndqlku","name": "weather","args": {"city": "Paris"}},"thoughtSignature": "AY89a19Y"}`), "") +
			event(says("STOP", `{"functionCall": {"id": "m6rogicj","name": "weather","args": {"city": "Tokyo"}}}`, `{"functionCall": {"id": "x","name": "now"}}`), `{"promptTokenCount":29,"candidatesTokenCount":15,"totalTokenCount":44,"cachedContentTokenCount":20}`),
		want: said{Text: "Both.", Finish: "STOP", Calls: []domain.ToolCall{
			{ID: "lpndqlku", Name: "weather", Arguments: `{"city": "Paris"}`}, {ID: "m6rogicj", Name: "weather", Arguments: `{"city": "Tokyo"}`}, {ID: "x", Name: "now", Arguments: `{}`},
		}, Usage: domain.Usage{InputTokens: 29, OutputTokens: 15, CacheReadTokens: 20}},
	},
	"text after a call": {
		body: event(says("STOP", `{"text": "a"}`, `{"functionCall": {"name": "f","args": {}}}`, `{"text": "b"}`), ""),
		want: said{Text: "ab", Finish: "STOP", Calls: []domain.ToolCall{{Name: "f", Arguments: `{}`}}, Usage: domain.Usage{InputTokens: 7, OutputTokens: 2}},
	},
	"parts of other kinds": {
		body: event(says("", `{"executableCode": {"language": "PYTHON","code": "print(1)"},"thoughtSignature": "YWJj"}`), "") +
			event(says("", `{"codeExecutionResult": {"outcome": "OUTCOME_OK","output": "1\n"}}`), "") +
			event(says("STOP", `{"text": "One.","partMetadata": {"k": 1.50}}`), `{"promptTokenCount":55,"candidatesTokenCount":51,"totalTokenCount":251,"toolUsePromptTokenCount":89,"thoughtsTokenCount":56}`),
		want: said{Text: "One.", Finish: "STOP", Usage: domain.Usage{InputTokens: 144, OutputTokens: 107, ReasoningTokens: 56}},
	},
	"more than is known": {
		body: event(says("STOP", `{"text": "x","partMetadata": {"k": 1.50,"k<": "&"}}`), ""),
		want: said{Text: "x", Finish: "STOP", Usage: domain.Usage{InputTokens: 7, OutputTokens: 2}},
	},
	"cut by the limit": {
		body: event(says("", `{"text": "The sto"}`), "") + event(`{"finishReason": "MAX_TOKENS","index": 0}`, `{"promptTokenCount":7,"totalTokenCount":23,"thoughtsTokenCount":16}`),
		want: said{Text: "The sto", Finish: "MAX_TOKENS", Usage: domain.Usage{InputTokens: 7, OutputTokens: 16, ReasoningTokens: 16}},
	},
	"filtered": {
		body: event(says("", `{"text": "Well, "}`), "") + event(`{"finishReason": "RECITATION","index": 0,"citationMetadata": {"citationSources": [{"startIndex": 0}]}}`, ""),
		want: said{Text: "Well, ", Finish: "RECITATION", Usage: domain.Usage{InputTokens: 7, OutputTokens: 2}},
	},
}

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

func ours(a inference.Answer) said {
	out := said{Text: a.Message.Text(), Finish: a.Response.FinishWord, Calls: a.Message.ToolCalls, Usage: a.Response.Usage}
	for _, p := range a.Message.Parts {
		if p.Type == domain.PartReasoning {
			out.Thought += p.Text
		}
	}
	return out
}
