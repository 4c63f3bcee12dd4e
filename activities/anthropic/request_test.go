package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// caught returns the request that a call makes.
func caught(t *testing.T, call inference.Call) (http.Header, map[string]any) {
	t.Helper()
	var header http.Header
	var body []byte
	url := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		body, _ = io.ReadAll(r.Body)
		if r.URL.Path != "/v1/messages" || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		_, _ = io.WriteString(w, whole)
	})
	_, err := infer(t, url, call)
	require.Nil(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(body, &out))
	return header, out
}

func sent(t *testing.T, call inference.Call) map[string]any {
	t.Helper()
	_, body := caught(t, call)
	return body
}

func jsonOf(t *testing.T, text string) any {
	t.Helper()
	var out any
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}

func result(id, content string) domain.Message {
	return domain.ToolMessage(domain.ToolResult{CallID: id, Name: "f", Content: content})
}

func calls(ids ...string) domain.Message {
	m := domain.Message{Role: domain.RoleAssistant}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, domain.ToolCall{ID: id, Name: "f", Arguments: "{}"})
	}
	return m
}

func options(pairs ...string) domain.Metadata {
	out := domain.Metadata{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = []byte(pairs[i+1])
	}
	return out
}

const objectSchema = `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}`

func TestRequest(t *testing.T) {
	t.Parallel()
	half := 0.5
	call := inference.Call{
		Config: domain.LLMConfig{Provider: anthropic.Name, Model: "claude-sonnet-4-5", Temperature: &half,
			Options: options("top_k", "7", "service_tier", "null", "betas", `["a-1","b-2"]`, "output_config", `{"effort":"low"}`, "thinking", `{"type":"adaptive"}`)},
		System:          "be brief",
		Messages:        []domain.Message{domain.UserMessage("<hello> & \u2028 \x00")},
		Tools:           []domain.ToolSpec{{Name: "f", Description: "does it", Schema: []byte(`{"type":"object","properties":{"x":{"type":"integer"}}}`)}, {Name: "g", Schema: []byte(`{"properties":{}}`)}, {Name: "h"}},
		Format:          domain.ResponseFormat{Type: domain.FormatSchema, Name: "out", Schema: []byte(`{"$schema":"x",` + objectSchema[1:])},
		OutputMode:      domain.OutputNative,
		MaxOutputTokens: 99,
	}
	header, body := caught(t, call)
	require.Equal(t, jsonOf(t, `{
		"model": "claude-sonnet-4-5", "stream": true, "temperature": 0.5, "top_k": 7, "max_tokens": 99, "thinking": {"type":"adaptive"},
		"system": [{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],
		"messages": [{"role":"user","content":[{"type":"text","text":"<hello> & \u2028 \u0000","cache_control":{"type":"ephemeral"}}]}],
		"tools": [{"name":"f","description":"does it","input_schema":{"type":"object","properties":{"x":{"type":"integer"}}}},
			{"name":"g","input_schema":{"type":"object","properties":{}}},
			{"name":"h","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],
		"output_config": {"effort":"low","format":{"type":"json_schema","schema":`+objectSchema+`}}
	}`), any(body))
	require.Equal(t, testKey, header.Get("X-Api-Key"))
	require.Equal(t, "2023-06-01", header.Get("Anthropic-Version"))
	require.Equal(t, "a-1,b-2", header.Get("Anthropic-Beta"))
	for _, absent := range []string{"Authorization", "Idempotency-Key"} {
		require.Empty(t, header.Get(absent))
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	thinks := func(budget string) string { return `{"type":"enabled","budget_tokens":` + budget + `}` }
	tests := map[string]struct {
		options   domain.Metadata
		call, own int64
		want      float64
		budget    any
	}{
		"none":                          {want: 8192},
		"of the call":                   {call: 9, want: 9},
		"of the definition":             {own: 5, call: 9, want: 5},
		"of the options":                {options: options("max_tokens", "3"), call: 9, want: 3},
		"never above":                   {options: options("max_tokens", "30"), call: 9, want: 9},
		"null":                          {options: options("max_tokens", "null"), want: 8192},
		"thinking on top":               {options: options("thinking", thinks("4000")), want: 12192, budget: 4000.0},
		"thinking within":               {options: options("thinking", thinks("4000")), call: 4001, want: 4001, budget: 4000.0},
		"thinking gives way":            {options: options("thinking", thinks("4000")), call: 4000, want: 4000, budget: 2000.0},
		"no room for thinking":          {options: options("thinking", thinks("4000")), call: 2047, want: 2047},
		"thinking as the model likes":   {options: options("thinking", `{"type":"adaptive"}`), call: 10, want: 10},
		"thinking off, with max_tokens": {options: options("thinking", `{"type":"disabled"}`, "max_tokens", "20"), want: 20},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := question()
			call.MaxOutputTokens, call.Config.MaxOutputTokens, call.Config.Options = test.call, test.own, test.options
			body := sent(t, call)
			require.Equal(t, test.want, body["max_tokens"])
			thinking, _ := body["thinking"].(map[string]any)
			require.Equal(t, test.budget, thinking["budget_tokens"])
			require.Equal(t, test.budget != nil || test.options["thinking"] != nil && !strings.Contains(string(test.options["thinking"]), "budget"), thinking != nil)
		})
	}
}

// TestMessages writes conversations in the API's form. Marks for the cache are
// left out here.
func TestMessages(t *testing.T) {
	t.Parallel()
	says := func(role domain.Role, texts ...string) domain.Message {
		m := domain.Message{Role: role}
		for _, text := range texts {
			m.Parts = append(m.Parts, domain.Part{Type: domain.PartText, Text: text})
		}
		return m
	}
	part := func(p domain.Part) domain.Message {
		return domain.Message{Role: domain.RoleUser, Parts: []domain.Part{p}}
	}
	pictured := func(id, text string) domain.Message {
		m := result(id, text)
		m.Parts = []domain.Part{{Type: domain.PartImage, MediaType: "image/png", Data: []byte("p")}}
		return m
	}
	failed := pictured("b", "2")
	failed.ToolResult.IsError = true
	odd := calls("a b", "")
	odd.ToolCalls[0].Name, odd.ToolCalls[0].Arguments = "f.x/é", "x = 1"
	odd.ToolCalls[1].Name, odd.ToolCalls[1].Arguments = "", ""
	user := func(content string) string { return `[{"role":"user","content":[` + content + `]}]` }
	tests := map[string]struct {
		messages []domain.Message
		want     string
	}{
		"two in a row": {messages: []domain.Message{domain.UserMessage("a"), domain.UserMessage("b")}, want: user(`{"type":"text","text":"a"},{"type":"text","text":"b"}`)},
		"blank":        {messages: []domain.Message{says(domain.RoleUser, " \n", "a", "")}, want: user(`{"type":"text","text":"a"}`)},
		"results, then words": {messages: []domain.Message{domain.UserMessage("q"), calls("a", "b"), result("a", "1"), domain.UserMessage("hurry"), domain.ToolMessage(domain.ToolResult{CallID: "b", Content: " ", IsError: true}), domain.UserMessage("!")},
			want: `[{"role":"user","content":[{"type":"text","text":"q"}]},
				{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"1"}]},{"type":"tool_result","tool_use_id":"b","is_error":true},{"type":"text","text":"hurry"},{"type":"text","text":"!"}]}]`},
		"a result with an image, and one that failed": {messages: []domain.Message{domain.UserMessage("q"), calls("a", "b"), pictured("a", "1"), failed},
			want: `[{"role":"user","content":[{"type":"text","text":"q"}]},
				{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"1"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cA=="}}]},
					{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"2"}]}]}]`},
		"odd calls": {messages: []domain.Message{domain.UserMessage("q"), odd, result("a b", "1"), result("", "2")},
			want: `[{"role":"user","content":[{"type":"text","text":"q"}]},
				{"role":"assistant","content":[{"type":"tool_use","id":"call_1_0","name":"f_x__","input":{"INVALID_JSON":"x = 1"}},{"type":"tool_use","id":"call_1_1","name":"unnamed","input":{}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1_0","content":[{"type":"text","text":"1"}]},{"type":"tool_result","tool_use_id":"call_1_1","content":[{"type":"text","text":"2"}]}]}]`},
		"the model has the first and the last word": {messages: []domain.Message{says(domain.RoleAssistant, "a"), says(domain.RoleAssistant, ""), says(domain.RoleAssistant, "b ")},
			want: `[{"role":"user","content":[{"type":"text","text":"Continue."}]},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b "}]},{"role":"user","content":[{"type":"text","text":"Continue."}]}]`},
		"an instruction later on": {messages: []domain.Message{domain.UserMessage("a"), says(domain.RoleDeveloper, "be nice"), says(domain.RoleSystem, " ")},
			want: user(`{"type":"text","text":"a"},{"type":"text","text":"<system>\nbe nice\n</system>"}`)},
		"another's thinking": {messages: []domain.Message{domain.UserMessage("a"), {Role: domain.RoleAssistant, Parts: []domain.Part{
			{Type: domain.PartReasoning, Text: "hm", Signature: "reasoning_content"}, {Type: domain.PartReasoning, Opaque: []byte(`[{"type":"thinking"}]`)},
			{Type: domain.PartReasoning, Opaque: []byte(`{"type":"redacted_thinking","data":"x"}`)}, {Type: domain.PartText, Text: "b"}}}, domain.UserMessage("c")},
			want: `[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"b"}]},{"role":"user","content":[{"type":"text","text":"c"}]}]`},
		"a picture by URL":      {messages: []domain.Message{part(domain.Part{Type: domain.PartImage, URL: "https://a/b.png"})}, want: user(`{"type":"image","source":{"type":"url","url":"https://a/b.png"}}`)},
		"a picture as data":     {messages: []domain.Message{part(domain.Part{Type: domain.PartImage, MediaType: "image/jpg", Data: []byte("p")})}, want: user(`{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"cA=="}}`)},
		"a picture in its URL":  {messages: []domain.Message{part(domain.Part{Type: domain.PartImage, URL: "data:image/png;base64,cA=="})}, want: user(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cA=="}}`)},
		"a picture of no type":  {messages: []domain.Message{part(domain.Part{Type: domain.PartImage, Data: []byte("GIF89a")})}, want: user(`{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"R0lGODlh"}}`)},
		"a picture as a file":   {messages: []domain.Message{part(domain.Part{Type: domain.PartFile, MediaType: "image/webp", Data: []byte("p")})}, want: user(`{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"cA=="}}`)},
		"a document as data":    {messages: []domain.Message{part(domain.Part{Type: domain.PartFile, MediaType: "application/pdf", Filename: "a.pdf", Data: []byte("p")})}, want: user(`{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"cA=="}}`)},
		"a document by URL":     {messages: []domain.Message{part(domain.Part{Type: domain.PartFile, URL: "https://a/b.pdf"})}, want: user(`{"type":"document","source":{"type":"url","url":"https://a/b.pdf"}}`)},
		"a text file":           {messages: []domain.Message{part(domain.Part{Type: domain.PartFile, MediaType: "text/csv; charset=utf-8", Data: []byte("a,b")})}, want: user(`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a,b"}}`)},
		"a text file, no types": {messages: []domain.Message{part(domain.Part{Type: domain.PartFile, Data: []byte("a,b")})}, want: user(`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a,b"}}`)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := question()
			call.Messages, call.Config.Options = test.messages, options("cache_control", "null")
			require.Equal(t, jsonOf(t, test.want), sent(t, call)["messages"])
		})
	}
}

func TestSystemComesFirst(t *testing.T) {
	t.Parallel()
	call := question()
	call.System = "a"
	call.Messages = []domain.Message{{Role: domain.RoleDeveloper, Parts: []domain.Part{{Type: domain.PartText, Text: "b"}}}, domain.UserMessage("c")}
	require.Equal(t, jsonOf(t, `[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]`), sent(t, call)["system"])
}

// TestPartsThatCannotBeSent are errors that name the message and the part.
func TestPartsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	for says, p := range map[string]domain.Part{
		"audio":                 {Type: domain.PartAudio, MediaType: "audio/wav", Data: []byte("x")},
		"image/tiff":            {Type: domain.PartImage, MediaType: "image/tiff", Data: []byte("x")},
		"application/zip":       {Type: domain.PartFile, MediaType: "application/zip", Data: []byte("x")},
		"as data only":          {Type: domain.PartFile, MediaType: "text/plain", URL: "https://a/b.txt"},
		"text in UTF-8":         {Type: domain.PartFile, MediaType: "text/plain", Data: []byte("\xff")},
		"is empty":              {Type: domain.PartFile},
		"is not base64":         {Type: domain.PartImage, URL: "data:image/png,x"},
		"a user cannot send":    {Type: domain.PartReasoning, Text: "x"},
		"none has any content;": {Type: domain.PartText, Text: " "},
	} {
		call := question()
		call.Messages = []domain.Message{{Role: domain.RoleUser, Parts: []domain.Part{{Type: domain.PartText}, p}}}
		call.Sent = func() { t.Error("nothing was sent") }
		_, err := infer(t, "http://127.0.0.1:1", call)
		require.NotNil(t, err)
		require.Equal(t, domain.Invalid, err.Kind)
		require.Contains(t, err.Message, says)
		if p.Type != domain.PartText {
			require.Contains(t, err.Message, "message 0, part 1: ")
		}
	}
}

// TestCacheMarks: at most four, at places that the next request has too.
func TestCacheMarks(t *testing.T) {
	t.Parallel()
	call := question()
	call.System, call.Tools = "s", []domain.ToolSpec{{Name: "f"}, {Name: "g"}}
	call.Messages = []domain.Message{domain.UserMessage("a"), calls("1"), result("1", "x"), calls("2"), result("2", "y")}
	marks := func(call inference.Call) int {
		data, err := json.Marshal(sent(t, call))
		require.NoError(t, err)
		return strings.Count(string(data), `"cache_control":{"type":"ephemeral"}`)
	}
	require.Equal(t, 4, marks(call))
	list := sent(t, call)["messages"].([]any)
	last := func(i int) any {
		content := list[i].(map[string]any)["content"].([]any)
		return content[len(content)-1].(map[string]any)["cache_control"]
	}
	require.Nil(t, last(0))
	require.NotNil(t, last(2))
	require.NotNil(t, last(4))

	summary := call
	summary.Summary = true
	require.Equal(t, 2, marks(summary), "a summary's own messages are asked once")
	call.Config.Options = options("cache_control", `{"type":"ephemeral"}`)
	require.Equal(t, 1, marks(call), "the user's own in place of ours")
	call.Config.Options = options("cache_control", "null")
	require.Equal(t, 0, marks(call))
}

func TestCheck(t *testing.T) {
	t.Parallel()
	local, official := wire.Config{BaseURL: "http://127.0.0.1:8000/v1"}, wire.Config{}
	tests := map[string]struct {
		config  wire.Config
		options domain.Metadata
		model   string
		url     string
		code    domain.Code
		wrong   string
	}{
		"no key needed":      {config: local, model: "m"},
		"no key at home":     {config: official, model: "m", code: domain.CodeAuth, wrong: "ANTHROPIC_API_KEY"},
		"no model":           {config: local, model: " ", code: domain.CodeModelNotFound, wrong: "model"},
		"another URL":        {config: local, model: "m", url: "https://elsewhere", wrong: "base_url"},
		"options":            {config: local, model: "m", options: options("top_k", "7", "thinking", "null")},
		"an option of ours":  {config: local, model: "m", options: options("tools", "[]"), wrong: "options: tools"},
		"a bound of letters": {config: local, model: "m", options: options("max_tokens", `"x"`), wrong: "options: max_tokens"},
		"thinking in words":  {config: local, model: "m", options: options("thinking", `"hard"`), wrong: "options: thinking"},
		"little thinking":    {config: local, model: "m", options: options("thinking", `{"type":"enabled","budget_tokens":5}`), wrong: "options: thinking has a budget_tokens"},
		"a beta of two":      {config: local, model: "m", options: options("betas", `["a\r\nb"]`), wrong: "options: betas"},
		"betas in a text":    {config: local, model: "m", options: options("betas", `"a"`), wrong: "options: betas"},
		"no output_config":   {config: local, model: "m", options: options("output_config", `[1]`), wrong: "options: output_config"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := wire.New(anthropic.API(), test.config)
			require.NoError(t, err)
			config := domain.LLMConfig{Provider: anthropic.Name, Model: test.model, BaseURL: test.url, Options: test.options}
			err = p.Check(t.Context(), config)
			if test.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.wrong)
			failed, ok := errors.AsType[*domain.Error](err)
			require.True(t, ok)
			require.Equal(t, test.code, failed.Code)
			require.False(t, failed.Kind.Retryable())
			_, err = p.Infer(t.Context(), inference.Call{Config: config}, func(inference.Delta) {})
			require.Error(t, err)
		})
	}
}
