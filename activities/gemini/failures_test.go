package gemini_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/gemini"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
	"everstep/testsuite/providers"
)

// A script is a server that answers with one body after the other and keeps the
// last request.
type script struct {
	mu       sync.Mutex
	body     string
	request  string
	provider *wire.Client
}

func newScript(t *testing.T) *script {
	t.Helper()
	s := &script{}
	s.provider = provider(t, providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		request, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.request = string(request)
		_, _ = io.WriteString(w, s.body)
	}).URL)
	return s
}

func (s *script) infer(call inference.Call, body string) (inference.Answer, error) {
	s.mu.Lock()
	s.body = body
	s.mu.Unlock()
	return s.provider.Infer(context.Background(), call, func(inference.Delta) {})
}

func (s *script) answer(t require.TestingT, body string) inference.Answer {
	answer, err := s.infer(question(), body)
	require.NoError(t, err)
	return answer
}

func (s *script) sent(t require.TestingT, call inference.Call) map[string]any {
	_, err := s.infer(call, event(says("STOP", `{"text": "x"}`), ""))
	require.NoError(t, err)
	return decoded(t, s.request).(map[string]any)
}

// TestRefusals reads errors with a status.
func TestRefusals(t *testing.T) {
	t.Parallel()
	of := func(code, status, message, details string) string {
		return `{"error": {"code": ` + code + `,"message": "` + message + `","status": "` + status + `","details": [` + details + `]}}`
	}
	perMinute := `{"@type": "type.googleapis.com/google.rpc.QuotaFailure","violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},
		{"@type": "type.googleapis.com/google.rpc.Help","links": [{"url": "https://host"}]},{"@type": "type.googleapis.com/google.rpc.RetryInfo","retryDelay": "34.4s"}`
	tests := map[string]struct {
		status int
		body   string
		kind   domain.Kind
		code   domain.Code
		after  time.Duration
		says   string
	}{
		"a pace":            {status: 429, body: of("429", "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details.", perMinute), kind: domain.Throttled, after: 34400 * time.Millisecond},
		"a pace, in a list": {status: 429, body: "[" + of("429", "RESOURCE_EXHAUSTED", "Resource exhausted. Please try again later.", "") + "\n]", kind: domain.Throttled, says: "Resource exhausted"},
		"a bad key":         {status: 400, body: of("400", "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", `{"@type": "type.googleapis.com/google.rpc.ErrorInfo","reason": "API_KEY_INVALID"}`), kind: domain.Denied, code: domain.CodeAuth},
		"no right":          {status: 403, body: of("403", "PERMISSION_DENIED", "Method doesn't allow unregistered callers", ""), kind: domain.Denied, code: domain.CodeAuth, says: "unregistered callers"},
		"no model":          {status: 404, body: of("404", "NOT_FOUND", "models/gemini-0 is not found for API version v1beta", ""), kind: domain.Invalid, code: domain.CodeModelNotFound, says: "gemini-0 is not found"},
		"too long":          {status: 400, body: of("400", "INVALID_ARGUMENT", "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).", ""), kind: domain.TooLarge, code: domain.CodeContextOverflow},
		"a bad field":       {status: 400, body: of("400", "INVALID_ARGUMENT", "Thinking level MINIMAL is not supported for this model.", ""), kind: domain.Invalid, says: "Thinking level MINIMAL"},
		"overloaded":        {status: 503, body: of("503", "UNAVAILABLE", "The model is overloaded. Please try again later.", ""), kind: domain.Unavailable, says: "overloaded"},
		"broken":            {status: 500, body: of("500", "INTERNAL", "An internal error has occurred.", ""), kind: domain.Unavailable},
		"a repeated key":    {status: 400, body: of("400", "INVALID_ARGUMENT", "no such thing as "+testKey, ""), kind: domain.Invalid, says: "no such thing as [key]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := infer(t, providers.Serve(t, test.status, nil, test.body).URL, question())
			require.NotNil(t, err)
			require.Equal(t, test.kind, err.Kind, err.Message)
			require.Equal(t, test.code, err.Code, err.Message)
			require.Equal(t, test.after, err.RetryAfter)
			require.Contains(t, err.Message, test.says)
			require.NotContains(t, err.Message+err.Detail, testKey)
			require.Equal(t, gemini.Name, err.Source)
			require.False(t, err.Billed)
		})
	}
}

// TestNoAnswers: bodies of status 200 that are none. All of them may be billed.
func TestNoAnswers(t *testing.T) {
	t.Parallel()
	partial := event(says("", `{"text": "hel"}`), "")
	inner := `{"error": {"code": 503,"message": "The model is overloaded.","status": "UNAVAILABLE"}}`
	tests := map[string]struct {
		body, says string
		kind       domain.Kind
		code       domain.Code
		text       string
		usage      domain.Usage
	}{
		"empty":                     {says: "empty", kind: domain.Unavailable, code: domain.CodeMalformed},
		"a page":                    {body: "<html>hi</html>", says: "page", kind: domain.Unavailable, code: domain.CodeMalformed},
		"cut JSON":                  {body: `{"candidates":[`, says: "not valid JSON", kind: domain.Unavailable, code: domain.CodeMalformed},
		"another object":            {body: `{"usageMetadata":{}}`, says: "not whole", kind: domain.Unavailable, code: domain.CodeMalformed},
		"an empty list":             {body: `[ ]`, says: "not whole", kind: domain.Unavailable, code: domain.CodeMalformed},
		"a list without its end":    {body: `[{"candidates":[` + says("", `{"text": "hel"}`) + `]}]`, says: "not whole", kind: domain.Unavailable, code: domain.CodeMalformed, text: "hel"},
		"no candidates":             {body: event("", ""), says: "before the answer was whole", kind: domain.Unavailable, code: domain.CodeMalformed, usage: domain.Usage{InputTokens: 7, OutputTokens: 2}},
		"done without a reason":     {body: partial + "data: [DONE]\n\n", says: "done and the answer is not whole", kind: domain.Unavailable, code: domain.CodeMalformed, text: "hel", usage: domain.Usage{InputTokens: 7, OutputTokens: 2}},
		"an unspecified reason":     {body: event(says("FINISH_REASON_UNSPECIFIED", `{"text": "hel"}`), "null"), says: "before the answer was whole", kind: domain.Unavailable, code: domain.CodeMalformed, text: "hel"},
		"candidates of text":        {body: "data: {\"candidates\":\"hello\"}\n\n", says: "not a piece", kind: domain.Unavailable, code: domain.CodeMalformed},
		"a part of text":            {body: event(says("", `"hello"`), "null"), says: "another form", kind: domain.Unavailable, code: domain.CodeMalformed},
		"arguments in pieces":       {body: event(says("", `{"functionCall": {"name": "f","willContinue": true,"partialArgs": [{"jsonPath": "$.x"}]}}`), "null"), says: "in pieces", kind: domain.Unavailable, code: domain.CodeMalformed},
		"an error in the stream":    {body: partial + "data: " + inner + "\n\n", says: "overloaded", kind: domain.Unavailable, text: "hel", usage: domain.Usage{InputTokens: 7, OutputTokens: 2}},
		"an error for an answer":    {body: strings.Replace(strings.Replace(inner, "503", "429", 1), "UNAVAILABLE", "RESOURCE_EXHAUSTED", 1), says: "overloaded", kind: domain.Throttled},
		"an error in a list":        {body: "[" + inner + "]", says: "overloaded", kind: domain.Unavailable},
		"an error event":            {body: "event: error\ndata: overloaded\n\n", says: "overloaded", kind: domain.Unavailable},
		"a call that was no call":   {body: partial + event(`{"finishReason": "MALFORMED_FUNCTION_CALL","finishMessage": "Malformed function call: f(x=`+testKey+`","index": 0}`, ""), says: "(MALFORMED_FUNCTION_CALL): Malformed function call: f(x=[key]", kind: domain.Unavailable, code: domain.CodeMalformed, text: "hel", usage: domain.Usage{InputTokens: 7, OutputTokens: 2}},
		"a call of no tool":         {body: event(says("UNEXPECTED_TOOL_CALL", `{"functionCall": {"name": "f"}}`), "null"), says: "UNEXPECTED_TOOL_CALL", kind: domain.Unavailable, code: domain.CodeMalformed, usage: domain.Usage{OutputTokens: 6, Estimated: true}},
		"an answer that was none":   {body: event(`{"finishReason": "MALFORMED_RESPONSE"}`, "null"), says: "MALFORMED_RESPONSE", kind: domain.Unavailable, code: domain.CodeMalformed},
		"text behind the end":       {body: event(says("STOP", `{"text": "hel"}`), "null") + event(says("", `{"text": "lo"}`), "null"), says: "before the answer was whole", kind: domain.Unavailable, code: domain.CodeMalformed, text: "hello"},
		"a call in two pieces":      {body: event(says("", `{"functionCall": {"id": "a","name": "f"}}`), "null") + event(says("STOP", `{"functionCall": {"id": "a","name": "f","args": {"x": 1}}}`), "null"), says: "and then with them", kind: domain.Unavailable, code: domain.CodeMalformed, usage: domain.Usage{OutputTokens: 6, Estimated: true}},
		"calls elsewhere":           {body: event(says("", `{"text": "hel"}`), "null") + event(strings.Replace(says("STOP", `{"functionCall": {"name": "f"}}`), `"index": 0`, `"index": 1`, 1), "null") + event(says("STOP"), "null"), says: "second candidate", kind: domain.Unavailable, code: domain.CodeMalformed, text: "hel"},
		"an id that comes back":     {body: partial + strings.Replace(partial, "WQuq", "XQuq", 1) + partial + event(says("STOP"), ""), says: "two answers", kind: domain.Unavailable, code: domain.CodeMalformed, text: "helhelhel", usage: domain.Usage{InputTokens: 7, OutputTokens: 2}},
		"a signature that is gone":  {body: event(`{"finishReason": "MISSING_THOUGHT_SIGNATURE"}`, "null"), says: "signature", kind: domain.Invalid},
		"JSON that is only a text":  {body: `"hello"`, kind: domain.Unavailable, code: domain.CodeMalformed},
		"a stream of other objects": {body: "data: {\"choices\":[]}\n\n", kind: domain.Unavailable, code: domain.CodeMalformed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := infer(t, providers.Serve(t, 200, nil, test.body).URL, question())
			require.NotNil(t, err)
			require.Equal(t, test.kind, err.Kind, err.Message)
			require.Equal(t, test.code, err.Code, err.Message)
			require.Contains(t, err.Message, test.says)
			require.NotContains(t, err.Message+err.Detail, testKey)
			require.True(t, err.Billed)
			require.True(t, answer.Partial)
			require.Empty(t, answer.Message.ToolCalls)
			require.Equal(t, test.text, answer.Message.Text())
			require.Equal(t, test.usage, answer.Response.Usage)
		})
	}
}

// TestStall: the idle time-out and a cancel close the connection, and what had
// come is kept.
func TestStall(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []bool{true, false} {
		url, gone := providers.Stall(t, event(says("", `{"text": "hello"}`, `{"functionCall": {"name": "f"}}`), ""))
		config := wire.Config{BaseURL: url}
		if !cancelled {
			config.Timeouts.Idle = 20 * time.Millisecond
		}
		p, err := wire.New(gemini.API(), config)
		require.NoError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		answer, err := p.Infer(ctx, question(), func(inference.Delta) {
			if cancelled {
				cancel(errors.New("stop"))
			}
		})
		require.Error(t, err)
		require.True(t, domain.AsError(err).Billed)
		require.True(t, answer.Partial)
		require.Equal(t, "hello", answer.Message.Text())
		require.Empty(t, answer.Message.ToolCalls, "no call of a cut answer may run")
		<-gone
		cancel(nil)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ url, wrong string }{
		"default": {}, "a server": {url: "http://127.0.0.1:8000/v1beta"}, "another scheme": {url: "ftp://host", wrong: "GEMINI_BASE_URL: is not an http"},
		"a password": {url: "https://user:secret@host/v1", wrong: "user or password"}, "a key": {url: "https://host/v1?key=secret", wrong: "GEMINI_BASE_URL: holds a key; give it in GEMINI_API_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wire.New(gemini.API(), wire.Config{BaseURL: test.url})
			if test.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.wrong)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	local := wire.Config{BaseURL: "http://127.0.0.1:8000/v1beta"}
	option := func(key, value string) func(*domain.LLMConfig) {
		return func(c *domain.LLMConfig) { c.Options = domain.Metadata{key: []byte(value)} }
	}
	tests := map[string]struct {
		config wire.Config
		change func(*domain.LLMConfig)
		code   domain.Code
		wrong  string
	}{
		"no key needed":         {config: local},
		"no key at Google's":    {code: domain.CodeAuth, wrong: "GEMINI_API_KEY"},
		"a key":                 {config: wire.Config{Key: wire.FixedKey(testKey)}},
		"no model":              {config: local, change: func(c *domain.LLMConfig) { c.Model = " " }, code: domain.CodeModelNotFound, wrong: "model"},
		"another URL":           {config: local, change: func(c *domain.LLMConfig) { c.BaseURL = "https://elsewhere" }, wrong: "base_url"},
		"a key in a URL":        {config: wire.Config{AllowBaseURLs: []string{"*"}, Key: wire.FixedKey(testKey)}, change: func(c *domain.LLMConfig) { c.BaseURL = "https://host?key=x" }, wrong: "base_url: holds a key"},
		"options":               {config: local, change: option("generationConfig", `{"seed":7}`)},
		"an option of ours":     {config: local, change: option("contents", `[]`), wrong: "options: contents"},
		"tools":                 {config: local, change: option("tools", `[]`), wrong: "options: tools"},
		"another spelling":      {config: local, change: option("generation_config", `{}`), wrong: "options: generation_config is written generationConfig here"},
		"no object":             {config: local, change: option("generationConfig", `7`), wrong: "options: generationConfig is not an object"},
		"candidates":            {config: local, change: option("generationConfig", `{"candidateCount":2}`), wrong: "candidateCount"},
		"a bound of letters":    {config: local, change: option("generationConfig", `{"maxOutputTokens":"x"}`), wrong: "maxOutputTokens"},
		"arguments in pieces":   {config: local, change: option("toolConfig", `{"functionCallingConfig":{"streamFunctionCallArguments":true}}`), wrong: "streamFunctionCallArguments"},
		"no calling config":     {config: local, change: option("toolConfig", `{"functionCallingConfig":7}`), wrong: "functionCallingConfig is not an object"},
		"options with no value": {config: local, change: option("generationConfig", `null`)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := wire.New(gemini.API(), test.config)
			require.NoError(t, err)
			model := question().Config
			if test.change != nil {
				test.change(&model)
			}
			err = p.Check(t.Context(), model)
			if test.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.wrong)
			require.Equal(t, test.code, domain.AsError(err).Code)
		})
	}
}

func TestCheckFormat(t *testing.T) {
	t.Parallel()
	p, err := wire.New(gemini.API(), wire.Config{})
	require.NoError(t, err)
	format := domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(`{"type":"array"}`)}
	model := question().Config
	require.NoError(t, p.CheckFormat(model, format, false))
	model.Options = domain.Metadata{"generationConfig": []byte(`{"responseMimeType":null}`)}
	require.NoError(t, p.CheckFormat(model, format, false))
	model.Options = domain.Metadata{"generationConfig": []byte(`{"responseSchema":{}}`)}
	require.ErrorContains(t, p.CheckFormat(model, format, false), "generationConfig.responseSchema")
	for name, refused := range map[string]bool{"gemini-2.5-pro": true, "models/gemini-1.5-flash": true, "gemini-3-pro": false, "gemini-flash-latest": false, "gemma-4": false} {
		err := p.CheckFormat(domain.LLMConfig{Model: name}, format, true)
		if !refused {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, "response_format.mode: model "+name+" takes no response format beside tools")
	}
}

// FuzzAnswer: whatever a server sends, there is an answer or a typed error, and
// what is an answer can be sent back.
func FuzzAnswer(f *testing.F) {
	for _, b := range bodies {
		f.Add(b.body)
	}
	for _, seed := range []string{"", "[]", "{}", "data: null\n\n", `[{"error":[]}]`, `{"candidates":[null]}`, `{"candidates":[{"content":null,"finishReason":7}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		s := newScript(t)
		answer, err := s.infer(question(), body)
		if err != nil {
			_, typed := errors.AsType[*domain.Error](err)
			require.True(t, typed, "%T", err)
			require.Empty(t, answer.Message.ToolCalls)
			return
		}
		s.sent(t, next(recorded(t, answer.Message)))
	})
}
