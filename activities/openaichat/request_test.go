package openaichat_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/testsuite/providers"
)

// sent returns the body of the request that a call makes.
func sent(t *testing.T, call inference.Call) map[string]any {
	t.Helper()
	var body []byte
	server := providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer sk-test-0123456789" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)
	})
	_, err := infer(t, server.URL, call)
	require.Nil(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(body, &out))
	return out
}

// TestDialects: what a vendor's servers take otherwise than most is what differs.
func TestDialects(t *testing.T) {
	t.Parallel()
	calls := []domain.ToolCall{{ID: "call_1", Name: "f", Arguments: "{}"}, {ID: "abc123XYZ", Name: "f", Arguments: "{}"}}
	vendor := wire.API{Name: "made-up", Server: "https://api.made-up.example/v1", Variables: "MADE_UP"}
	call := question()
	call.MaxOutputTokens = 9
	call.Messages = []domain.Message{
		{Role: domain.RoleDeveloper, Parts: []domain.Part{{Type: domain.PartText, Text: "be brief"}}}, domain.UserMessage("hello"),
		{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartReasoning, Text: "hm", Signature: "reasoning"}}, ToolCalls: calls},
		domain.ToolMessage(domain.ToolResult{CallID: "call_1", Content: "1"}), domain.ToolMessage(domain.ToolResult{CallID: "abc123XYZ", Content: "2"}),
	}
	const plain = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":9,"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hello"},
		{"role":"assistant","reasoning":"hm","tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"abc123XYZ","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"call_1","content":"1"},{"role":"tool","tool_call_id":"abc123XYZ","content":"2"}]}`
	for name, test := range map[string]struct {
		dialect  openaichat.Dialect
		old, new string
	}{
		"as most":           {old: " ", new: " "},
		"another bound":     {openaichat.Dialect{Without: []string{"max_tokens"}}, `"max_tokens"`, `"max_completion_tokens"`},
		"developers":        {openaichat.Dialect{Developer: true}, `"system"`, `"developer"`},
		"no reasoning":      {openaichat.Dialect{NothingBack: true}, `"reasoning":"hm",`, ``},
		"no stream options": {openaichat.Dialect{Without: []string{"stream_options"}}, `"stream_options":{"include_usage":true},`, ``},
		"ids of nine":       {openaichat.Dialect{Without: []string{"free ids"}}, `"call_1"`, `"000000001"`},
		"an empty content":  {openaichat.Dialect{Without: []string{"no content"}}, `"reasoning":"hm"`, `"content":"","reasoning":"hm"`},
		"only its own":      {openaichat.Dialect{Without: []string{"max_tokens"}, OfficialOnly: true}, " ", " "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body []byte
			server := providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ = io.ReadAll(r.Body)
				_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)
			})
			test.dialect.Vendor = vendor
			p, err := wire.New(test.dialect.API(), wire.Config{BaseURL: server.URL})
			require.NoError(t, err)
			call := call
			call.Config.Provider = vendor.Name
			_, failed := providers.Infer(t, p, call)
			require.Nil(t, failed)
			require.JSONEq(t, strings.NewReplacer(test.old, test.new).Replace(plain), string(body))
		})
	}
	p, err := wire.New(openaichat.Dialect{Vendor: vendor}.API(), wire.Config{})
	require.NoError(t, err)
	err = p.Check(t.Context(), domain.LLMConfig{Provider: "made-up", Model: "m"})
	require.EqualError(t, err, "MADE_UP_API_KEY: is not set on the worker, and api.made-up.example needs a key")
	require.Equal(t, "made-up", domain.AsError(err).Source)
}

// TestAllOfALongThinkingGoesBack, as servers refuse a part of one.
func TestAllOfALongThinkingGoesBack(t *testing.T) {
	t.Parallel()
	var body []byte
	blocks := `[{"type":"thinking","thinking":"` + strings.Repeat("hm ", 100_000) + `","signature":"s"}]`
	server := providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"x","thinking_blocks":`+blocks+`},"finish_reason":"stop"}]}`)
	})
	call := question()
	for range 2 {
		answer, failed := infer(t, server.URL, call)
		require.Nil(t, failed)
		call.Messages = append(call.Messages, answer.Message)
	}
	require.Contains(t, string(body), `"thinking_blocks":`+blocks)
}
