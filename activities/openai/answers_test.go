package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/testsuite/providers"
)

// Pieces of a stream.
const (
	created = `{"type":"response.created","response":{"id":"resp_1","model":"m-1","status":"in_progress","output":[]}}`
	added   = `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","status":"in_progress","content":[]}}`
	hel     = `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"hel"}`
	lo      = `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"lo"}`
	hello   = `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"hello"}]}`
	rs      = `{"type":"reasoning","id":"rs_1","encrypted_content":"a+b/c=","summary":[{"type":"summary_text","text":"hm"}]}`
	called  = `{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{\"x\":1}","status":"completed"}`
	used    = `{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":16}`
)

func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		name, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, e)
	}
	return b.String()
}

// ended is the event with which a stream ends.
func ended(status, more string, items ...string) string {
	return `{"type":"response.` + status + `","response":{"id":"resp_1","model":"m-1","status":"` + status + `"` + more + `,"output":[` + strings.Join(items, ",") + `]}}`
}

func itemDone(at int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, at, item)
}

// TestForms reads whole answers in all the forms that streams have.
func TestForms(t *testing.T) {
	t.Parallel()
	end := ended("completed", `,"usage":`+used, hello)
	plain := sse(created, added, hel, lo, end)
	tests := map[string]string{
		"no names":                strings.ReplaceAll(plain, "event: ", ": "),
		"no types":                strings.NewReplacer(`{"type":"response.completed",`, `{`, `{"type":"response.output_text.delta",`, `{`).Replace(plain),
		"an end marker":           plain + "data: [DONE]\n\n",
		"no error, in words":      strings.ReplaceAll(plain, `"model":"m-1"`, `"error":{"code":"","message":""},"incomplete_details":{"reason":""},"model":"m-1"`),
		"events nobody knows":     sse(created, `{"type":"response.mood","mood":{"delta":"no"}}`, `{"type":"response.output_text.annotation.added","annotation":{}}`, added, hel, lo, end),
		"items that are done":     sse(created, added, hel, lo, itemDone(0, hello), ended("completed", "")),
		"an item done twice":      sse(created, added, hel, lo, itemDone(0, hello), itemDone(0, hello), ended("completed", "")),
		"a text among parts":      sse(created, added, hel, lo, ended("completed", "", strings.Replace(hello, `"content":[`, `"content":["",`, 1))),
		"parts that are texts":    sse(created, added, hel, lo, ended("completed", "", `{"type":"message","content":["hel",{"type":"output_text","text":"lo"}]}`)),
		"items done out of order": sse(hel, lo, itemDone(1, strings.Replace(hello, "hello", "lo", 1)), itemDone(0, strings.Replace(hello, "hello", "hel", 1)), ended("completed", "")),
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var heard strings.Builder
			answer, err := provider(t, providers.Serve(t, 200, nil, body).URL).Infer(t.Context(), question(), func(d inference.Delta) { heard.WriteString(d.Text) })
			require.NoError(t, err)
			require.Equal(t, "hello", answer.Message.Text())
			require.Equal(t, "hello", heard.String())
			require.Equal(t, domain.FinishStop, answer.Response.Finish)
			require.Empty(t, answer.Response.FinishWord)
			require.False(t, answer.Partial)
		})
	}
}

// TestParts: the order of the items, the phases and the reasoning are kept.
func TestParts(t *testing.T) {
	t.Parallel()
	words := domain.Part{Type: domain.PartText, Text: "hello"}
	opaque := func(text, raw string) domain.Part {
		return domain.Part{Type: domain.PartReasoning, Text: text, Opaque: []byte(raw)}
	}
	shown := domain.Part{Type: domain.PartReasoning, Text: "hm"}
	mark := opaque("", `{"type":"function_call"}`)
	call := domain.ToolCall{ID: "a", Name: "f", Arguments: `{"x":1}`}
	search := `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x"}}`
	tests := map[string]struct {
		items []string
		parts []domain.Part
		calls []domain.ToolCall
	}{
		"reasoning, text":             {[]string{rs, hello}, []domain.Part{opaque("hm", rs), words}, nil},
		"reasoning, calls":            {[]string{rs, called, called}, []domain.Part{opaque("hm", rs)}, []domain.ToolCall{call, call}},
		"text, reasoning, call":       {[]string{hello, rs, called}, []domain.Part{words, opaque("hm", rs)}, []domain.ToolCall{call}},
		"call, text, call":            {[]string{called, hello, called}, []domain.Part{mark, words}, []domain.ToolCall{call, call}},
		"reasoning for each call":     {[]string{rs, called, rs, called}, []domain.Part{opaque("hm", rs), mark, opaque("hm", rs)}, []domain.ToolCall{call, call}},
		"a phase":                     {[]string{strings.Replace(hello, `"id"`, `"phase":"final_answer","id"`, 1)}, []domain.Part{opaque("", `{"type":"message","phase":"final_answer"}`), words}, nil},
		"a built-in tool":             {[]string{rs, search, rs, hello}, []domain.Part{shown, opaque("hm", rs), words}, nil},
		"reasoning for nothing":       {[]string{hello, rs}, []domain.Part{words, shown}, nil},
		"reasoning that is not whole": {[]string{strings.Replace(rs, `a+b/c=`, ``, 1), hello}, []domain.Part{shown, words}, nil},
		"reasoning without a text":    {[]string{strings.Replace(rs, `{"type":"summary_text","text":"hm"}`, ``, 1), hello}, []domain.Part{opaque("", strings.Replace(rs, `{"type":"summary_text","text":"hm"}`, ``, 1)), words}, nil},
		"reasoning in paragraphs":     {[]string{strings.Replace(rs, `"hm"}`, `"hm"},{"text":"so"}`, 1), hello}, []domain.Part{opaque("hm\n\nso", strings.Replace(rs, `"hm"}`, `"hm"},{"text":"so"}`, 1)), words}, nil},
		"arguments as they came":      {[]string{strings.Replace(called, `"{\"x\":1}"`, `"x = 1"`, 1)}, nil, []domain.ToolCall{{ID: "a", Name: "f", Arguments: "x = 1"}}},
		"arguments as an object":      {[]string{strings.Replace(called, `"{\"x\":1}"`, `{"x":1}`, 1)}, nil, []domain.ToolCall{call}},
		"no call_id":                  {[]string{strings.Replace(called, `"call_id":"a",`, ``, 1)}, nil, []domain.ToolCall{{ID: "fc_1", Name: "f", Arguments: `{"x":1}`}}},
		"nothing":                     {nil, nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var events []string
			for at, item := range test.items {
				events = append(events, itemDone(at, item))
			}
			for _, body := range []string{
				sse(ended("completed", "", test.items...)), sse(append(events, ended("completed", ""))...),
				`{"object":"response","status":"completed","output":[` + strings.Join(test.items, ",") + `]}`,
			} {
				answer, err := infer(t, providers.Serve(t, 200, nil, body).URL, question())
				require.Nil(t, err)
				require.Equal(t, test.parts, answer.Message.Parts)
				require.Equal(t, test.calls, answer.Message.ToolCalls)
			}
		})
	}
}

// TestOneCallIsReadOnce: an item that is told of several times is one call, in all that tells of it.
func TestOneCallIsReadOnce(t *testing.T) {
	t.Parallel()
	const begun = `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":""}}`
	const arguments = `{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_1","delta":"{\"x\":1}"}`
	bare := strings.Replace(called, `"{\"x\":1}"`, `""`, 1)
	unnamed := strings.NewReplacer(`"id":"fc_1",`, "", `"call_id":"a",`, "").Replace(called)
	second := strings.NewReplacer("fc_1", "fc_2", `"a"`, `"b"`).Replace(called)
	custom := `{"type":"custom_tool_call","id":"ctc_1","call_id":"a","name":"f","input":"{\"x\":1}","status":"completed"}`
	tests := map[string]struct {
		events []string
		ids    []string
	}{
		"done, and at the end":               {[]string{created, begun, arguments, itemDone(0, called), ended("completed", "", called)}, []string{"a"}},
		"done alone":                         {[]string{created, begun, arguments, itemDone(0, called), ended("completed", "")}, []string{"a"}},
		"done twice":                         {[]string{created, begun, itemDone(0, called), itemDone(0, called), ended("completed", "")}, []string{"a"}},
		"done twice, once without arguments": {[]string{created, itemDone(0, bare), itemDone(0, called), ended("completed", "")}, []string{"a"}},
		"done twice, without ids":            {[]string{created, itemDone(0, unnamed), itemDone(0, unnamed), ended("completed", "")}, []string{""}},
		"another id of the item at the end":  {[]string{created, itemDone(0, called), ended("completed", "", strings.Replace(called, "fc_1", "fc_9", 1))}, []string{"a"}},
		"arguments at its done alone":        {[]string{created, itemDone(0, called), ended("completed", "", bare)}, []string{"a"}},
		"arguments in deltas alone":          {[]string{created, begun, arguments, ended("completed", "", bare)}, []string{"a"}},
		"of free text":                       {[]string{created, itemDone(0, custom), ended("completed", "", custom)}, []string{"a"}},
		"two ids, the same arguments":        {[]string{created, itemDone(0, called), itemDone(1, second), ended("completed", "")}, []string{"a", "b"}},
		"two ids at one index":               {[]string{created, itemDone(0, called), itemDone(0, second), ended("completed", "")}, []string{"a", "b"}},
		"two indices, without ids":           {[]string{created, itemDone(0, unnamed), itemDone(1, unnamed), ended("completed", "")}, []string{"", ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := infer(t, providers.Serve(t, 200, nil, sse(test.events...)).URL, question())
			require.Nil(t, err)
			var ids []string
			for _, c := range answer.Message.ToolCalls {
				require.Equal(t, "f", c.Name)
				require.Equal(t, `{"x":1}`, c.Arguments)
				ids = append(ids, c.ID)
			}
			require.Equal(t, test.ids, ids)
			require.Equal(t, domain.FinishToolCalls, answer.Response.Finish)
		})
	}
}

// TestReasoningIsThatOfItsItem: the API encrypts anew at the end, and wants
// that of the item back.
func TestReasoningIsThatOfItsItem(t *testing.T) {
	t.Parallel()
	anew, bare := strings.Replace(rs, "a+b/c=", "anew", 1), strings.Replace(rs, `"encrypted_content":"a+b/c=",`, "", 1)
	for want, body := range map[string]string{
		rs:   sse(itemDone(0, rs), itemDone(1, hello), ended("completed", "", anew, hello)),
		anew: sse(itemDone(0, bare), itemDone(1, hello), ended("completed", "", anew, hello)),
	} {
		answer, err := infer(t, providers.Serve(t, 200, nil, body).URL, question())
		require.Nil(t, err)
		require.Equal(t, want, string(answer.Message.Parts[0].Opaque))
	}
}

func TestDeltas(t *testing.T) {
	t.Parallel()
	var heard []inference.Delta
	body := sse(created,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"one"}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"two"}`,
		`{"type":"response.reasoning_text.delta","output_index":1,"content_index":0,"delta":"three"}`,
		`{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"a","name":"f","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{}"}`,
		`{"type":"response.refusal.delta","output_index":3,"delta":"no"}`,
		ended("completed", "", called, `{"type":"message","status":"completed","content":[{"type":"refusal","refusal":"no"}]}`))
	_, err := provider(t, providers.Serve(t, 200, nil, body).URL).Infer(t.Context(), question(), func(d inference.Delta) { heard = append(heard, d) })
	require.NoError(t, err)
	require.Equal(t, []inference.Delta{{Reasoning: "one"}, {Reasoning: "\n\ntwo"}, {Reasoning: "three"}, {Tool: "f"}, {Text: "no"}}, heard)
}

// TestFinish reads why a model stopped: its items decide first.
func TestFinish(t *testing.T) {
	t.Parallel()
	refusal := `{"type":"message","status":"completed","content":[{"type":"refusal","refusal":"I won't"}]}`
	cut := strings.NewReplacer(`\"x\":1}`, `\"x\":`, "completed", "incomplete").Replace(called)
	length, filter := `,"incomplete_details":{"reason":"max_output_tokens"}`, `,"incomplete_details":{"reason":"content_filter"}`
	atLimit := `,"usage":{"input_tokens":1,"output_tokens":16}`
	tests := map[string]struct {
		body string
		want domain.FinishReason
		word string
		text string
	}{
		"completed":               {sse(ended("completed", "", hello)), domain.FinishStop, "", "hello"},
		"calls":                   {sse(ended("completed", "", hello, called)), domain.FinishToolCalls, "", "hello"},
		"a refusal":               {sse(ended("completed", "", refusal)), domain.FinishRefusal, "", "I won't"},
		"a refusal behind text":   {sse(ended("completed", "", hello, refusal)), domain.FinishRefusal, "", "helloI won't"},
		"length":                  {sse(ended("incomplete", length, hello)), domain.FinishLength, "max_output_tokens", "hello"},
		"length in reasoning":     {sse(ended("incomplete", length)), domain.FinishLength, "max_output_tokens", ""},
		"length in a call":        {sse(ended("incomplete", length, cut)), domain.FinishLength, "max_output_tokens", ""},
		"length behind a call":    {sse(ended("incomplete", length, called)), domain.FinishLength, "max_output_tokens", ""},
		"completed, cut":          {sse(ended("completed", "", cut)), domain.FinishLength, "", ""},
		"completed, at the limit": {sse(ended("completed", atLimit, strings.Replace(cut, `"incomplete"`, `"completed"`, 1))), domain.FinishLength, "", ""},
		"filtered with text":      {sse(ended("incomplete", filter, hello)), domain.FinishContentFilter, "", "hello"},
		"filtered with nothing":   {sse(ended("incomplete", filter)), domain.FinishContentFilter, "", ""},
		"incomplete, why ever":    {sse(ended("incomplete", `,"incomplete_details":{"reason":"gone_fishing"}`, called)), domain.FinishLength, "gone_fishing", ""},
		"incomplete, no details":  {sse(ended("incomplete", `,"incomplete_details":null`, called)), domain.FinishLength, "", ""},
		"completed, yet not":      {sse(strings.Replace(ended("completed", "", called), `"status":"completed","output"`, `"status":"incomplete","output"`, 1)), domain.FinishLength, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := question()
			call.MaxOutputTokens = 16
			answer, err := infer(t, providers.Serve(t, 200, nil, test.body).URL, call)
			require.Nil(t, err)
			require.Equal(t, test.want, answer.Response.Finish)
			require.Equal(t, test.word, answer.Response.FinishWord)
			require.Equal(t, test.text, answer.Message.Text())
			require.False(t, answer.Partial)
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		json string
		want domain.Usage
	}{
		"missing":          {json: `null`},
		"of zeros":         {json: `{"input_tokens":0,"output_tokens":0}`},
		"output only":      {json: `{"output_tokens":7}`, want: domain.Usage{OutputTokens: 7}},
		"not numbers":      {json: `{"input_tokens":"many","output_tokens":-7}`},
		"with details":     {json: used, want: domain.Usage{InputTokens: 9, OutputTokens: 7, CacheReadTokens: 4, ReasoningTokens: 5}},
		"a cache written":  {json: `{"input_tokens":9,"output_tokens":7,"input_tokens_details":{"cached_tokens":1,"cache_write_tokens":8}}`, want: domain.Usage{InputTokens: 9, OutputTokens: 7, CacheReadTokens: 1, CacheWriteTokens: 8}},
		"reasoning beside": {json: `{"input_tokens":9,"output_tokens":7,"total_tokens":21,"output_tokens_details":{"reasoning_tokens":5}}`, want: domain.Usage{InputTokens: 9, OutputTokens: 12, ReasoningTokens: 5}},
		"null details":     {json: `{"input_tokens":9,"output_tokens":7,"input_tokens_details":null}`, want: domain.Usage{InputTokens: 9, OutputTokens: 7}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := infer(t, providers.Serve(t, 200, nil, sse(ended("completed", `,"usage":`+test.json, hello))).URL, question())
			require.Nil(t, err)
			require.Equal(t, test.want, answer.Response.Usage)
			require.Equal(t, "resp_1", answer.Response.ID)
			require.Equal(t, "m-1", answer.Response.Model)
		})
	}
}
