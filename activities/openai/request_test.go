package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
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

func jsonOf(t *testing.T, text string) any {
	t.Helper()
	var out any
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}

func text(role domain.Role, text string) domain.Message {
	return domain.Message{Role: role, Parts: []domain.Part{{Type: domain.PartText, Text: text}}}
}

const (
	strictSchema = `{"type":"object","properties":{"z":{"type":"integer"},"a":{"type":"integer"}},"required":["z","a"],"additionalProperties":false}`
	looseSchema  = `{"type":"object","properties":{"z":{"type":"integer"},"a":{"type":"integer"}}}`
)

func TestRequest(t *testing.T) {
	t.Parallel()
	half := 0.5
	call := inference.Call{
		Config: domain.LLMConfig{Provider: openai.Name, Model: "gpt-5", Temperature: &half, TopP: &half, Options: domain.Metadata{
			"seed": []byte("7"), "store": []byte("null"), "reasoning": []byte(`{"effort":"low","summary":"auto"}`),
			"text": []byte(`{"verbosity":"low"}`), "include": []byte(`["message.output_text.logprobs"]`), "parallel_tool_calls": []byte("false"),
		}},
		System:          "be brief",
		Messages:        []domain.Message{domain.UserMessage("<hello> & \u2028 \x00")},
		Tools:           []domain.ToolSpec{{Name: "f", Description: "does it", Schema: []byte(looseSchema)}, {Name: "g", Schema: []byte(`{"type":"object"}`)}, {Name: "h"}},
		Format:          domain.ResponseFormat{Type: domain.FormatSchema, Name: "out", Schema: []byte(strictSchema)},
		OutputMode:      domain.OutputNative,
		MaxOutputTokens: 99,
	}
	require.Equal(t, jsonOf(t, `{
		"model": "gpt-5", "stream": true, "temperature": 0.5, "top_p": 0.5, "seed": 7, "max_output_tokens": 99, "instructions": "be brief",
		"include": ["reasoning.encrypted_content", "message.output_text.logprobs"], "reasoning": {"effort":"low","summary":"auto"}, "parallel_tool_calls": false,
		"input": [{"role":"user","content":"<hello> & \u2028 \u0000"}],
		"tools": [{"type":"function","name":"f","description":"does it","strict":false,"parameters":`+looseSchema+`},
			{"type":"function","name":"g","strict":false,"parameters":{"type":"object","properties":{}}},
			{"type":"function","name":"h","strict":false,"parameters":{"type":"object","properties":{}}}],
		"text": {"verbosity":"low","format":{"type":"json_schema","name":"out","strict":true,"schema":`+strictSchema+`}}
	}`), any(sent(t, call)))
	require.Equal(t, jsonOf(t, `{"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[{"role":"user","content":"hello"}]}`),
		any(sent(t, question())), "nothing is said that nobody asked for")
	require.Equal(t, string(sentBytes(t, call)), string(sentBytes(t, call)), "what is cached begins alike")
	require.Contains(t, string(sentBytes(t, call)), `"parameters":`+looseSchema, "the order of properties stays")
	require.Contains(t, string(sentBytes(t, call)), `"schema":`+strictSchema)
}

// TestModelsThatDoNotReason: they refuse encrypted reasoning, asked for or sent.
func TestModelsThatDoNotReason(t *testing.T) {
	t.Parallel()
	thought := `{"type":"reasoning","id":"rs_1","encrypted_content":"e","summary":[]}`
	for model, reasons := range map[string]bool{
		"gpt-4o-mini": false, "gpt-4.1": false, "openai/gpt-4o": false, "ft:gpt-4o:me": false, "chatgpt-4o-latest": false, "gpt-5-chat-latest": false,
		"gpt-5": true, "o3": true, "grok-4.3": true, "my-deployment": true, "openai.gpt-oss-20b": true,
	} {
		call := question()
		call.Config.Model = model
		call.Messages = append(call.Messages, domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{
			{Type: domain.PartReasoning, Opaque: []byte(thought)}, {Type: domain.PartText, Text: "x"}}})
		body := sent(t, call)
		require.Equal(t, reasons, body["include"] != nil, model)
		require.Equal(t, reasons, len(body["input"].([]any)) == 3, model)
	}
	call := question()
	call.Config.Options = domain.Metadata{"include": []byte("null")}
	require.NotContains(t, sent(t, call), "include")
}

func TestTokenBound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options   domain.Metadata
		call, own int64
		want      any
	}{
		"none":              {},
		"of the call":       {call: 90, want: 90.},
		"of the definition": {own: 50, call: 90, want: 50.},
		"of the options":    {options: domain.Metadata{"max_output_tokens": []byte("30")}, call: 90, want: 30.},
		"never above":       {options: domain.Metadata{"max_output_tokens": []byte("300")}, call: 90, want: 90.},
		"null":              {options: domain.Metadata{"max_output_tokens": []byte("null")}, call: 90, want: 90.},
	} {
		call := question()
		call.MaxOutputTokens, call.Config.MaxOutputTokens, call.Config.Options = test.call, test.own, test.options
		require.Equal(t, test.want, sent(t, call)["max_output_tokens"], name)
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	thought := `{"type":"reasoning","id":"rs_1","encrypted_content":"a+b/c=","summary":[]}`
	reasoning := domain.Part{Type: domain.PartReasoning, Text: "hm", Opaque: []byte(thought)}
	part := func(opaque string) domain.Part {
		return domain.Part{Type: domain.PartReasoning, Opaque: []byte(opaque)}
	}
	words := domain.Part{Type: domain.PartText, Text: "x"}
	a, b := domain.ToolCall{ID: "a", Name: "f", Arguments: "not json"}, domain.ToolCall{ID: "b", Name: "multi.tool use", Arguments: "{}"}
	callA, callB := `{"type":"function_call","call_id":"a","name":"f","arguments":"not json"}`, `{"type":"function_call","call_id":"b","name":"multi_tool_use","arguments":"{}"}`
	says := `{"role":"assistant","content":"x"}`
	user := func(parts ...domain.Part) domain.Message { return domain.Message{Role: domain.RoleUser, Parts: parts} }
	model := func(calls []domain.ToolCall, parts ...domain.Part) domain.Message {
		return domain.Message{Role: domain.RoleAssistant, Parts: parts, ToolCalls: calls}
	}
	tests := map[string]struct {
		message domain.Message
		want    string
	}{
		"user":                         {domain.UserMessage("x"), `{"role":"user","content":"x"}`},
		"named":                        {domain.Message{Role: domain.RoleUser, Name: "ann", Parts: []domain.Part{words}}, `{"role":"user","content":"x"}`},
		"system":                       {text(domain.RoleSystem, "x"), `{"role":"developer","content":"x"}`},
		"developer":                    {text(domain.RoleDeveloper, "x"), `{"role":"developer","content":"x"}`},
		"picture, data":                {user(words, domain.Part{Type: domain.PartImage, MediaType: "image/png", Data: []byte("p")}), `{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,cA=="}]}`},
		"picture, URL":                 {user(domain.Part{Type: domain.PartImage, URL: "https://a/b.png"}), `{"role":"user","content":[{"type":"input_image","detail":"auto","image_url":"https://a/b.png"}]}`},
		"file, data":                   {user(domain.Part{Type: domain.PartFile, MediaType: "application/pdf", Data: []byte("p")}), `{"role":"user","content":[{"type":"input_file","filename":"file.pdf","file_data":"data:application/pdf;base64,cA=="}]}`},
		"file, another":                {user(domain.Part{Type: domain.PartFile, MediaType: "text/plain", Data: []byte("p")}), `{"role":"user","content":[{"type":"input_file","filename":"file","file_data":"data:text/plain;base64,cA=="}]}`},
		"file, URL":                    {user(domain.Part{Type: domain.PartFile, URL: "https://a/b.pdf"}), `{"role":"user","content":[{"type":"input_file","file_url":"https://a/b.pdf"}]}`},
		"answer":                       {model(nil, words), says},
		"no answer":                    {model(nil), ``},
		"calls":                        {model([]domain.ToolCall{a, b}), callA + "," + callB},
		"a call without a name":        {model([]domain.ToolCall{{ID: "a"}}), `{"type":"function_call","call_id":"a","name":"unnamed","arguments":""}`},
		"a call with a long name":      {model([]domain.ToolCall{{ID: "a", Name: strings.Repeat("x", 65)}}), `{"type":"function_call","call_id":"a","name":"` + strings.Repeat("x", 64) + `","arguments":""}`},
		"text before calls":            {model([]domain.ToolCall{a}, words), says + "," + callA},
		"reasoning":                    {model([]domain.ToolCall{a}, reasoning, words), thought + "," + says + "," + callA},
		"reasoning for a call":         {model([]domain.ToolCall{a, b}, reasoning), thought + "," + callA + "," + callB},
		"reasoning behind text":        {model([]domain.ToolCall{a}, words, reasoning), says + "," + thought + "," + callA},
		"a call before text":           {model([]domain.ToolCall{a, b}, part(`{"type":"function_call"}`), words), callA + "," + says + "," + callB},
		"reasoning between calls":      {model([]domain.ToolCall{a, b}, part(`{"type":"function_call"}`), reasoning), callA + "," + thought + "," + callB},
		"a mark without its call":      {model([]domain.ToolCall{a}, part(`{"type":"function_call"}`), part(`{"type":"function_call"}`), words), callA + "," + says},
		"a phase":                      {model(nil, part(`{"type":"message","phase":"commentary"}`), words, words), `{"role":"assistant","content":"x","phase":"commentary"},` + says},
		"reasoning for nothing":        {model(nil, words, reasoning), says},
		"reasoning not encrypted":      {model(nil, part(`{"type":"reasoning","id":"rs_1","encrypted_content":null,"summary":[]}`), words), says},
		"reasoning of an open model":   {model(nil, part(`{"type":"reasoning","id":"r","content":[{"type":"reasoning_text","text":"hm"}],"summary":[]}`), words), `{"type":"reasoning","id":"r","content":[{"type":"reasoning_text","text":"hm"}],"summary":[]},` + says},
		"reasoning of another API":     {model(nil, part(`{"type":"thinking","thinking":"hm","signature":"s"}`), part(`[{"a":1}]`), part(`"x"`), domain.Part{Type: domain.PartReasoning, Text: "hm", Signature: "s"}, words), says},
		"reasoning that was cut short": {model(nil, part(`{"type":"reasoning","id":"rs_1","encrypted_content":"e","summary":[],"status":"incomplete"}`), words), says},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := question()
			call.Messages = []domain.Message{test.message}
			require.Equal(t, jsonOf(t, "["+test.want+"]"), sent(t, call)["input"])
		})
	}
}

// TestCallIDs: models repeat ids, and other providers have longer ones; what is
// sent never does, and each result goes to its own call.
func TestCallIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	calls := func(ids ...string) domain.Message {
		m := domain.Message{Role: domain.RoleAssistant}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, domain.ToolCall{ID: id, Name: "f", Arguments: "{}"})
		}
		return m
	}
	result := func(id, content string) domain.Message {
		return domain.ToolMessage(domain.ToolResult{CallID: id, Name: "f", Content: content, IsError: true})
	}
	call := question()
	call.Messages = []domain.Message{
		calls("a", "a", "", long), result("a", "1"), result(long, "4"), result("a", "2"), result("", "3"),
		calls("a"), result("a", "5"),
	}
	number, answers := map[string]int{}, map[string]string{}
	for _, item := range sent(t, call)["input"].([]any) {
		item := item.(map[string]any)
		id := item["call_id"].(string)
		require.LessOrEqual(t, len(id), 64)
		if item["type"] == "function_call" {
			require.NotContains(t, number, id)
			number[id] = len(number) + 1
			continue
		}
		require.NotContains(t, answers, id)
		answers[id] = item["output"].(string)
	}
	require.Len(t, number, 5)
	for id, n := range number {
		require.Equal(t, string(rune('0'+n)), answers[id])
	}
}

// TestImagesOfResults stand beside their text, which is a plain one where there are none.
func TestImagesOfResults(t *testing.T) {
	t.Parallel()
	call := question()
	looked := domain.ToolMessage(domain.ToolResult{CallID: "a", Name: "f", Content: "1"})
	looked.Parts = []domain.Part{{Type: domain.PartImage, MediaType: "image/png", Data: []byte("p")}}
	call.Messages = append(call.Messages, domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "b", Name: "f", Arguments: "{}"}}},
		looked, domain.ToolMessage(domain.ToolResult{CallID: "b", Name: "f", Content: "2"}))
	items := sent(t, call)["input"].([]any)
	require.Equal(t, jsonOf(t, `[
		{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"1"},{"type":"input_image","image_url":"data:image/png;base64,cA=="}]},
		{"type":"function_call_output","call_id":"b","output":"2"}]`), items[len(items)-2:])
}

// told is a question whose answer has a format, told in a mode.
func told(mode domain.OutputMode, format domain.ResponseFormat, tools ...domain.ToolSpec) inference.Call {
	return providers.Told(question(), mode, format, tools...)
}

func TestResponseFormat(t *testing.T) {
	t.Parallel()
	f := domain.ToolSpec{Name: "f", Schema: []byte(looseSchema)}
	strict := domain.ResponseFormat{Type: domain.FormatSchema, Name: "out", Schema: []byte(strictSchema)}
	loose := domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(looseSchema)}
	object := domain.ResponseFormat{Type: domain.FormatJSON}
	for name, test := range map[string]struct {
		call         inference.Call
		text, choice string
		strict       any
	}{
		"text":               {call: told("", domain.ResponseFormat{}), text: "null", choice: "null"},
		"native, strict":     {call: told(domain.OutputNative, strict), text: `{"format":{"type":"json_schema","name":"out","strict":true,"schema":` + strictSchema + `}}`, choice: "null"},
		"native, not strict": {call: told(domain.OutputNative, loose, f), text: `{"format":{"type":"json_schema","name":"answer","strict":false,"schema":` + looseSchema + `}}`, choice: "null"},
		"native, any object": {call: told(domain.OutputNative, object), text: `{"format":{"type":"json_object"}}`, choice: "null"},
		"tool alone":         {call: told(domain.OutputTool, strict), text: "null", choice: `{"type":"function","name":"out"}`, strict: true},
		"tool with others":   {call: told(domain.OutputTool, loose, f), text: "null", choice: `"required"`, strict: false},
		"instruction":        {call: told(domain.OutputInstruction, strict, f), text: "null", choice: "null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := sent(t, test.call)
			require.Equal(t, jsonOf(t, test.text), body["text"])
			require.Equal(t, jsonOf(t, test.choice), body["tool_choice"])
			tools, _ := body["tools"].([]any)
			require.Len(t, tools, len(test.call.Tools))
			if test.strict != nil {
				require.Equal(t, test.strict, tools[len(tools)-1].(map[string]any)["strict"])
			}
		})
	}
	call := told(domain.OutputNative, object)
	call.System = "answer in JSON"
	body := sent(t, call)
	require.NotContains(t, body, "instructions", "the API looks for the word JSON in the input alone")
	require.Equal(t, jsonOf(t, `{"role":"developer","content":"answer in JSON"}`), body["input"].([]any)[0])
	call.Format.Schema, call.Format.Type = nil, domain.FormatSchema
	_, err := provider(t, "http://127.0.0.1:1").Infer(t.Context(), call, nil)
	require.ErrorContains(t, err, "response_format: has no schema")
}

// TestWhatCannotBeSent is said before anything is sent, by message and part.
func TestWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		part  domain.Part
		wrong string
	}{
		"sound":         {domain.Part{Type: domain.PartAudio, MediaType: "audio/wav", Data: []byte("x")}, "message 1: part 1: the Responses API takes no audio"},
		"empty picture": {domain.Part{Type: domain.PartImage}, "message 1: part 1: an image has neither URL nor data"},
		"empty file":    {domain.Part{Type: domain.PartFile}, "message 1: part 1: a file has neither URL nor data"},
		"reasoning":     {domain.Part{Type: domain.PartReasoning, Text: "x"}, "message 1: part 1: reasoning is not a user's"},
	} {
		call := question()
		call.Sent = func() { t.Error("nothing is sent") }
		call.Messages = append(call.Messages, domain.Message{Role: domain.RoleUser, Parts: []domain.Part{{Type: domain.PartText, Text: "x"}, test.part}})
		_, err := provider(t, "http://127.0.0.1:1").Infer(t.Context(), call, nil)
		require.ErrorContains(t, err, test.wrong, name)
		require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	server, own := wire.Config{BaseURL: "http://127.0.0.1:8000/v1"}, wire.Config{Key: wire.FixedKey(testKey)}
	for name, test := range map[string]struct {
		config wire.Config
		model  domain.LLMConfig
		code   domain.Code
		wrong  string
	}{
		"no key needed":       {config: server, model: domain.LLMConfig{Model: "m", MaxOutputTokens: 1}},
		"no key at Azure":     {config: wire.Config{BaseURL: "https://me.openai.azure.com/openai/v1"}, model: domain.LLMConfig{Model: "m"}, code: domain.CodeAuth, wrong: "me.openai.azure.com needs a key"},
		"no key at OpenAI":    {model: domain.LLMConfig{Model: "m"}, code: domain.CodeAuth, wrong: "OPENAI_API_KEY"},
		"no model":            {config: server, model: domain.LLMConfig{Model: " "}, code: domain.CodeModelNotFound, wrong: "openai/MODEL"},
		"another URL":         {config: server, model: domain.LLMConfig{Model: "m", BaseURL: "https://elsewhere"}, wrong: "base_url"},
		"options":             {config: own, model: domain.LLMConfig{Model: "m", Options: domain.Metadata{"reasoning": []byte("{}"), "text": []byte("null")}}},
		"an option of ours":   {config: own, model: domain.LLMConfig{Model: "m", Options: domain.Metadata{"previous_response_id": []byte(`"r"`)}}, wrong: "options: previous_response_id"},
		"a list that is none": {config: own, model: domain.LLMConfig{Model: "m", Options: domain.Metadata{"include": []byte(`"x"`)}}, wrong: "options: include"},
		"names that are none": {config: own, model: domain.LLMConfig{Model: "m", Options: domain.Metadata{"include": []byte(`[1]`)}}, wrong: "options: include"},
		"a text that is none": {config: own, model: domain.LLMConfig{Model: "m", Options: domain.Metadata{"text": []byte(`"x"`)}}, wrong: "options: text"},
		"a bound of letters":  {config: own, model: domain.LLMConfig{Model: "m", Options: domain.Metadata{"max_output_tokens": []byte(`"x"`)}}, wrong: "max_output_tokens"},
		"too small a bound":   {config: own, model: domain.LLMConfig{Model: "m", MaxOutputTokens: 15}, wrong: "max_output_tokens: api.openai.com takes no fewer than 16"},
		"too small an option": {config: own, model: domain.LLMConfig{Model: "m", Options: domain.Metadata{"max_output_tokens": []byte("15")}}, wrong: "no fewer than 16"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := wire.New(openai.API(), test.config)
			require.NoError(t, err)
			err = p.Check(t.Context(), test.model)
			if test.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.wrong)
			require.Equal(t, test.code, domain.AsError(err).Code)
		})
	}
	p, err := wire.New(openai.API(), own)
	require.NoError(t, err)
	require.EqualValues(t, 16, p.MinOutputTokens())
	list := domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(`{"type":"array"}`)}
	require.ErrorContains(t, p.CheckFormat(domain.LLMConfig{}, list, false), "response_format.schema: api.openai.com takes only schemas of type object")
	require.NoError(t, provider(t, "http://127.0.0.1:1").CheckFormat(domain.LLMConfig{}, list, false))
	require.NoError(t, p.CheckFormat(domain.LLMConfig{Options: domain.Metadata{"text": []byte(`{"verbosity":"low"}`)}}, domain.ResponseFormat{Type: domain.FormatJSON}, false))
	require.ErrorContains(t, p.CheckFormat(domain.LLMConfig{Options: domain.Metadata{"text": []byte(`{"format":{"type":"text"}}`)}}, list, false), "options: text.format")
	require.ErrorContains(t, p.CheckFormat(domain.LLMConfig{BaseURL: "http://elsewhere"}, list, false), "base_url")
}
