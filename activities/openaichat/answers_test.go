package openaichat_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/conformance"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/domain"
)

// soFar is a choice with a piece and with the whole so far.
func soFar(piece, all string) string {
	return `{"index":0,"delta":{"content":"` + piece + `"},"message":{"role":"assistant","content":"` + all + `"}}`
}

// zeros are fields that a server fills in with nothing.
const zeros = `"refusal":"","reasoning":"","reasoning_details":[{"type":"","text":""}],"function_call":{"name":"","arguments":""},` +
	`"tool_calls":[{"index":0,"id":"","type":"","function":{"name":"","arguments":""},"custom":{"name":"","input":""}}]`

// TestForms reads whole answers in all the forms that streams have.
func TestForms(t *testing.T) {
	t.Parallel()
	plain := chunk(hello) + chunk(finish) + usage + end
	tests := map[string]string{
		"no end marker":           chunk(hello) + chunk(finish),
		"no last empty line":      chunk(hello) + strings.TrimSpace(chunk(finish)),
		"a second finish":         chunk(hello) + chunk(finish) + chunk(strings.Replace(hello, "null", `"stop"`, 1)) + end,
		"usage after the end":     plain + usage,
		"an id of the gateway":    strings.Replace(chunk(`{"index":0,"delta":{"role":"assistant","content":""}}`), `"1"`, `"gen-1"`, 1) + plain,
		"an id that comes later":  strings.Replace(chunk(strings.Replace(hello, "hello", "hel", 1)), `"1"`, `""`, 1) + chunk(strings.Replace(hello, "hello", "lo", 1)) + chunk(finish),
		"all so far beside it":    chunk(soFar("hel", "hel")) + chunk(soFar("lo", "hello")) + chunk(soFar("", "hello")) + chunk(finish) + end,
		"all of it at the end":    chunk(`{"index":0,"delta":{"role":"assistant"}}`) + chunk(`{"index":0,"delta":{},"message":{"content":"hello"},"finish_reason":"stop"}`) + end,
		"in one piece, a delta":   `{"choices":[{"message":{"role":"assistant","content":"hello"},"delta":{"content":"lo"},"finish_reason":"stop"}]}`,
		"nothing in all places":   chunk(strings.Replace(hello, `"hello"`, `"hello",`+zeros, 1)) + chunk(strings.Replace(finish, "{}", "{"+zeros+"}", 1)) + end,
		"no error, in words":      strings.Replace(chunk(hello), `"choices"`, `"error":{"code":0,"message":"","param":null},"choices"`, 1) + chunk(finish),
		"other choices":           chunk(hello) + chunk(`{"index":1,"delta":{"content":"no"}}`) + chunk(finish) + end,
		"in one piece":            `{"choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`,
		"in one piece, no reason": `{"choices":[{"message":{"content":"hello"},"finish_reason":null}]}`,
		"content in parts":        `{"choices":[{"message":{"content":[{"type":"text","text":"hel"},{"type":"text","text":"lo"}]},"finish_reason":"stop"}]}`,
		"messages for deltas":     chunk(`{"message":{"content":"hello"}}`) + chunk(finish) + end,
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var heard strings.Builder
			answer, err := provider(t, conformance.Serve(t, 200, nil, body).URL).Infer(t.Context(), question(), func(d inference.Delta) { heard.WriteString(d.Text) })
			require.NoError(t, err)
			require.Equal(t, "hello", answer.Message.Text())
			require.Equal(t, "hello", heard.String())
			require.Equal(t, domain.FinishStop, answer.Response.Finish)
			require.False(t, answer.Partial)
		})
	}
}

// TestToolCalls puts calls together from pieces that servers number as they like.
func TestToolCalls(t *testing.T) {
	t.Parallel()
	two := []domain.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "g", Arguments: `{}`}}
	tests := map[string]struct {
		pieces []string
		want   []domain.ToolCall
	}{
		"numbered": {want: two, pieces: []string{
			`[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]`, `[{"index":0,"function":{"arguments":"{\"x\":"}}]`,
			`[{"index":0,"function":{"arguments":"1}"}}]`, `[{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]`}},
		"in turns": {want: two, pieces: []string{
			`[{"index":0,"id":"a","function":{"name":"f"}},{"index":1,"id":"b","function":{"name":"g"}}]`,
			`[{"index":0,"function":{"arguments":"{\"x\":"}},{"index":1,"function":{"arguments":"{"}}]`,
			`[{"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":"1}"}}]`}},
		"the later first": {want: two, pieces: []string{
			`[{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]`, `[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]`}},
		"one number for all": {want: two, pieces: []string{
			`[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]`, `[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]`}},
		"one number for all, in pieces": {want: two, pieces: []string{
			`[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]`, `[{"index":0,"function":{"arguments":":1}"}}]`,
			`[{"index":0,"id":"b","function":{"name":"g"}}]`, `[{"index":0,"function":{"arguments":"{}"}}]`}},
		"-1": {want: two, pieces: []string{
			`[{"index":-1,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]`, `[{"index":-1,"function":{"arguments":"1}"}}]`,
			`[{"index":-1,"id":"b","function":{"name":"g","arguments":"{}"}}]`}},
		"no number": {want: two, pieces: []string{
			`[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}]`}},
		"no number, ids repeated in pieces": {want: two, pieces: []string{
			`[{"id":"a","function":{"name":"f","arguments":"{\"x\":"}},{"id":"b","function":{"name":"g","arguments":"{"}}]`,
			`[{"id":"a","function":{"name":"","arguments":"1}"}},{"id":"b","function":{"name":"","arguments":"}"}}]`}},
		"neither numbers nor ids": {pieces: []string{`[{"function":{"name":"f","arguments":"{\"x\":1}"}}]`, `[{"function":{"name":"g","arguments":"{}"}}]`},
			want: []domain.ToolCall{{Name: "f", Arguments: `{"x":1}`}, {Name: "g", Arguments: `{}`}}},
		"one number, no ids": {pieces: []string{`[{"index":0,"id":"","function":{"name":"f","arguments":"{\"x\":1}"}}]`, `[{"index":0,"id":"","function":{"name":"f","arguments":"{\"x\":2}"}}]`},
			want: []domain.ToolCall{{Name: "f", Arguments: `{"x":1}`}, {Name: "f", Arguments: `{"x":2}`}}},
		"one id for two": {pieces: []string{`[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"a","function":{"name":"g","arguments":"{}"}}]`},
			want: []domain.ToolCall{{ID: "a", Name: "f", Arguments: `{}`}, {ID: "a", Name: "g", Arguments: `{}`}}},
		"the name in each piece": {want: two[:1], pieces: []string{
			`[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]`, `[{"index":0,"id":"a","function":{"name":"f","arguments":"1}"}}]`}},
		"the name in two pieces": {pieces: []string{`[{"index":0,"id":"a","function":{"name":"get_"}}]`, `[{"index":0,"function":{"name":"it","arguments":"{}"}}]`},
			want: []domain.ToolCall{{ID: "a", Name: "get_it", Arguments: `{}`}}},
		"nothing beside them": {want: two[:1], pieces: []string{
			`[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"},"custom":{"name":"","input":""}}],"function_call":{"name":"","arguments":""}`,
			`[{"index":1,"id":"","function":{"name":"","arguments":""},"custom":{"name":"","input":""}}]`}},
		"the same as the call of older models": {want: two[:1], pieces: []string{
			`[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}],"function_call":{"name":"f","arguments":"{\"x\":1}"}`}},
		"free text": {pieces: []string{`[{"index":0,"id":"a","function":{"name":"","arguments":""},"custom":{"name":"f","input":"x"}}]`},
			want: []domain.ToolCall{{ID: "a", Name: "f", Arguments: `x`}}},
		"arguments as an object": {want: two[:1], pieces: []string{`[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]`}},
		"arguments that are no JSON": {pieces: []string{`[{"index":0,"id":"a","function":{"name":"f","arguments":"x = 1"}}]`},
			want: []domain.ToolCall{{ID: "a", Name: "f", Arguments: `x = 1`}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body strings.Builder
			for _, piece := range test.pieces {
				body.WriteString(chunk(`{"index":0,"delta":{"tool_calls":` + piece + `}}`))
			}
			body.WriteString(chunk(`{"index":0,"delta":{},"finish_reason":"tool_calls"}`) + end)
			answer, err := infer(t, conformance.Serve(t, 200, nil, body.String()).URL, question())
			require.Nil(t, err)
			require.Equal(t, test.want, answer.Message.ToolCalls)
			require.Equal(t, domain.FinishToolCalls, answer.Response.Finish)
		})
	}
}

// TestFinish reads why a model stopped: its content decides first.
func TestFinish(t *testing.T) {
	t.Parallel()
	call := `"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]`
	tests := map[string]struct {
		message, word, usage string
		want                 domain.FinishReason
		kept, text           string
	}{
		"stop":                     {message: `"content":"x"`, word: "stop", want: domain.FinishStop, text: "x"},
		"eos":                      {message: `"content":"x"`, word: "eos", want: domain.FinishStop, kept: "eos", text: "x"},
		"length":                   {message: `"content":"x"`, word: "length", want: domain.FinishLength, text: "x"},
		"length in a call":         {message: call, word: "length", want: domain.FinishLength},
		"stop with calls":          {message: call, word: "stop", want: domain.FinishToolCalls, kept: "stop"},
		"calls without calls":      {message: `"content":"x"`, word: "tool_calls", want: domain.FinishStop, kept: "tool_calls", text: "x"},
		"calls cut by the limit":   {message: call, word: "tool_calls", usage: `{"prompt_tokens":1,"completion_tokens":16}`, want: domain.FinishLength, kept: "tool_calls"},
		"calls within the limit":   {message: call, word: "tool_calls", usage: `{"prompt_tokens":1,"completion_tokens":15}`, want: domain.FinishToolCalls},
		"a word nobody knows":      {message: `"content":"x"`, word: "gone_fishing", want: domain.FinishOther, kept: "gone_fishing", text: "x"},
		"a refusal":                {message: `"content":null,"refusal":"I won't"`, word: "stop", want: domain.FinishRefusal, kept: "stop", text: "I won't"},
		"filtered with text":       {message: `"content":"x"`, word: "content_filter", want: domain.FinishContentFilter, text: "x"},
		"null content":             {message: `"content":null`, word: "stop", want: domain.FinishStop},
		"the call of older models": {message: `"function_call":{"name":"f","arguments":"{}"}`, word: "function_call", want: domain.FinishToolCalls, kept: "function_call"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.usage == "" {
				test.usage = "null"
			}
			body := `{"usage":` + test.usage + `,"choices":[{"index":0,"message":{` + test.message + `},"finish_reason":"` + test.word + `"}]}`
			question := question()
			question.MaxOutputTokens = 16
			answer, err := infer(t, conformance.Serve(t, 200, nil, body).URL, question)
			require.Nil(t, err)
			require.Equal(t, test.want, answer.Response.Finish)
			require.Equal(t, test.kept, answer.Response.FinishWord)
			require.Equal(t, test.text, answer.Message.Text())
		})
	}
}

func TestFinishWithoutMessage(t *testing.T) {
	t.Parallel()
	answer, err := infer(t, conformance.Serve(t, 200, nil, `{"choices":[{"index":0,"finish_reason":"content_filter"}]}`).URL, question())
	require.Nil(t, err)
	require.Equal(t, domain.FinishContentFilter, answer.Response.Finish)
	require.Empty(t, answer.Message.Parts)
	answer, err = infer(t, conformance.Serve(t, 200, nil, `{"choices":[]}`).URL, question())
	require.Nil(t, err)
	require.Empty(t, answer.Message.Parts)
}

func TestFinishOptional(t *testing.T) {
	t.Parallel()
	url := conformance.Serve(t, 200, nil, chunk(hello)+end).URL
	p, err := wire.New(openaichat.Dialects()[0].API(), wire.Config{BaseURL: url, FinishOptional: true})
	require.NoError(t, err)
	answer, err := p.Infer(t.Context(), question(), func(inference.Delta) {})
	require.NoError(t, err)
	require.Equal(t, "hello", answer.Message.Text())
	require.Equal(t, domain.FinishStop, answer.Response.Finish)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		json string
		want domain.Usage
	}{
		"missing":          {json: `null`},
		"of zeros":         {json: `{"prompt_tokens":0,"completion_tokens":0}`},
		"output only":      {json: `{"completion_tokens":7}`, want: domain.Usage{OutputTokens: 7}},
		"not numbers":      {json: `{"prompt_tokens":"many","completion_tokens":-7}`},
		"fractions":        {json: `{"prompt_tokens":3.0,"completion_tokens":7}`, want: domain.Usage{InputTokens: 3, OutputTokens: 7}},
		"with details":     {json: `{"prompt_tokens":9,"completion_tokens":7,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":5}}`, want: domain.Usage{InputTokens: 9, OutputTokens: 7, CacheReadTokens: 4, ReasoningTokens: 5}},
		"reasoning beside": {json: `{"prompt_tokens":9,"completion_tokens":7,"total_tokens":21,"completion_tokens_details":{"reasoning_tokens":5}}`, want: domain.Usage{InputTokens: 9, OutputTokens: 12, ReasoningTokens: 5}},
		"DeepSeek's cache": {json: `{"prompt_tokens":9,"completion_tokens":7,"prompt_cache_hit_tokens":4}`, want: domain.Usage{InputTokens: 9, OutputTokens: 7, CacheReadTokens: 4}},
		"null details":     {json: `{"prompt_tokens":9,"completion_tokens":7,"prompt_tokens_details":null}`, want: domain.Usage{InputTokens: 9, OutputTokens: 7}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := infer(t, conformance.Serve(t, 200, nil, chunk(hello)+chunk(finish)+`data: {"choices":[],"usage":`+test.json+"}\n\n"+end).URL, question())
			require.Nil(t, err)
			require.Equal(t, test.want, answer.Response.Usage)
		})
	}
}

func TestReasoning(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		delta string
		want  domain.Part
	}{
		"reasoning_content": {delta: `{"reasoning_content":"hm"}`, want: domain.Part{Text: "hm", Signature: "reasoning_content"}},
		"reasoning":         {delta: `{"reasoning":"hm"}`, want: domain.Part{Text: "hm", Signature: "reasoning"}},
		"details":           {delta: `{"reasoning":"hm","reasoning_details":[{"type":"t","data":"a<b"}]}`, want: domain.Part{Text: "hm", Signature: "reasoning", Opaque: []byte(`[{"type":"t","data":"a<b"}]`)}},
		"parts":             {delta: `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`, want: domain.Part{Text: "hm"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := chunk(`{"index":0,"delta":`+test.delta+`}`) + chunk(hello) + chunk(finish) + end
			answer, err := infer(t, conformance.Serve(t, 200, http.Header{}, body).URL, question())
			require.Nil(t, err)
			test.want.Type = domain.PartReasoning
			require.Equal(t, []domain.Part{test.want, {Type: domain.PartText, Text: "hello"}}, answer.Message.Parts)
			require.Equal(t, "hello", answer.Message.Text())
		})
	}
}
