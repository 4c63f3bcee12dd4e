package gemini_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"everstep/activities/gemini"
	"everstep/activities/inference"
	"everstep/domain"
	"everstep/testsuite/providers"
)

func calls(list ...domain.ToolCall) domain.Message {
	return domain.Message{Role: domain.RoleAssistant, ToolCalls: list}
}

func result(id, content string) domain.Message {
	return domain.ToolMessage(domain.ToolResult{CallID: id, Name: "f", Content: content})
}

var tool = domain.ToolSpec{Name: "f", Description: "does it", Schema: []byte(`{"type":"object","properties":{"x":{"type":"integer"}}}`)}

// full is a call with all that a request can have.
func full() inference.Call {
	half := 0.7
	failed := result("b", "boom")
	failed.ToolResult.IsError = true
	return inference.Call{
		Config: domain.LLMConfig{Provider: gemini.Name, Model: "gemini-2.5-flash", Temperature: &half, TopP: &half, Options: domain.Metadata{
			"generationConfig": []byte(`{"topK":3,"topP":null,"thinkingConfig":{"includeThoughts":true}}`),
			"safetySettings":   []byte(`[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]`),
			"cachedContent":    []byte(`null`),
		}},
		System: "be brief",
		Messages: []domain.Message{
			{Role: domain.RoleDeveloper, Parts: []domain.Part{{Type: domain.PartText, Text: "be kind"}}},
			{Role: domain.RoleUser, Parts: []domain.Part{
				{Type: domain.PartText, Text: "<hello> & \u2028"}, {Type: domain.PartText},
				{Type: domain.PartImage, MediaType: "image/png", Data: []byte("png")},
				{Type: domain.PartFile, MediaType: "application/pdf", URL: "https://host/a.pdf"},
				{Type: domain.PartAudio, URL: "data:audio/wav;base64,d2F2"},
			}},
			calls(domain.ToolCall{ID: "a", Name: "f", Arguments: `{"x":10}`}, domain.ToolCall{ID: "b", Name: "f", Arguments: `{}`}),
			failed, result("a", "fine"),
			domain.UserMessage("and?"),
		},
		Tools:           []domain.ToolSpec{tool},
		MaxOutputTokens: 99,
	}
}

// TestRequestIsTheSDKs: the SDK sends the same for the same conversation.
func TestRequestIsTheSDKs(t *testing.T) {
	t.Parallel()
	var body []byte
	server := providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, event(says("STOP", `{"text": "x"}`), ""))
	})
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: testKey, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: server.URL}})
	require.NoError(t, err)
	config := &genai.GenerateContentConfig{
		SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "be brief"}, {Text: "be kind"}}},
		Temperature:       new(float32(0.7)), TopK: new(float32(3)), MaxOutputTokens: 99,
		ThinkingConfig: &genai.ThinkingConfig{IncludeThoughts: true},
		SafetySettings: []*genai.SafetySetting{{Category: genai.HarmCategoryHarassment, Threshold: genai.HarmBlockThresholdBlockNone}},
		Tools:          []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "f", Description: "does it", ParametersJsonSchema: tool.Schema}}}},
	}
	contents := []*genai.Content{
		{Role: "user", Parts: []*genai.Part{
			{Text: "<hello> & \u2028"}, {InlineData: &genai.Blob{MIMEType: "image/png", Data: []byte("png")}},
			{FileData: &genai.FileData{MIMEType: "application/pdf", FileURI: "https://host/a.pdf"}},
			{InlineData: &genai.Blob{MIMEType: "audio/wav", Data: []byte("wav")}},
		}},
		{Role: "model", Parts: []*genai.Part{
			{FunctionCall: &genai.FunctionCall{ID: "a", Name: "f", Args: map[string]any{"x": 10}}},
			{FunctionCall: &genai.FunctionCall{ID: "b", Name: "f", Args: map[string]any{}}},
		}},
		{Role: "user", Parts: []*genai.Part{
			{FunctionResponse: &genai.FunctionResponse{ID: "a", Name: "f", Response: map[string]any{"output": "fine"}}},
			{FunctionResponse: &genai.FunctionResponse{ID: "b", Name: "f", Response: map[string]any{"error": "boom"}}},
		}},
		{Role: "user", Parts: []*genai.Part{{Text: "and?"}}},
	}
	for _, err := range client.Models.GenerateContentStream(t.Context(), "gemini-2.5-flash", contents, config) {
		require.NoError(t, err)
	}
	want, got := decoded(t, string(body)).(map[string]any), sent(t, full())
	// The SDK leaves out an empty object, and says that the system speaks as user.
	second := want["contents"].([]any)[1].(map[string]any)["parts"].([]any)[1].(map[string]any)["functionCall"].(map[string]any)
	second["args"] = map[string]any{}
	delete(want["systemInstruction"].(map[string]any), "role")
	require.Equal(t, want, got)
}

// TestImagesOfResults are shown to models that take them there, of the types that the API takes; the others are
// told that they are not.
func TestImagesOfResults(t *testing.T) {
	t.Parallel()
	const hidden = `{"id":"a","name":"f","response":{"output":"1\n[images that are named here are not shown to you]"}}`
	for name, test := range map[string]struct{ model, mediaType, want string }{
		"shown":      {"gemini-3-pro", "image/png", `{"id":"a","name":"f","response":{"output":"1"},"parts":[{"inlineData":{"mimeType":"image/png","data":"cA=="}}]}`},
		"a GIF":      {"gemini-3-pro", "image/gif", hidden},
		"an old one": {"gemini-2.5-flash", "image/png", hidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			looked := result("a", "1")
			looked.Parts = []domain.Part{{Type: domain.PartImage, MediaType: test.mediaType, Data: []byte("p")}}
			call := inference.Call{Config: domain.LLMConfig{Provider: gemini.Name, Model: test.model}, Messages: []domain.Message{
				domain.UserMessage("look"), calls(domain.ToolCall{ID: "a", Name: "f", Arguments: `{}`}), looked,
			}}
			contents := sent(t, call)["contents"].([]any)
			last := contents[len(contents)-1].(map[string]any)["parts"].([]any)
			require.Equal(t, []any{map[string]any{"functionResponse": decoded(t, test.want)}}, last)
		})
	}
}

// TestRequestGoesOut: one request, where it belongs, with the key in its header
// alone.
func TestRequestGoesOut(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"gemini-3-pro": "/v1beta/models/gemini-3-pro:streamGenerateContent", "tunedModels/a b": "/v1beta/tunedModels/a%20b:streamGenerateContent",
		"odd?key=1": "/v1beta/models/odd%3Fkey=1:streamGenerateContent",
	} {
		var requests []*http.Request
		server := providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			requests = append(requests, r)
			_, _ = io.WriteString(w, event(says("STOP", `{"text": "x"}`), ""))
		})
		call := question()
		call.Config.Model = model
		_, err := infer(t, server.URL, call)
		require.Nil(t, err)
		require.Len(t, requests, 1)
		r := requests[0]
		require.Equal(t, want+"?alt=sse", r.URL.EscapedPath()+"?"+r.URL.RawQuery)
		require.Equal(t, testKey, r.Header.Get("X-Goog-Api-Key"))
		r.Header.Del("X-Goog-Api-Key")
		body, _ := io.ReadAll(r.Body)
		require.NotContains(t, string(body), testKey)
		for key, values := range r.Header {
			require.NotContains(t, values, testKey, key)
		}
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	schema := domain.ResponseFormat{Type: domain.FormatSchema, Name: "out", Schema: []byte(`{"type":"array","items":{"type":"string"}}`)}
	native := map[string]any{"responseMimeType": "application/json", "responseJsonSchema": map[string]any{"type": "array", "items": map[string]any{"type": "string"}}}
	tests := map[string]struct {
		model  string
		change func(*inference.Call)
		config any
		tools  any
		system bool
	}{
		"text":                  {change: func(c *inference.Call) { c.Format = domain.ResponseFormat{} }},
		"any object":            {change: func(c *inference.Call) { c.Format = domain.ResponseFormat{Type: domain.FormatJSON} }, config: map[string]any{"responseMimeType": "application/json"}},
		"a schema":              {config: native},
		"a schema beside tools": {change: func(c *inference.Call) { c.Tools = []domain.ToolSpec{tool} }, config: native},
		"the latest":            {model: "gemini-flash-latest", change: func(c *inference.Call) { c.Tools = []domain.ToolSpec{tool} }, config: native},
		"an older model":        {model: "gemini-2.5-pro", config: native},
		"an older one, tools":   {model: "models/gemini-2.5-pro", change: func(c *inference.Call) { c.Tools = []domain.ToolSpec{tool} }, system: true},
		"an unknown one, tools": {model: "gemma-4", change: func(c *inference.Call) { c.Tools = []domain.ToolSpec{tool} }, system: true},
		"in the prompt":         {change: func(c *inference.Call) { c.OutputMode = domain.OutputInstruction }},
		"as a tool": {change: func(c *inference.Call) {
			c.OutputMode, c.OutputTool, c.Tools = domain.OutputTool, "f", []domain.ToolSpec{tool}
		}, tools: map[string]any{"functionCallingConfig": map[string]any{"mode": "ANY", "allowedFunctionNames": []any{"f"}}}},
		"as a tool among others": {change: func(c *inference.Call) {
			c.OutputMode, c.OutputTool, c.Tools = domain.OutputTool, "f", []domain.ToolSpec{tool, {Name: "g"}}
		}, tools: map[string]any{"functionCallingConfig": map[string]any{"mode": "ANY"}}},
		"tools by options": {change: func(c *inference.Call) {
			c.OutputMode, c.Tools = domain.OutputInstruction, []domain.ToolSpec{tool}
			c.Config.Options = domain.Metadata{"toolConfig": []byte(`{"functionCallingConfig":{"mode":"VALIDATED"}}`)}
		}, tools: map[string]any{"functionCallingConfig": map[string]any{"mode": "VALIDATED"}}},
		"options, and no tools": {change: func(c *inference.Call) {
			c.OutputMode = domain.OutputInstruction
			c.Config.Options = domain.Metadata{"toolConfig": []byte(`{"functionCallingConfig":{"mode":"ANY"}}`)}
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := question()
			if test.model != "" {
				call.Config.Model = test.model
			}
			call.Format, call.OutputMode = schema, domain.OutputNative
			if test.change != nil {
				test.change(&call)
			}
			body := sent(t, call)
			require.Equal(t, test.config, body["generationConfig"])
			require.Equal(t, test.tools, body["toolConfig"])
			encoded, err := json.Marshal(body["systemInstruction"])
			require.NoError(t, err)
			require.Equal(t, test.system, bytes.Contains(encoded, []byte("JSON Schema")), string(encoded))
		})
	}
}

func TestTokenBound(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options   string
		call, own int64
		want      any
	}{
		"none":              {},
		"of the call":       {call: 9, want: json.Number("9")},
		"of the definition": {own: 5, call: 9, want: json.Number("5")},
		"of the options":    {options: `{"maxOutputTokens":3}`, call: 9, want: json.Number("3")},
		"never above":       {options: `{"maxOutputTokens":30}`, call: 9, want: json.Number("9")},
		"of the API's type": {call: 1 << 40, want: json.Number("2147483647")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := question()
			call.MaxOutputTokens, call.Config.MaxOutputTokens = test.call, test.own
			if test.options != "" {
				call.Config.Options = domain.Metadata{"generationConfig": []byte(test.options)}
			}
			config, _ := sent(t, call)["generationConfig"].(map[string]any)
			require.Equal(t, test.want, config["maxOutputTokens"])
		})
	}
}

// TestMessages writes conversations that need care.
func TestMessages(t *testing.T) {
	t.Parallel()
	assistant := func(text string, list ...domain.ToolCall) domain.Message {
		m := calls(list...)
		m.Parts = []domain.Part{{Type: domain.PartText, Text: text}}
		return m
	}
	say := func(role, text string) string {
		return `{"role":"` + role + `","parts":[{"text":"` + text + `"}]}`
	}
	tests := map[string]struct {
		model    string
		messages []domain.Message
		want     string
	}{
		"of one role": {messages: []domain.Message{domain.UserMessage("a"), domain.UserMessage("b"), assistant("c"), assistant("d")},
			want: `[{"role":"user","parts":[{"text":"a"},{"text":"b"}]},{"role":"model","parts":[{"text":"c"},{"text":"d"}]}]`},
		"empty ones": {messages: []domain.Message{domain.UserMessage("a"), assistant(""), domain.UserMessage("")}, want: `[` + say("user", "a") + `]`},
		"an instruction later": {messages: []domain.Message{domain.UserMessage("a"), assistant("b"), {Role: domain.RoleSystem, Parts: []domain.Part{{Type: domain.PartText, Text: "c"}}}},
			want: `[` + say("user", "a") + `,` + say("model", "b") + `,` + say("user", "c") + `]`},
		"the model begins": {messages: []domain.Message{assistant("a")}, want: `[` + say("user", "(What came before is not shown.)") + `,` + say("model", "a") + `]`},
		"no ids": {messages: []domain.Message{domain.UserMessage("a"), calls(domain.ToolCall{Name: "f"}, domain.ToolCall{Name: "g", Arguments: "{}"}), result("", "1"), result("", "2")},
			want: `[` + say("user", "a") + `,{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g","args":{}}}]},
				{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"1"}}},{"functionResponse":{"name":"g","response":{"output":"2"}}}]}]`},
		"ids repeated": {messages: []domain.Message{domain.UserMessage("a"), calls(domain.ToolCall{ID: "i", Name: "f", Arguments: "{}"}, domain.ToolCall{ID: "i", Name: "f", Arguments: "{}"}), result("i", "1"), result("i", "2")},
			want: `[` + say("user", "a") + `,{"role":"model","parts":[{"functionCall":{"id":"i","name":"f","args":{}}},{"functionCall":{"id":"call_1_1","name":"f","args":{}}}]},
				{"role":"user","parts":[{"functionResponse":{"id":"i","name":"f","response":{"output":"1"}}},{"functionResponse":{"id":"call_1_1","name":"f","response":{"output":"2"}}}]}]`},
		"arguments of another kind": {messages: []domain.Message{domain.UserMessage("a"), calls(domain.ToolCall{ID: "i", Arguments: "x = 1"}), result("i", "no")},
			want: `[` + say("user", "a") + `,{"role":"model","parts":[{"functionCall":{"id":"i","name":"unnamed","args":{"invalid_arguments":"x = 1"}}}]},
				{"role":"user","parts":[{"functionResponse":{"id":"i","name":"unnamed","response":{"output":"no"}}}]}]`},
		"a name of another kind": {messages: []domain.Message{domain.UserMessage("a"), calls(domain.ToolCall{ID: "i", Name: "api.f(x)", Arguments: "{}"}), result("i", "no")},
			want: `[` + say("user", "a") + `,{"role":"model","parts":[{"functionCall":{"id":"i","name":"api.f_x_","args":{}}}]},
				{"role":"user","parts":[{"functionResponse":{"id":"i","name":"api.f_x_","response":{"output":"no"}}}]}]`},
		"a word between call and result": {messages: []domain.Message{domain.UserMessage("a"), calls(domain.ToolCall{ID: "i", Name: "f", Arguments: "{}"}), domain.UserMessage("wait"), result("i", "1")},
			want: `[` + say("user", "a") + `,{"role":"model","parts":[{"functionCall":{"id":"i","name":"f","args":{}}}]},
				{"role":"user","parts":[{"functionResponse":{"id":"i","name":"f","response":{"output":"1"}}}]},` + say("user", "wait") + `]`},
		"another provider's": {model: "gemini-3-pro", messages: []domain.Message{domain.UserMessage("a"),
			{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartReasoning, Text: "hm", Signature: "sig", Opaque: []byte(`{"of":"","pieces":[]}`)}, {Type: domain.PartText, Text: "b"}},
				ToolCalls: []domain.ToolCall{{ID: "toolu_1", Name: "f", Arguments: "{}"}, {ID: "toolu_2", Name: "f", Arguments: "{}"}}}, result("toolu_1", "1"), result("toolu_2", "2")},
			want: `[` + say("user", "a") + `,{"role":"model","parts":[{"text":"b"},{"functionCall":{"id":"toolu_1","name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"toolu_2","name":"f","args":{}}}]},
				{"role":"user","parts":[{"functionResponse":{"id":"toolu_1","name":"f","response":{"output":"1"}}},{"functionResponse":{"id":"toolu_2","name":"f","response":{"output":"2"}}}]}]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := question()
			call.Messages, call.Config.Model = test.messages, "gemini-2.5-pro"
			if test.model != "" {
				call.Config.Model = test.model
			}
			require.Equal(t, decoded(t, test.want), sent(t, call)["contents"])
		})
	}
}

// TestNotSent: what the API cannot be told is an error that names it, and no
// request.
func TestNotSent(t *testing.T) {
	t.Parallel()
	user := func(p domain.Part) []domain.Message {
		return []domain.Message{domain.UserMessage("a"), {Role: domain.RoleUser, Parts: []domain.Part{{Type: domain.PartText, Text: "x"}, p}}}
	}
	tests := map[string]struct {
		messages []domain.Message
		kind     domain.Kind
		says     string
	}{
		"no messages":      {says: "nothing in them"},
		"no media type":    {messages: user(domain.Part{Type: domain.PartImage, Data: []byte("x")}), says: "message 1: part 1: is of type image and has no media_type"},
		"no data":          {messages: user(domain.Part{Type: domain.PartFile, MediaType: "application/pdf"}), says: "message 1: part 1: is of type file and has neither data nor a URL"},
		"a user's thought": {messages: user(domain.Part{Type: domain.PartReasoning, Text: "x"}), says: "message 1: part 1: is of type reasoning"},
		"no result":        {messages: []domain.Message{{Role: domain.RoleTool}}, says: "message 0: is of a tool and has no result", kind: domain.Internal},
		"no call":          {messages: []domain.Message{domain.UserMessage("a"), result("i", "1")}, says: "message 1: is the result of no call"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := question()
			call.Messages = test.messages
			call.Sent = func() { t.Error("nothing is to be sent") }
			_, err := infer(t, "http://127.0.0.1:1", call)
			require.NotNil(t, err)
			require.Contains(t, err.Message, test.says)
			require.Equal(t, cmp.Or(test.kind, domain.Invalid), err.Kind)
			require.False(t, err.Billed)
		})
	}
}
