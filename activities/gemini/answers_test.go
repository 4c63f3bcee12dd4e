package gemini_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/testsuite/providers"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range bodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var heard said
			answer, err := provider(t, providers.Serve(t, 200, http.Header{"X-Request-Id": {"r-1"}}, test.body).URL).Infer(t.Context(), question(), func(d inference.Delta) {
				heard.Text += d.Text
				heard.Thought += d.Reasoning
			})
			require.NoError(t, err)
			require.Equal(t, test.want, ours(answer))
			require.Equal(t, said{Text: test.want.Text, Thought: test.want.Thought}, heard)
			require.Equal(t, "WQuqavG5KbfUjMcP", answer.Response.ID)
			require.Equal(t, "r-1", answer.Response.RequestID)
			require.Equal(t, "gemini-3.7-flash", answer.Response.Model)
			require.False(t, answer.Partial)
		})
	}
}

// TestSDKAgrees reads the same bodies with the official SDK.
func TestSDKAgrees(t *testing.T) {
	t.Parallel()
	for name, test := range bodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
				APIKey: testKey, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: providers.Serve(t, 200, nil, test.body).URL},
			})
			require.NoError(t, err)
			var got said
			for piece, err := range client.Models.GenerateContentStream(t.Context(), "gemini-3.7-flash", genai.Text("hello"), nil) {
				require.NoError(t, err)
				if u := piece.UsageMetadata; u != nil {
					got.Usage = domain.Usage{
						InputTokens: int64(u.PromptTokenCount + u.ToolUsePromptTokenCount), OutputTokens: int64(u.CandidatesTokenCount + u.ThoughtsTokenCount),
						CacheReadTokens: int64(u.CachedContentTokenCount), ReasoningTokens: int64(u.ThoughtsTokenCount),
					}
				}
				c := piece.Candidates[0]
				got.Finish += string(c.FinishReason)
				if c.Content == nil {
					continue
				}
				for _, p := range c.Content.Parts {
					switch {
					case p.FunctionCall != nil:
						args, err := json.Marshal(p.FunctionCall.Args)
						require.NoError(t, err)
						got.Calls = append(got.Calls, domain.ToolCall{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Arguments: string(args)})
					case p.Thought:
						got.Thought += p.Text
					default:
						got.Text += p.Text
					}
				}
			}
			want := test.want
			want.Calls = slices.Clone(want.Calls)
			for i, c := range want.Calls {
				// The SDK makes floats of numbers, and null of no arguments.
				var args map[string]any
				require.NoError(t, json.Unmarshal([]byte(c.Arguments), &args))
				encoded, err := json.Marshal(args)
				require.NoError(t, err)
				if string(encoded) == "{}" && got.Calls[i].Arguments == "null" {
					encoded = []byte("null")
				}
				want.Calls[i].Arguments = string(encoded)
			}
			require.Equal(t, want, got)
		})
	}
}

// TestCutStreams: a stream that ends before its last event is never an answer.
func TestCutStreams(t *testing.T) {
	t.Parallel()
	for name, test := range bodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := strings.SplitAfter(test.body, "\r\n\r\n")
			for n := range len(events) - 2 {
				answer, err := infer(t, providers.Serve(t, 200, nil, strings.Join(events[:n+1], "")).URL, question())
				require.NotNil(t, err, "after %d events", n+1)
				require.Equal(t, domain.CodeMalformed, err.Code)
				require.True(t, err.Billed && err.Kind == domain.Unavailable)
				require.True(t, answer.Partial)
				require.Empty(t, answer.Message.ToolCalls)
				for _, p := range answer.Message.Parts {
					require.Empty(t, p.Opaque)
				}
			}
		})
	}
}

// TestForms reads one answer in all the forms in which it may come.
func TestForms(t *testing.T) {
	t.Parallel()
	first, last := `{"candidates":[`+says("", `{"text": "hel"}`)+`]}`, `{"candidates":[`+says("STOP", `{"text": "lo"}`)+`]}`
	whole := "data: " + first + "\n\ndata: " + last + "\n\n"
	tests := map[string]struct{ body, word string }{
		"OpenAI's end marker": {body: whole + "data: [DONE]\n\n"},
		"usage after the end": {body: whole + "data: {\"usageMetadata\":{\"promptTokenCount\":1}}\n\n"},
		"a second end":        {body: whole + "data: {\"candidates\":[" + says("STOP") + "]}\n\n"},
		"a reason at each":    {body: strings.Replace(whole, `"model"},`, `"model"},"finishReason":"STOP",`, 1)},
		"text after it":       {body: strings.Replace(strings.Replace(whole, `"finishReason": "STOP",`, "", 1), `"model"},`, `"model"},"finishReason":"STOP",`, 1) + "data: [DONE]\n\n"},
		"the last reason":     {body: strings.Replace(whole, `"model"},`, `"model"},"finishReason":"MAX_TOKENS",`, 1)},
		"another id at each":  {body: strings.Replace(strings.Replace(whole, `{"candidates"`, `{"responseId":"1","candidates"`, 1), "\n\ndata: {", "\n\ndata: {\"responseId\":\"2\",", 1)},
		"nothing, in words":   {body: strings.Replace(whole, `"model"},`, `"model","functionCall":{}},"finishMessage":"",`, 1) + `data: {"candidates":[` + says("", `{"text":"","functionCall":{"id":"","name":"","args":{}}}`) + `],"error":{"code":0,"message":""},"promptFeedback":{"blockReason":""}}` + "\n\n"},
		"no call":             {body: "data: {\"candidates\":[" + says("", `{"text":"hel","functionCall":{"id":"","name":"","args":{}}}`) + "]}\n\ndata: " + last + "\n\n"},
		"interim reasons":     {body: strings.Replace(whole, `"model"},`, `"model"},"finishReason":"FINISH_REASON_UNSPECIFIED",`, 1)},
		"other candidates":    {body: "data: " + first + "\n\ndata: {\"candidates\":[{\"index\":1,\"content\":{\"parts\":[{\"text\":\"no\"}]},\"finishReason\":\"STOP\"}]}\n\ndata: " + last + "\n\n"},
		"in one piece":        {body: `{"candidates":[` + says("STOP", `{"text":"hello"}`) + `]}`},
		"without a reason":    {body: `{"candidates":[` + says("", `{"text":"hello"}`) + `]}`, word: "none"},
		"a list":              {body: "[" + first + "\n,\r\n" + last + "\n]"},
		"null fields":         {body: `{"candidates":[` + says("STOP", `{"text":"hello","thoughtSignature":null,"functionCall":null}`, `{}`) + `],"promptFeedback":null,"usageMetadata":null,"error":null}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, bytewise := range []bool{false, true} {
				answer, err := infer(t, drip(t, test.body, bytewise), question())
				require.Nil(t, err)
				word := test.word
				if word == "" {
					word = "STOP"
				}
				require.Equal(t, "hello", answer.Message.Text())
				require.Len(t, answer.Message.Parts, 1, "there is nothing that has to go back")
				require.Equal(t, word, answer.Response.FinishWord)
				require.Equal(t, domain.FinishStop, answer.Response.Finish)
			}
		})
	}
}

// TestOneCallIsReadOnce: a call that the server says again is one, and two calls are two.
func TestOneCallIsReadOnce(t *testing.T) {
	t.Parallel()
	call := func(id, args string) string {
		return `{"functionCall":{"id":"` + id + `","name":"f","args":` + args + `}}`
	}
	tests := map[string]struct {
		events []string
		want   []string
	}{
		"twice":                           {events: []string{says("", call("a", `{"x":1}`)), says("STOP", call("a", `{"x": 1}`))}, want: []string{"a"}},
		"again without its arguments":     {events: []string{says("", call("a", `{"x":1}`)), says("STOP", call("a", `{}`))}, want: []string{"a"}},
		"again, and null":                 {events: []string{says("", call("a", `{"x":1}`)), says("STOP", call("a", `null`))}, want: []string{"a"}},
		"after the finish":                {events: []string{says("STOP", `{"text":"hi"}`), says("STOP", call("a", `{}`))}, want: []string{"a"}},
		"two ids":                         {events: []string{says("", call("a", `{}`)), says("STOP", call("b", `{}`))}, want: []string{"a", "b"}},
		"two places in one list":          {events: []string{says("STOP", call("a", `{}`), call("a", `{}`))}, want: []string{"a", "a"}},
		"one id with different arguments": {events: []string{says("", call("a", `{"x":1}`)), says("STOP", call("a", `{"x":2}`))}, want: []string{"a", "a"}},
		"no ids":                          {events: []string{says("", call("", `{}`)), says("STOP", call("", `{}`))}, want: []string{"", ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body strings.Builder
			for _, e := range test.events {
				body.WriteString(event(e, ""))
			}
			answer, err := infer(t, providers.Serve(t, 200, nil, body.String()).URL, question())
			require.Nil(t, err)
			require.Equal(t, domain.FinishToolCalls, answer.Response.Finish)
			var ids []string
			for _, c := range answer.Message.ToolCalls {
				require.Equal(t, "f", c.Name)
				ids = append(ids, c.ID)
			}
			require.Equal(t, test.want, ids)
			sent := newScript(t)
			sent.sent(t, next(recorded(t, answer.Message)))
		})
	}
}

// drip serves a body in one piece or byte by byte.
func drip(t *testing.T, body string, bytewise bool) (url string) {
	t.Helper()
	return providers.ServeFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		size := len(body)
		if bytewise {
			size = 1
		}
		for i := 0; i < len(body); i += size {
			_, _ = w.Write([]byte(body[i : i+size]))
			_ = http.NewResponseController(w).Flush()
		}
	}).URL
}

// TestFinish reads why a model stopped: its content decides first, but what a
// filter has cut is not acted upon.
func TestFinish(t *testing.T) {
	t.Parallel()
	text, call := `{"text":"x"}`, `{"functionCall":{"name":"f","args":{}}}`
	tests := map[string]struct {
		part, word string
		want       domain.FinishReason
		calls      int
		text       string
	}{
		"stop":                {part: text, word: "STOP", want: domain.FinishStop, text: "x"},
		"stop with calls":     {part: call, word: "STOP", want: domain.FinishToolCalls, calls: 1},
		"nothing":             {word: "STOP", want: domain.FinishStop},
		"length":              {part: text, word: "MAX_TOKENS", want: domain.FinishLength, text: "x"},
		"length with calls":   {part: call, word: "MAX_TOKENS", want: domain.FinishLength, calls: 1},
		"to be continued":     {part: text, word: "CONTINUATION", want: domain.FinishLength, text: "x"},
		"safety":              {word: "SAFETY", want: domain.FinishContentFilter},
		"safety after text":   {part: text, word: "SAFETY", want: domain.FinishContentFilter, text: "x"},
		"safety after a call": {part: call, word: "SAFETY", want: domain.FinishContentFilter},
		"recitation":          {word: "RECITATION", want: domain.FinishContentFilter},
		"blocklist":           {word: "BLOCKLIST", want: domain.FinishContentFilter},
		"prohibited":          {word: "PROHIBITED_CONTENT", want: domain.FinishContentFilter},
		"personal data":       {word: "SPII", want: domain.FinishContentFilter},
		"an unsafe image":     {word: "IMAGE_SAFETY", want: domain.FinishContentFilter},
		"language":            {word: "LANGUAGE", want: domain.FinishOther},
		"other with a call":   {part: call, word: "OTHER", want: domain.FinishToolCalls, calls: 1},
		"a word nobody knows": {part: text, word: "GONE_FISHING", want: domain.FinishOther, text: "x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parts := []string{test.part}
			if test.part == "" {
				parts = nil
			}
			answer, err := infer(t, providers.Serve(t, 200, nil, event(says(test.word, parts...), "")).URL, question())
			require.Nil(t, err)
			require.Equal(t, test.want, answer.Response.Finish)
			require.Equal(t, test.word, answer.Response.FinishWord)
			require.Len(t, answer.Message.ToolCalls, test.calls)
			require.Equal(t, test.text, answer.Message.Text())
		})
	}
}

// TestBlockedPrompt: a prompt that was refused has no candidates, and is an
// answer that was filtered.
func TestBlockedPrompt(t *testing.T) {
	t.Parallel()
	body := `data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9,"totalTokenCount":9},"modelVersion":"gemini-3.7-flash"}` + "\n\n"
	answer, err := infer(t, providers.Serve(t, 200, nil, body).URL, question())
	require.Nil(t, err)
	require.Empty(t, answer.Message.Parts)
	require.Equal(t, domain.Response{
		Model: "gemini-3.7-flash", Finish: domain.FinishContentFilter, FinishWord: "PROHIBITED_CONTENT", Usage: domain.Usage{InputTokens: 9},
	}, answer.Response)

	rated := `data: {"promptFeedback":{"safetyRatings":[{"category":"HARM_CATEGORY_HARASSMENT"}]},"candidates":[` + says("STOP", `{"text":"x"}`) + `]}` + "\n\n"
	answer, err = infer(t, providers.Serve(t, 200, nil, rated).URL, question())
	require.Nil(t, err)
	require.Equal(t, domain.FinishStop, answer.Response.Finish, "ratings are no refusal")
}

func TestUsage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		json string
		want domain.Usage
	}{
		"null":             {json: `null`},
		"of zeros":         {json: `{"promptTokenCount":0}`},
		"not numbers":      {json: `{"promptTokenCount":"many","candidatesTokenCount":-7}`},
		"no total":         {json: `{"promptTokenCount":9,"candidatesTokenCount":7,"thoughtsTokenCount":5}`, want: domain.Usage{InputTokens: 9, OutputTokens: 12, ReasoningTokens: 5}},
		"thoughts inside":  {json: `{"promptTokenCount":9,"candidatesTokenCount":7,"thoughtsTokenCount":5,"totalTokenCount":16}`, want: domain.Usage{InputTokens: 9, OutputTokens: 7, ReasoningTokens: 5}},
		"tool use inside":  {json: `{"promptTokenCount":9,"toolUsePromptTokenCount":4,"candidatesTokenCount":7,"totalTokenCount":16}`, want: domain.Usage{InputTokens: 9, OutputTokens: 7}},
		"tool use beside":  {json: `{"promptTokenCount":9,"toolUsePromptTokenCount":4,"candidatesTokenCount":7,"totalTokenCount":20}`, want: domain.Usage{InputTokens: 13, OutputTokens: 7}},
		"a cache":          {json: `{"promptTokenCount":9,"cachedContentTokenCount":8,"candidatesTokenCount":7,"totalTokenCount":16}`, want: domain.Usage{InputTokens: 9, OutputTokens: 7, CacheReadTokens: 8}},
		"a total of junk":  {json: `{"promptTokenCount":9,"candidatesTokenCount":7,"totalTokenCount":3}`, want: domain.Usage{InputTokens: 9, OutputTokens: 7}},
		"nothing but text": {json: `{"candidatesTokenCount":7}`, want: domain.Usage{OutputTokens: 7}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := infer(t, providers.Serve(t, 200, nil, event(says("STOP", `{"text":"x"}`), test.json)).URL, question())
			require.Nil(t, err)
			require.Equal(t, test.want, answer.Response.Usage)
		})
	}
}
