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

func jsonOf(t *testing.T, text string) any {
	t.Helper()
	var out any
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}

func TestRequest(t *testing.T) {
	t.Parallel()
	half := 0.5
	call := inference.Call{
		Config:          domain.LLMConfig{Provider: openaichat.Name, Model: "m", Temperature: &half, Options: domain.Metadata{"seed": []byte("7"), "stream_options": []byte("null")}},
		System:          "be brief",
		Messages:        []domain.Message{domain.UserMessage("<hello> & \u2028 \x00")},
		Tools:           []domain.ToolSpec{{Name: "f", Description: "does it", Schema: []byte(`{"type":"object","properties":{"x":{"type":"integer"}}}`)}},
		Format:          domain.ResponseFormat{Type: domain.FormatSchema, Name: "out", Schema: []byte(`{"type":"object"}`)},
		OutputMode:      domain.OutputNative,
		MaxOutputTokens: 99,
	}
	require.Equal(t, jsonOf(t, `{
		"model": "m", "stream": true, "temperature": 0.5, "seed": 7, "max_tokens": 99,
		"messages": [{"role":"system","content":"be brief"}, {"role":"user","content":"<hello> & \u2028 \u0000"}],
		"tools": [{"type":"function","function":{"name":"f","description":"does it","parameters":{"type":"object","properties":{"x":{"type":"integer"}}}}}],
		"response_format": {"type":"json_schema","json_schema":{"name":"out","strict":false,"schema":{"type":"object"}}}
	}`), any(sent(t, call)))
}

// TestToolsWithoutArguments: servers want to be told of properties, be it none.
func TestToolsWithoutArguments(t *testing.T) {
	t.Parallel()
	call := question()
	call.Tools = []domain.ToolSpec{{Name: "f"}, {Name: "g", Schema: []byte(`{"type":"object"}`)}}
	require.Equal(t, jsonOf(t, `[
		{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}},
		{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}}
	]`), sent(t, call)["tools"])
}

func TestTokenBound(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options    domain.Metadata
		call, own  int64
		key        string
		want       float64
		neverAsked string
	}{
		"none":                {neverAsked: "max_tokens"},
		"of the call":         {call: 9, key: "max_tokens", want: 9, neverAsked: "max_completion_tokens"},
		"of the definition":   {own: 5, call: 9, key: "max_tokens", want: 5},
		"of the options":      {options: domain.Metadata{"max_tokens": []byte("3")}, call: 9, key: "max_tokens", want: 3},
		"never above":         {options: domain.Metadata{"max_tokens": []byte("30")}, call: 9, key: "max_tokens", want: 9},
		"by another name":     {options: domain.Metadata{"max_completion_tokens": []byte("30")}, call: 9, key: "max_completion_tokens", want: 9, neverAsked: "max_tokens"},
		"by the name not off": {options: domain.Metadata{"max_tokens": []byte("null")}, call: 9, key: "max_completion_tokens", want: 9, neverAsked: "max_tokens"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := question()
			call.MaxOutputTokens, call.Config.MaxOutputTokens, call.Config.Options = test.call, test.own, test.options
			body := sent(t, call)
			if test.key != "" {
				require.Equal(t, test.want, body[test.key])
			}
			require.NotContains(t, body, test.neverAsked)
		})
	}
}

// TestMessageIDs: models repeat ids; what is sent never does, and each result
// goes to its own call.
func TestMessageIDs(t *testing.T) {
	t.Parallel()
	calls := func(ids ...string) domain.Message {
		m := domain.Message{Role: domain.RoleAssistant}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, domain.ToolCall{ID: id, Name: "f", Arguments: "{}"})
		}
		return m
	}
	result := func(id, content string) domain.Message {
		return domain.ToolMessage(domain.ToolResult{CallID: id, Name: "f", Content: content})
	}
	call := question()
	call.Messages = []domain.Message{
		domain.UserMessage("hello"),
		calls("a", "a", ""), result("a", "first"), result("a", "second"), result("", "third"),
		calls("a", "call_1_1"), result("call_1_1", "fifth"), result("a", "fourth"),
	}
	recorded, err := json.Marshal(call.Messages)
	require.NoError(t, err)
	var pairs [][2]string
	asked := map[string]bool{}
	var order []string
	for _, m := range sent(t, call)["messages"].([]any) {
		m := m.(map[string]any)
		list, _ := m["tool_calls"].([]any)
		for _, c := range list {
			id := c.(map[string]any)["id"].(string)
			require.False(t, asked[id], "id %s is sent twice", id)
			asked[id] = true
			order = append(order, id)
		}
		if id, ok := m["tool_call_id"].(string); ok {
			require.True(t, asked[id], "result for %s, which was not asked", id)
			pairs = append(pairs, [2]string{id, m["content"].(string)})
		}
	}
	require.Len(t, order, 5)
	require.Equal(t, [][2]string{{order[0], "first"}, {order[1], "second"}, {order[2], "third"}, {order[4], "fifth"}, {order[3], "fourth"}}, pairs)
	require.Equal(t, "a", order[0])
	after, err := json.Marshal(call.Messages)
	require.NoError(t, err)
	require.Equal(t, string(recorded), string(after), "what is recorded stays as it is")
}

func TestMessageForms(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		message domain.Message
		want    string
	}{
		"user":    {domain.UserMessage("x"), `{"role":"user","content":"x"}`},
		"named":   {domain.Message{Role: domain.RoleUser, Name: "ann", Parts: []domain.Part{{Type: domain.PartText, Text: "x"}}}, `{"role":"user","name":"ann","content":"x"}`},
		"picture": {domain.Message{Role: domain.RoleUser, Parts: []domain.Part{{Type: domain.PartText, Text: "x"}, {Type: domain.PartImage, MediaType: "image/png", Data: []byte("p")}}}, `{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cA=="}}]}`},
		"sound":   {domain.Message{Role: domain.RoleUser, Parts: []domain.Part{{Type: domain.PartAudio, MediaType: "audio/mpeg", Data: []byte("p")}}}, `{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"cA==","format":"mp3"}}]}`},
		"file":    {domain.Message{Role: domain.RoleUser, Parts: []domain.Part{{Type: domain.PartFile, MediaType: "text/plain", Filename: "a.txt", Data: []byte("p")}}}, `{"role":"user","content":[{"type":"file","file":{"file_data":"data:text/plain;base64,cA==","filename":"a.txt"}}]}`},
		"image of a result": {domain.Message{Role: domain.RoleTool, ToolResult: &domain.ToolResult{CallID: "a", Content: "[image image/png 1 KB]"}, Parts: []domain.Part{{Type: domain.PartImage, MediaType: "image/png", Data: []byte("p")}}},
			`{"role":"tool","tool_call_id":"a","content":"[image image/png 1 KB]\n[images that are named here are not shown to you]"}`},
		"developer":  {domain.Message{Role: domain.RoleDeveloper, Parts: []domain.Part{{Type: domain.PartText, Text: "x"}}}, `{"role":"system","content":"x"}`},
		"answer":     {domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartReasoning, Text: "hm", Signature: "reasoning_content"}, {Type: domain.PartText, Text: "x"}}}, `{"role":"assistant","content":"x"}`},
		"call":       {domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "a", Name: "f", Arguments: "not json"}}}, `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"not json"}}]}`},
		"odd name":   {domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "a", Name: "api.f (x)", Arguments: "{}"}}}, `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"api_f__x_","arguments":"{}"}}]}`},
		"no name":    {domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "a", Arguments: "{}"}}}, `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"unnamed","arguments":"{}"}}]}`},
		"long name":  {domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "a", Name: strings.Repeat("x", 65), Arguments: "{}"}}}, `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"` + strings.Repeat("x", 64) + `","arguments":"{}"}}]}`},
		"thought":    {domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartReasoning, Text: "hm", Signature: "reasoning_content"}}, ToolCalls: []domain.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}}, `{"role":"assistant","reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`},
		"details":    {domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartReasoning, Text: "hm", Signature: "reasoning", Opaque: []byte(`[{"a":1}]`)}, {Type: domain.PartText, Text: "x"}}}, `{"role":"assistant","content":"x","reasoning_details":[{"a":1}]}`},
		"other mind": {domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartReasoning, Text: "hm", Signature: "sig-of-another"}, {Type: domain.PartText, Text: "x"}}}, `{"role":"assistant","content":"x"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := question()
			call.Messages = []domain.Message{test.message}
			require.Equal(t, jsonOf(t, test.want), sent(t, call)["messages"].([]any)[0])
		})
	}
}

// TestAnAnswerThatWasCutInItsReasoning has nothing that the API takes, and servers refuse a message of nothing.
func TestAnAnswerThatWasCutInItsReasoning(t *testing.T) {
	t.Parallel()
	call := question()
	call.Messages = []domain.Message{
		domain.UserMessage("go"),
		{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartReasoning, Text: "I thi", Signature: "reasoning_content"}}},
		domain.UserMessage("go on"),
	}
	require.Equal(t, jsonOf(t, `[{"role":"user","content":"go"}, {"role":"user","content":"go on"}]`), sent(t, call)["messages"])
}

// TestAPictureOfNothing is refused before it is asked for.
func TestAPictureOfNothing(t *testing.T) {
	t.Parallel()
	call := question()
	call.Messages = []domain.Message{{Role: domain.RoleUser, Parts: []domain.Part{{Type: domain.PartImage}}}}
	_, err := infer(t, "http://127.0.0.1:1", call)
	require.ErrorContains(t, err, "an image has neither URL nor data; give one")
}

// TestDialects: what a vendor's servers take otherwise than most is what differs.
func TestDialects(t *testing.T) {
	t.Parallel()
	calls := []domain.ToolCall{{ID: "call_1", Name: "f", Arguments: "{}"}, {ID: "abc123XYZ", Name: "f", Arguments: "{}"}}
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
		"another bound":     {openaichat.Dialect{MaxTokens: "max_out"}, `"max_tokens"`, `"max_out"`},
		"developers":        {openaichat.Dialect{Developer: true}, `"system"`, `"developer"`},
		"no reasoning":      {openaichat.Dialect{NoReasoning: true}, `"reasoning":"hm",`, ``},
		"no stream options": {openaichat.Dialect{NoStreamOptions: true}, `"stream_options":{"include_usage":true},`, ``},
		"ids of nine":       {openaichat.Dialect{CallIDs: 9}, `"call_1"`, `"000000001"`},
		"an empty content":  {openaichat.Dialect{EmptyContent: true}, `"reasoning":"hm"`, `"content":"","reasoning":"hm"`},
		"only its own":      {openaichat.Dialect{MaxTokens: "max_out", OfficialOnly: true}, " ", " "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body []byte
			server := providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ = io.ReadAll(r.Body)
				_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)
			})
			test.dialect.Name, test.dialect.Server, test.dialect.Variables = "made-up", "https://api.made-up.example/v1", "MADE_UP"
			p, err := wire.New(test.dialect.API(), wire.Config{BaseURL: server.URL})
			require.NoError(t, err)
			call := call
			call.Config.Provider = test.dialect.Name
			_, failed := providers.Infer(t, p, call)
			require.Nil(t, failed)
			require.JSONEq(t, strings.NewReplacer(test.old, test.new).Replace(plain), string(body))
		})
	}
	p, err := wire.New(openaichat.Dialect{Name: "made-up", Server: "https://api.made-up.example/v1", Variables: "MADE_UP"}.API(), wire.Config{})
	require.NoError(t, err)
	err = p.Check(t.Context(), domain.LLMConfig{Provider: "made-up", Model: "m"})
	require.EqualError(t, err, "MADE_UP_API_KEY: is not set on the worker, and api.made-up.example needs a key")
	require.Equal(t, "made-up", domain.AsError(err).Source)
}
