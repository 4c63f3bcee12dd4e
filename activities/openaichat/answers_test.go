package openaichat_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/testsuite/providers"
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
		"a second finish":         chunk(hello) + chunk(finish) + chunk(finish) + end,
		"no finish":               chunk(hello) + end,
		"usage and no finish":     chunk(hello) + usage + end,
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
			answer, err := provider(t, providers.Serve(t, 200, nil, body).URL).Infer(t.Context(), question(), func(d inference.Delta) { heard.WriteString(d.Text) })
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
	const first = `[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]`
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
		"its name again, with nothing":            {want: two[:1], pieces: []string{first, `[{"index":0,"function":{"name":"f","arguments":""}}]`}},
		"its id and name again, at another index": {want: two[:1], pieces: []string{first, `[{"index":1,"id":"a","function":{"name":"f","arguments":""}}]`}},
		"its id again, and null":                  {want: two[:1], pieces: []string{first, `[{"index":0,"id":"a","function":null,"custom":null}],"function_call":null`}},
		"all of it again":                         {want: two[:1], pieces: []string{first, first}},
		"all of it again, without an index":       {want: two[:1], pieces: []string{`[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]`, `[{"id":"a","function":{"name":"f","arguments":"{\"x\": 1}"}}]`}},
		"the id late":                             {want: two[:1], pieces: []string{strings.Replace(first, `"id":"a",`, "", 1), `[{"index":0,"id":"a","function":{"name":"","arguments":""}}]`}},
		"in the field of older models, later":     {want: two[:1], pieces: []string{first, `[],"function_call":{"name":"f","arguments":"{\"x\":1}"}`}},
		"in both fields, in pieces": {want: two[:1], pieces: []string{
			`[],"function_call":{"name":"f","arguments":"{\"x\":"}`, `[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]`,
			`[],"function_call":{"arguments":"1}"}`, `[{"index":0,"function":{"arguments":"1}"}}]`}},
		"another in the field of older models": {pieces: []string{first, `[],"function_call":{"name":"g","arguments":"{}"}`}, want: []domain.ToolCall{two[0], {Name: "g", Arguments: "{}"}}},
		"two ids, the same arguments": {pieces: []string{first, strings.Replace(first, `"a"`, `"b"`, 1)},
			want: []domain.ToolCall{two[0], {ID: "b", Name: "f", Arguments: `{"x":1}`}}},
		"two indices, the same arguments, no ids": {pieces: []string{strings.Replace(first, `"a"`, `""`, 1), strings.NewReplacer(`"a"`, `""`, `"index":0`, `"index":1`).Replace(first)},
			want: []domain.ToolCall{{Name: "f", Arguments: `{"x":1}`}, {Name: "f", Arguments: `{"x":1}`}}},
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
			answer, err := infer(t, providers.Serve(t, 200, nil, body.String()).URL, question())
			require.Nil(t, err)
			require.Equal(t, test.want, answer.Message.ToolCalls)
			require.Equal(t, domain.FinishToolCalls, answer.Response.Finish)
		})
	}
}

// TestAllThatIsSaidCounts: whatever comes before the end marker is part of the answer, and the last finish reason counts.
func TestAllThatIsSaidCounts(t *testing.T) {
	t.Parallel()
	said := func(id, fields, finish string) string {
		return under(id, `{"index":0,"delta":{`+fields+`},"finish_reason":`+finish+`}`)
	}
	text := func(words, finish string) string { return said("1", `"content":"`+words+`"`, finish) }
	call := said("1", `"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]`, "null")
	message := func(delta, fields string) string {
		return chunk(`{"index":0,"delta":` + delta + `,"message":{` + fields + `}}`)
	}
	calling := `"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]`
	tests := map[string]struct {
		body, text, thought string
		calls               int
		want                domain.FinishReason
		word                string
	}{
		"a finish reason at each piece":      {body: text("The first ", `"stop"`) + text("second.", `"stop"`) + end, text: "The first second.", want: domain.FinishStop},
		"at each piece, no end marker":       {body: text("The first ", `"stop"`) + text("second.", `"stop"`), text: "The first second.", want: domain.FinishStop},
		"text after it":                      {body: text("The first ", `"stop"`) + text("second.", "null") + end, text: "The first second.", want: domain.FinishStop},
		"a call after it":                    {body: text("hi", `"stop"`) + call + end, text: "hi", calls: 1, want: domain.FinishToolCalls, word: "stop"},
		"a call beside a second one":         {body: text("hi", `"stop"`) + strings.Replace(call, "null", `"tool_calls"`, 1) + end, text: "hi", calls: 1, want: domain.FinishToolCalls},
		"thinking after it":                  {body: text("hi", `"stop"`) + said("1", `"reasoning":"hm"`, "null") + end, text: "hi", thought: "hm", want: domain.FinishStop},
		"the last finish reason":             {body: text("hi", `"stop"`) + chunk(strings.Replace(finish, "stop", "length", 1)) + end, text: "hi", want: domain.FinishLength},
		"the last, and an empty one":         {body: text("hi", `"length"`) + text("", `""`) + end, text: "hi", want: domain.FinishLength},
		"another id at each piece":           {body: said("1", `"content":"a"`, "null") + said("2", `"content":"b"`, "null") + said("3", `"content":"c"`, "null") + under("4", finish) + end, text: "abc", want: domain.FinishStop},
		"a role at each piece":               {body: said("1", `"role":"assistant","content":"a"`, "null") + said("1", `"role":"assistant","content":"b"`, "null") + chunk(finish) + end, text: "ab", want: domain.FinishStop},
		"a role at the end":                  {body: said("1", `"role":"assistant","content":"a"`, "null") + text("b", "null") + said("1", `"role":"assistant","content":""`, `"stop"`) + end, text: "ab", want: domain.FinishStop},
		"no finish reason":                   {body: text("hi", "null") + end, text: "hi", want: domain.FinishStop, word: "none"},
		"no finish reason, a call":           {body: call + end, calls: 1, want: domain.FinishToolCalls, word: "none"},
		"usage after the end":                {body: text("hi", "null") + end + usage, text: "hi", want: domain.FinishStop, word: "none"},
		"a refusal beside content":           {body: said("1", `"content":"No: ","refusal":"I won't"`, "null") + chunk(finish) + end, text: "No: I won't", want: domain.FinishRefusal, word: "stop"},
		"a refusal in both fields":           {body: said("1", `"content":"I won't","refusal":"I won't"`, "null") + chunk(finish) + end, text: "I won't", want: domain.FinishRefusal, word: "stop"},
		"a refusal beside a call":            {body: said("1", `"refusal":"hm"`, "null") + call + chunk(finish) + end, text: "hm", calls: 1, want: domain.FinishToolCalls, word: "stop"},
		"a refusal among parts":              {body: said("1", `"content":[{"type":"refusal","refusal":"I won't"}]`, "null") + chunk(finish) + end, text: "I won't", want: domain.FinishRefusal, word: "stop"},
		"texts for parts":                    {body: said("1", `"content":["a",{"text":"b"},{"type":"text","text":"c"}]`, "null") + chunk(finish) + end, text: "abc", want: domain.FinishStop},
		"thoughts for parts":                 {body: said("1", `"content":[{"type":"thinking","thinking":"h"},{"type":"reasoning","text":"m"},"a"]`, "null") + chunk(finish) + end, text: "a", thought: "hm", want: domain.FinishStop},
		"parts that cite":                    {body: said("1", `"content":["a",{"type":"reference","reference_ids":[1]}]`, "null") + chunk(finish) + end, text: "a", want: domain.FinishStop},
		"a message and no deltas":            {body: message("{}", `"content":"hel"`) + message("{}", `"content":"hello"`) + chunk(finish) + end, text: "hello", want: domain.FinishStop},
		"messages that are pieces":           {body: message("null", `"content":"hel"`) + message("null", `"content":"lo"`) + chunk(finish) + end, text: "hello", want: domain.FinishStop},
		"a message with what no delta had":   {body: message(`{"reasoning":"hm"}`, `"content":""`) + message("{}", `"content":"hello",`+calling) + chunk(finish) + end, text: "hello", thought: "hm", calls: 1, want: domain.FinishToolCalls, word: "stop"},
		"a message with the calls once more": {body: strings.Replace(call, `"finish_reason"`, `"message":{`+calling+`},"finish_reason"`, 1) + message("{}", calling) + chunk(finish) + end, calls: 1, want: domain.FinishToolCalls, word: "stop"},
		"a message with all calls, twice":    {body: message("{}", calling) + message("{}", calling) + chunk(finish) + end, calls: 1, want: domain.FinishToolCalls, word: "stop"},
		"one id for two calls, in one piece": {body: `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}`, calls: 2, want: domain.FinishToolCalls, word: "stop"},
		"two choices with calls":             {body: `{"choices":[{"index":0,"message":{` + calling + `},"finish_reason":"stop"},{"index":1,"message":{` + calling + `},"finish_reason":"stop"}]}`, calls: 1, want: domain.FinishToolCalls, word: "stop"},
		"two choices of one index":           {body: `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"},{"message":{` + calling + `},"finish_reason":"stop"}]}`, text: "hi", calls: 1, want: domain.FinishToolCalls, word: "stop"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var heard, thought strings.Builder
			answer, err := provider(t, providers.Serve(t, 200, nil, test.body).URL).Infer(t.Context(), question(), func(d inference.Delta) {
				heard.WriteString(d.Text)
				thought.WriteString(d.Reasoning)
			})
			require.NoError(t, err)
			require.Equal(t, test.text, answer.Message.Text())
			require.Equal(t, test.thought, thought.String())
			require.Len(t, answer.Message.ToolCalls, test.calls)
			require.Equal(t, test.want, answer.Response.Finish)
			require.Equal(t, test.word, answer.Response.FinishWord)
			if name != "a refusal in both fields" {
				require.Equal(t, test.text, heard.String())
			}
		})
	}
}

// TestAFinishReasonAtEachPiece: the server may take its time between them, as between any pieces, and what breaks off is
// no answer.
func TestAFinishReasonAtEachPiece(t *testing.T) {
	t.Parallel()
	piece := chunk(strings.Replace(hello, "null", `"stop"`, 1))
	url, closed := providers.Stall(t, piece+piece)
	p, err := wire.New(openaichat.Dialects()[0].API(), wire.Config{BaseURL: url, Timeouts: wire.Timeouts{Idle: 200 * time.Millisecond}})
	require.NoError(t, err)
	answer, err := p.Infer(t.Context(), question(), func(inference.Delta) {})
	require.Error(t, err)
	require.True(t, domain.AsError(err).Billed)
	require.Equal(t, "hellohello", answer.Message.Text())
	require.True(t, answer.Partial)
	<-closed
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
			answer, err := infer(t, providers.Serve(t, 200, nil, body).URL, question)
			require.Nil(t, err)
			require.Equal(t, test.want, answer.Response.Finish)
			require.Equal(t, test.kept, answer.Response.FinishWord)
			require.Equal(t, test.text, answer.Message.Text())
		})
	}
}

func TestFinishWithoutMessage(t *testing.T) {
	t.Parallel()
	answer, err := infer(t, providers.Serve(t, 200, nil, `{"choices":[{"index":0,"finish_reason":"content_filter"}]}`).URL, question())
	require.Nil(t, err)
	require.Equal(t, domain.FinishContentFilter, answer.Response.Finish)
	require.Empty(t, answer.Message.Parts)
	answer, err = infer(t, providers.Serve(t, 200, nil, `{"choices":[]}`).URL, question())
	require.Nil(t, err)
	require.Empty(t, answer.Message.Parts)
}

// TestFinishOptional: a stream that ends without a mark of its end is an answer where the worker says so, unless it was
// cut inside of a call or said nothing.
func TestFinishOptional(t *testing.T) {
	t.Parallel()
	call := chunk(`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}}`)
	for body, whole := range map[string]bool{
		chunk(hello): true, chunk(hello) + chunk(finish) + chunk(hello): true, chunk(hello) + call: false, chunk(role): false,
	} {
		url := providers.Serve(t, 200, nil, body).URL
		for _, optional := range []bool{false, true} {
			p, err := wire.New(openaichat.Dialects()[0].API(), wire.Config{BaseURL: url, FinishOptional: optional})
			require.NoError(t, err)
			answer, err := p.Infer(t.Context(), question(), func(inference.Delta) {})
			if !optional || !whole {
				require.Equal(t, domain.CodeMalformed, domain.AsError(err).Code, body)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, strings.Repeat("hello", strings.Count(body, "hello")), answer.Message.Text())
			require.Equal(t, domain.FinishStop, answer.Response.Finish)
		}
	}
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
			answer, err := infer(t, providers.Serve(t, 200, nil, chunk(hello)+chunk(finish)+`data: {"choices":[],"usage":`+test.json+"}\n\n"+end).URL, question())
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
			answer, err := infer(t, providers.Serve(t, 200, http.Header{}, body).URL, question())
			require.Nil(t, err)
			test.want.Type = domain.PartReasoning
			require.Equal(t, []domain.Part{test.want, {Type: domain.PartText, Text: "hello"}}, answer.Message.Parts)
			require.Equal(t, "hello", answer.Message.Text())
		})
	}
}
