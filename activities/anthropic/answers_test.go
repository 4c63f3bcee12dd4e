package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// event is one of a stream's, named as the API does.
func event(name, fields string) string {
	return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + strings.TrimSuffix(","+fields, ",") + "}\n\n"
}

func begin(index, block string) string {
	return event("content_block_start", `"index":`+index+`,"content_block":`+block)
}

func piece(index, delta string) string {
	return event("content_block_delta", `"index":`+index+`,"delta":`+delta)
}

func text(index, words string) string {
	return begin(index, `{"type":"text","text":""}`) + piece(index, `{"type":"text_delta","text":"`+words+`"}`) + event("content_block_stop", `"index":`+index)
}

func arguments(index, part string) string {
	data, _ := json.Marshal(part)
	return piece(index, `{"type":"input_json_delta","partial_json":`+string(data)+`}`)
}

// ended is how a stream ends for a reason.
func ended(reason string) string {
	return event("message_delta", `"delta":{"stop_reason":`+reason+`},"usage":{"output_tokens":7}`) + event("message_stop", "")
}

const (
	start = "event: message_start\ndata: " + `{"type":"message_start","message":{"id":"msg_1","model":"m-1","content":[],"stop_reason":null,"usage":{"input_tokens":3,"cache_read_input_tokens":20,"cache_creation_input_tokens":100,"output_tokens":1}}}` + "\n\n"
	toolF = `{"type":"tool_use","id":"toolu_f","name":"f","input":{}}`
	toolG = `{"type":"tool_use","id":"toolu_g","name":"g","input":{}}`
)

var whole = start + text("0", "hello") + ended(`"end_turn"`)

// TestForms reads whole answers in all the forms that streams have.
func TestForms(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"comments and pings": ": hi\n\n" + event("ping", "") + strings.ReplaceAll(whole, "event:", ": wait\nevent:"),
		"no names":           strings.ReplaceAll(whole, "event: ", ": "),
		"names only":         strings.NewReplacer(`"type":"content_block_delta",`, "", `"type":"message_stop"`, "").Replace(whole),
		"unknown events":     strings.ReplaceAll(whole, "event: message_delta", "event: sparkle\ndata: {\"type\":\"sparkle\",\"x\":[1]}\n\nevent: message_delta"),
		"an end marker":      whole + "data: [DONE]\n\n" + event("ping", ""),
		"text unannounced":   start + piece("0", `{"type":"text_delta","text":"hello"}`) + ended(`"end_turn"`),
		"without indexes":    strings.ReplaceAll(whole, `"index":0,`, ""),
		"two texts":          start + text("0", "hel") + text("1", "lo") + ended(`"end_turn"`),
		"one index for two":  start + text("0", "hel") + text("0", "lo") + ended(`"end_turn"`),
		"text at the start":  start + begin("0", `{"type":"text","text":"hel"}`) + piece("0", `{"type":"text_delta","text":"lo"}`) + ended(`"end_turn"`),
		"behind the reason":  start + text("0", "hel") + event("message_delta", `"delta":{"stop_reason":"max_tokens"}`) + text("1", "lo") + ended(`"end_turn"`),
		"no types of pieces": strings.ReplaceAll(whole, `"type":"text_delta",`, ""),
		"unannounced too":    start + piece("0", `{"text":"hello"}`) + ended(`"end_turn"`),
		"in the beginning":   strings.Replace(start, `"content":[]`, `"content":[{"type":"text","text":"hello"}]`, 1) + ended(`"end_turn"`),
		"there and in order": strings.Replace(whole, `"content":[]`, `"content":[{"type":"text","text":"hello"}]`, 1),
		"citations":          start + text("0", "hello") + piece("0", `{"type":"citations_delta","citation":{"cited_text":"x"}}`) + ended(`"end_turn"`),
		"in one piece":       `{"type":"message","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn"}`,
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var heard strings.Builder
			answer, err := provider(t, serve(t, 200, nil, body)).Infer(t.Context(), question(), func(d inference.Delta) { heard.WriteString(d.Text) })
			require.NoError(t, err)
			require.Equal(t, "hello", answer.Message.Text())
			require.Equal(t, "hello", heard.String())
			require.Equal(t, domain.FinishStop, answer.Response.Finish)
		})
	}
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	two := []domain.ToolCall{{ID: "toolu_f", Name: "f", Arguments: `{"x":1}`}, {ID: "toolu_g", Name: "g", Arguments: `{}`}}
	tests := map[string]struct {
		// early is the content of the message's beginning.
		body, early string
		want        []domain.ToolCall
	}{
		"one after the other": {body: begin("0", toolF) + arguments("0", "") + arguments("0", `{"x":`) + arguments("0", "1}") + begin("1", toolG), want: two},
		"in turns":            {body: begin("0", toolF) + begin("1", toolG) + arguments("0", `{"x":`) + arguments("1", "{") + arguments("0", "1}") + arguments("1", "}"), want: two},
		"one index for both":  {body: begin("0", toolF) + arguments("0", `{"x":1}`) + event("content_block_stop", `"index":0`) + begin("0", toolG) + arguments("0", "{}"), want: two},
		"input at the start":  {body: begin("0", strings.Replace(toolF, "{}", `{"x":1}`, 1)) + begin("1", toolG), want: two},
		"one id for both": {body: begin("0", toolF) + begin("1", strings.Replace(toolG, "toolu_g", "toolu_f", 1)),
			want: []domain.ToolCall{{ID: "toolu_f", Name: "f", Arguments: "{}"}, {ID: "toolu_f", Name: "g", Arguments: "{}"}}},
		"input at the start and in pieces":  {body: begin("0", strings.Replace(toolF, "{}", `{"x":1}`, 1)) + arguments("0", `{"x":`) + arguments("0", "1}"), want: two[:1]},
		"input at the start, nothing later": {body: begin("0", strings.Replace(toolF, "{}", `{"x":1}`, 1)) + arguments("0", "") + arguments("0", "{}"), want: two[:1]},
		"input in the message's beginning":  {body: "", early: strings.Replace(toolF, "{}", `{"x":1}`, 1), want: two[:1]},
		"input there and in blocks":         {body: begin("0", toolF) + arguments("0", `{"x":1}`), early: strings.Replace(toolF, "{}", `{"x":1}`, 1), want: two[:1]},
		"behind the stop reason":            {body: event("message_delta", `"delta":{"stop_reason":"end_turn"}`) + begin("0", toolF) + arguments("0", `{"x":1}`), want: two[:1]},
		"two ids, the same arguments": {body: begin("0", toolF) + begin("1", strings.Replace(toolF, "toolu_f", "toolu_2", 1)),
			want: []domain.ToolCall{{ID: "toolu_f", Name: "f", Arguments: "{}"}, {ID: "toolu_2", Name: "f", Arguments: "{}"}}},
		"one id and name for both": {body: begin("0", toolF) + arguments("0", `{"x":1}`) + begin("1", toolF) + arguments("1", `{"x":2}`),
			want: []domain.ToolCall{two[0], {ID: "toolu_f", Name: "f", Arguments: `{"x":2}`}}},
		"no JSON":  {body: begin("0", toolF) + arguments("0", "x = 1"), want: []domain.ToolCall{{ID: "toolu_f", Name: "f", Arguments: "x = 1"}}},
		"no input": {body: begin("0", `{"type":"tool_use","id":"toolu_f","name":"f"}`), want: []domain.ToolCall{{ID: "toolu_f", Name: "f"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tools []string
			body := strings.Replace(start, `"content":[]`, `"content":[`+test.early+`]`, 1) + test.body + ended(`"tool_use"`)
			answer, err := provider(t, serve(t, 200, nil, body)).Infer(t.Context(), question(), func(d inference.Delta) {
				if d.Tool != "" {
					tools = append(tools, d.Tool)
				}
			})
			require.NoError(t, err)
			require.Equal(t, test.want, answer.Message.ToolCalls)
			require.Len(t, tools, len(test.want))
			require.Equal(t, domain.FinishToolCalls, answer.Response.Finish)
			require.Empty(t, answer.Message.Parts)
		})
	}
}

// TestFinish reads why a model stopped: its content decides first.
func TestFinish(t *testing.T) {
	t.Parallel()
	cut := begin("0", toolF) + arguments("0", `{"x":`)
	explained := event("message_delta", `"delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","explanation":"I won't."}},"usage":{"output_tokens":0}`) + event("message_stop", "")
	tests := map[string]struct {
		body, text string
		bound      int64
		calls      int
		want       domain.FinishReason
		word       string
	}{
		"end_turn":                  {body: text("0", "x") + ended(`"end_turn"`), text: "x", want: domain.FinishStop, word: "end_turn"},
		"stop_sequence":             {body: text("0", "x") + ended(`"stop_sequence"`), text: "x", want: domain.FinishStop, word: "stop_sequence"},
		"max_tokens":                {body: text("0", "x") + ended(`"max_tokens"`), text: "x", want: domain.FinishLength, word: "max_tokens"},
		"max_tokens in a call":      {body: cut + ended(`"max_tokens"`), calls: 1, want: domain.FinishLength, word: "max_tokens"},
		"a call, cut by the bound":  {body: cut + ended(`"tool_use"`), bound: 7, calls: 1, want: domain.FinishLength, word: "tool_use"},
		"a call within the bound":   {body: cut + ended(`"tool_use"`), bound: 8, calls: 1, want: domain.FinishToolCalls, word: "tool_use"},
		"end_turn with a call":      {body: begin("0", toolF) + ended(`"end_turn"`), calls: 1, want: domain.FinishToolCalls, word: "end_turn"},
		"tool_use without a call":   {body: text("0", "x") + ended(`"tool_use"`), text: "x", want: domain.FinishStop, word: "tool_use"},
		"pause_turn":                {body: text("0", "x") + ended(`"pause_turn"`), text: "x", want: domain.FinishOther, word: anthropic.Paused},
		"a word nobody knows":       {body: text("0", "x") + ended(`"gone_fishing"`), text: "x", want: domain.FinishOther, word: "gone_fishing"},
		"a refusal with text":       {body: text("0", "x") + ended(`"refusal"`), text: "x", want: domain.FinishRefusal},
		"a refusal without content": {body: ended(`"refusal"`), want: domain.FinishRefusal},
		"a refusal that explains":   {body: explained, text: "I won't.", want: domain.FinishRefusal},
		"a refusal inside a call":   {body: cut + explained, text: "I won't.", want: domain.FinishRefusal},
		"nothing":                   {body: ended(`"end_turn"`), want: domain.FinishStop, word: "end_turn"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := question()
			call.MaxOutputTokens = test.bound
			answer, err := infer(t, serve(t, 200, nil, start+test.body), call)
			require.Nil(t, err)
			require.Equal(t, test.want, answer.Response.Finish)
			require.Equal(t, test.word, answer.Response.FinishWord)
			require.Equal(t, test.text, answer.Message.Text())
			require.Len(t, answer.Message.ToolCalls, test.calls)
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	told := func(usage string) string {
		return start + event("message_delta", `"delta":{"stop_reason":"end_turn"},"usage":`+usage) + event("message_stop", "")
	}
	tests := map[string]struct {
		body string
		want domain.Usage
	}{
		"at the end":          {body: told(`{"output_tokens":9}`), want: domain.Usage{InputTokens: 123, OutputTokens: 9, CacheReadTokens: 20, CacheWriteTokens: 100}},
		"grown":               {body: told(`{"input_tokens":5,"cache_read_input_tokens":30,"output_tokens":9}`), want: domain.Usage{InputTokens: 135, OutputTokens: 9, CacheReadTokens: 30, CacheWriteTokens: 100}},
		"less at the end":     {body: told(`{"input_tokens":2,"cache_read_input_tokens":121,"cache_creation_input_tokens":0,"output_tokens":9}`), want: domain.Usage{InputTokens: 123, OutputTokens: 9, CacheReadTokens: 121}},
		"all of it inside":    {body: told(`{"input_tokens":123,"cache_read_input_tokens":20,"cache_creation_input_tokens":100,"output_tokens":9,"total_tokens":132}`), want: domain.Usage{InputTokens: 123, OutputTokens: 9, CacheReadTokens: 20, CacheWriteTokens: 100}},
		"zeros at the end":    {body: told(`{"input_tokens":0,"cache_creation_input_tokens":null,"output_tokens":9}`), want: domain.Usage{InputTokens: 123, OutputTokens: 9, CacheReadTokens: 20, CacheWriteTokens: 100}},
		"thinking":            {body: told(`{"output_tokens":9,"output_tokens_details":{"thinking_tokens":4}}`), want: domain.Usage{InputTokens: 123, OutputTokens: 9, CacheReadTokens: 20, CacheWriteTokens: 100, ReasoningTokens: 4}},
		"no output is told":   {body: told(`null`), want: domain.Usage{InputTokens: 123, CacheReadTokens: 20, CacheWriteTokens: 100}},
		"not numbers":         {body: told(`{"output_tokens":"many","input_tokens":-4}`), want: domain.Usage{InputTokens: 123, CacheReadTokens: 20, CacheWriteTokens: 100}},
		"none at all":         {body: event("message_start", `"message":{"id":"1"}`) + event("message_delta", `"delta":{"stop_reason":"end_turn"}`) + event("message_stop", "")},
		"of one piece":        {body: `{"content":[],"stop_reason":"end_turn","usage":{"input_tokens":2,"output_tokens":3,"cache_read_input_tokens":4}}`, want: domain.Usage{InputTokens: 6, OutputTokens: 3, CacheReadTokens: 4}},
		"of one piece, nulls": {body: `{"content":null,"stop_reason":"end_turn","usage":null}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := infer(t, serve(t, 200, nil, test.body), question())
			require.Nil(t, err)
			require.Equal(t, test.want, answer.Response.Usage)
		})
	}
}

// TestKept: what the API wants back goes back as it came and where it was, and
// everything else is as it was too.
func TestKept(t *testing.T) {
	t.Parallel()
	search := `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://a/?b<c","encrypted_content":"Ee+/=="}],"new_field":1.50}`
	body := start +
		begin("0", `{"type":"thinking","thinking":"","signature":""}`) + piece("0", `{"type":"thinking_delta","thinking":"h<m "}`) + piece("0", `{"type":"thinking_delta","thinking":"\u00e9"}`) +
		piece("0", `{"type":"signature_delta","signature":"Eu+/a="}`) + event("content_block_stop", `"index":0`) +
		begin("1", `{"type":"redacted_thinking","data":"EmwK+/="}`) +
		text("2", "look") +
		begin("3", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`) + arguments("3", `{"query":`) + arguments("3", `"x"}`) +
		begin("4", search) +
		begin("5", toolF) + arguments("5", `{"x":1}`) +
		begin("6", `{"type":"thinking","thinking":"","signature":""}`) + piece("6", `{"type":"signature_delta","signature":"omitted="}`) +
		begin("7", `{"type":"thinking","thinking":"unsigned"}`) +
		begin("8", toolG) +
		begin("9", `{"type":"puzzle","a":1}`) + piece("9", `{"type":"puzzle_delta","b":2}`) +
		begin("10", `{"type":"compaction","content":null,"encrypted_content":null}`) + piece("10", `{"type":"compaction_delta","content":"so <far>","encrypted_content":"Eq+="}`) +
		ended(`"tool_use"`)
	answer, err := infer(t, serve(t, 200, nil, body), question())
	require.Nil(t, err)
	require.Equal(t, "look", answer.Message.Text())
	require.Len(t, answer.Message.ToolCalls, 2)

	recorded, failed := json.Marshal(answer.Message)
	require.NoError(t, failed)
	var again domain.Message
	require.NoError(t, json.Unmarshal(recorded, &again))
	call := question()
	call.Messages = append(call.Messages, again, result("toolu_f", "1"), result("toolu_g", "2"))
	request := sent(t, call)
	require.Equal(t, jsonOf(t, `[
		{"type":"thinking","thinking":"h<m é","signature":"Eu+/a="},
		{"type":"redacted_thinking","data":"EmwK+/="},
		{"type":"text","text":"look"},
		{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},
		`+search+`,
		{"type":"tool_use","id":"toolu_f","name":"f","input":{"x":1}},
		{"type":"thinking","thinking":"","signature":"omitted="},
		{"type":"tool_use","id":"toolu_g","name":"g","input":{}},
		{"type":"compaction","content":"so <far>","encrypted_content":"Eq+="}
	]`), request["messages"].([]any)[1].(map[string]any)["content"])
}

// TestPausedGoesOn: what paused is sent back as it is, as the last word.
func TestPausedGoesOn(t *testing.T) {
	t.Parallel()
	answer, err := infer(t, serve(t, 200, nil, start+text("0", "so far")+begin("1", `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`)+ended(`"pause_turn"`)), question())
	require.Nil(t, err)
	call := question()
	call.Messages = append(call.Messages, answer.Message)
	messages := sent(t, call)["messages"].([]any)
	require.Len(t, messages, 2)
	require.Equal(t, jsonOf(t, `{"role":"assistant","content":[{"type":"text","text":"so far"},{"type":"server_tool_use","id":"s","name":"web_search","input":{}}]}`), messages[1])
	next := domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "done"}}}
	call.Messages = append(call.Messages, next, domain.UserMessage("thanks"))
	messages = sent(t, call)["messages"].([]any)
	require.Len(t, messages, 3, "what came after the pause belongs to the same turn")
}

// FuzzAnswer: whatever a server sends, it is an answer that is whole or a typed
// error, and never a panic; and what was accepted can be sent back.
func FuzzAnswer(f *testing.F) {
	f.Add(whole)
	f.Add(start + begin("0", toolF) + arguments("0", `{"x":`) + ended(`"tool_use"`))
	f.Add(`{"type":"message","content":[{"type":"thinking","thinking":"x","signature":"y"},{"type":"tool_use"}],"stop_reason":"refusal"}`)
	f.Add(event("error", `"error":{"type":"overloaded_error","message":"busy"}`))
	var body atomic.Pointer[string]
	p, err := wire.New(anthropic.API(), wire.Config{BaseURL: serveFunc(f, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, *body.Load()) })})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, sent string) {
		body.Store(&sent)
		answer, err := p.Infer(t.Context(), question(), func(inference.Delta) {})
		if err != nil {
			_, typed := errors.AsType[*domain.Error](err)
			require.True(t, typed, "%T", err)
			require.True(t, answer.Partial)
			require.Empty(t, answer.Message.ToolCalls)
			return
		}
		require.Contains(t, strings.ToLower(sent), "stop_reason")
		call := question()
		call.Messages = append(call.Messages, answer.Message)
		again, err := p.Infer(t.Context(), call, func(inference.Delta) {})
		require.NoError(t, err, "what was accepted can be sent back")
		require.Equal(t, answer, again)
	})
}
