package anthropic_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
	"everstep/testsuite/providers"
)

func failure(kind, message string) string {
	return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"},"request_id":"req_1"}`
}

// TestRefusals reads errors with a status.
func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status int
		header http.Header
		body   string
		kind   domain.Kind
		code   domain.Code
		billed bool
		after  time.Duration
		says   string
	}{
		"rate":          {status: 429, header: http.Header{"Retry-After": {"3"}}, body: failure("rate_limit_error", "This request would exceed your organization's rate limit"), kind: domain.Throttled, after: 3 * time.Second, says: "rate limit"},
		"spend limit":   {status: 429, body: failure("enforced_spend_limit_reached", "x"), kind: domain.Denied, code: domain.CodeQuota},
		"credit":        {status: 400, body: failure("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), kind: domain.Denied, code: domain.CodeQuota},
		"usage limits":  {status: 400, body: failure("invalid_request_error", "You have reached your specified API usage limits."), kind: domain.Denied, code: domain.CodeQuota},
		"billing":       {status: 403, body: failure("billing_error", "x"), kind: domain.Denied, code: domain.CodeQuota},
		"key":           {status: 401, body: failure("authentication_error", "invalid x-api-key"), kind: domain.Denied, code: domain.CodeAuth},
		"permission":    {status: 403, body: failure("permission_error", "not for you"), kind: domain.Denied, code: domain.CodeAuth, says: "not for you"},
		"model":         {status: 404, body: failure("not_found_error", "model: m"), kind: domain.Invalid, code: domain.CodeModelNotFound, says: "claude-sonnet-4-5"},
		"page":          {status: 404, body: "<html>nginx</html>", kind: domain.Invalid, code: domain.CodeModelNotFound},
		"parameter":     {status: 400, body: failure("invalid_request_error", "temperature: range: 0..1"), kind: domain.Invalid, says: "temperature"},
		"context":       {status: 400, body: failure("invalid_request_error", "prompt is too long: 201 tokens > 200 maximum"), kind: domain.TooLarge, code: domain.CodeContextOverflow},
		"413":           {status: 413, body: failure("request_too_large", "Request exceeds the maximum size"), kind: domain.TooLarge, code: domain.CodeContextOverflow},
		"408":           {status: 408, kind: domain.Unavailable},
		"409":           {status: 409, kind: domain.Unavailable},
		"500":           {status: 500, body: failure("api_error", "Internal server error"), kind: domain.Unavailable, says: "Internal server error"},
		"502":           {status: 502, body: "<html></html>", kind: domain.Unavailable, billed: true},
		"503":           {status: 503, header: http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"250"}}, kind: domain.Unavailable, after: 250 * time.Millisecond},
		"504":           {status: 504, body: failure("timeout_error", "x"), kind: domain.Unavailable, billed: true},
		"529":           {status: 529, header: http.Header{"X-Should-Retry": {"true"}}, body: failure("overloaded_error", "Overloaded"), kind: domain.Unavailable, says: "Overloaded"},
		"a redirect":    {status: 307, header: http.Header{"Location": {"http://127.0.0.1:1/"}}, kind: domain.Invalid, says: "redirect"},
		"no content":    {status: 204, kind: domain.Unavailable, code: domain.CodeMalformed, billed: true},
		"should not":    {status: 400, header: http.Header{"X-Should-Retry": {"false"}}, body: failure("invalid_request_error", "x"), kind: domain.Invalid},
		"never again":   {status: 500, header: http.Header{"X-Should-Retry": {"false"}}, body: failure("api_error", "Internal server error"), kind: domain.Denied, code: domain.CodeGivenUp, says: "another try would fail"},
		"gateway, no":   {status: 502, header: http.Header{"X-Should-Retry": {"false"}}, kind: domain.Denied, code: domain.CodeGivenUp, billed: true},
		"rate, no":      {status: 429, header: http.Header{"X-Should-Retry": {"false"}, "Retry-After": {"3"}}, body: failure("rate_limit_error", "Extra usage is required for long context requests"), kind: domain.Denied, code: domain.CodeQuota, after: 3 * time.Second, says: "waiting does not help"},
		"400, again":    {status: 400, header: http.Header{"X-Should-Retry": {"true"}}, body: failure("invalid_request_error", "x"), kind: domain.Unavailable},
		"money, again":  {status: 400, header: http.Header{"X-Should-Retry": {"true"}}, body: failure("invalid_request_error", "Your credit balance is too low"), kind: domain.Denied, code: domain.CodeQuota},
		"key, again":    {status: 401, header: http.Header{"X-Should-Retry": {"true"}}, body: failure("authentication_error", "x"), kind: domain.Denied, code: domain.CodeAuth},
		"rights, again": {status: 403, header: http.Header{"X-Should-Retry": {"true"}}, body: failure("permission_error", "x"), kind: domain.Denied, code: domain.CodeAuth},
		"long, again":   {status: 413, header: http.Header{"X-Should-Retry": {"true"}}, kind: domain.TooLarge, code: domain.CodeContextOverflow},
		"no model, but": {status: 404, header: http.Header{"X-Should-Retry": {"true"}}, kind: domain.Invalid, code: domain.CodeModelNotFound},
		"neither":       {status: 500, header: http.Header{"X-Should-Retry": {"maybe"}}, kind: domain.Unavailable},
		"plain words":   {status: 500, body: "upstream broke", kind: domain.Unavailable, says: "upstream broke"},
		"another shape": {status: 400, body: `{"message":"bad model"}`, kind: domain.Invalid, says: "bad model"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			_, err := infer(t, serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				for key, values := range test.header {
					w.Header()[key] = values
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}), question())
			require.NotNil(t, err)
			require.Equal(t, test.kind, err.Kind, err.Message)
			require.Equal(t, test.code, err.Code, err.Message)
			require.Equal(t, test.billed, err.Billed)
			require.Equal(t, test.after, err.RetryAfter)
			require.Contains(t, err.Message, test.says)
			require.Equal(t, anthropic.Name, err.Source)
			require.EqualValues(t, 1, requests.Load())
		})
	}
}

// TestNoAnswers reads responses of status 200 that are none.
func TestNoAnswers(t *testing.T) {
	t.Parallel()
	hello := start + text("0", "hello")
	call := begin("1", toolF) + arguments("1", `{"x":`)
	stop := event("message_delta", `"delta":{"stop_reason":"end_turn"}`)
	fails := func(kind string) string { return "event: error\ndata: " + failure(kind, "words") + "\n\n" }
	tests := map[string]providers.Failure{
		"empty":                    {Code: domain.CodeMalformed},
		"white space":              {Body: "\n \n", Code: domain.CodeMalformed},
		"a page":                   {Body: "<html>sign in</html>", Code: domain.CodeMalformed},
		"words":                    {Body: "hello", Code: domain.CodeMalformed},
		"cut JSON":                 {Body: `{"content":[{"type":"te`, Code: domain.CodeMalformed},
		"other JSON":               {Body: `{"data":[]}`, Code: domain.CodeMalformed},
		"a list":                   {Body: `[]`, Code: domain.CodeMalformed},
		"JSON without a reason":    {Body: `{"content":[{"type":"text","text":"hello"}],"stop_reason":null}`, Code: domain.CodeMalformed, Text: "hello"},
		"blocks that are none":     {Body: `{"content":[1],"stop_reason":"end_turn"}`, Code: domain.CodeMalformed},
		"an error in the body":     {Body: failure("overloaded_error", "busy"), Kind: domain.Unavailable},
		"an error of another form": {Body: `{"error":"busy"}`, Kind: domain.Unavailable},
		"overloaded":               {Body: hello + fails("overloaded_error"), Kind: domain.Unavailable, Text: "hello"},
		"rate":                     {Body: hello + fails("rate_limit_error"), Kind: domain.Throttled, Text: "hello"},
		"invalid":                  {Body: hello + fails("invalid_request_error"), Kind: domain.Invalid, Text: "hello"},
		"key":                      {Body: fails("authentication_error"), Kind: domain.Denied, Code: domain.CodeAuth},
		"billing":                  {Body: fails("billing_error"), Kind: domain.Denied, Code: domain.CodeQuota},
		"too large":                {Body: fails("request_too_large"), Kind: domain.TooLarge, Code: domain.CodeContextOverflow},
		"an unnamed error":         {Body: hello + "data: " + failure("api_error", "x") + "\n\n", Kind: domain.Unavailable, Text: "hello"},
		"an error of words":        {Body: hello + "event: error\ndata: overloaded\n\n", Kind: domain.Unavailable, Text: "hello"},
		"an error behind the stop": {Body: hello + stop + fails("api_error"), Kind: domain.Unavailable, Text: "hello"},
		"a second beginning":       {Body: hello + start, Code: domain.CodeMalformed, Text: "hello", Says: "two answers"},
		"a block begun twice":      {Body: hello + begin("1", toolF) + begin("1", toolG), Code: domain.CodeMalformed, Text: "hello", Says: "two answers"},
		"a call begun once more":   {Body: hello + begin("1", toolF) + event("content_block_stop", `"index":1`) + begin("1", toolF), Code: domain.CodeMalformed, Text: "hello", Says: "two answers"},
		"arguments in a text":      {Body: hello + arguments("0", `{"x":1}`), Code: domain.CodeMalformed, Text: "hello", Says: "no call"},
		"the end without a reason": {Body: hello + event("message_stop", ""), Code: domain.CodeMalformed, Text: "hello"},
		"a reason without the end": {Body: hello + stop, Code: domain.CodeMalformed, Text: "hello"},
		"a null reason":            {Body: hello + ended("null"), Code: domain.CodeMalformed, Text: "hello"},
		"cut inside arguments":     {Body: hello + call, Code: domain.CodeMalformed, Text: "hello"},
		"a piece of nothing":       {Body: hello + arguments("3", `{}`) + ended(`"tool_use"`), Code: domain.CodeMalformed, Text: "hello"},
		"an event that is no JSON": {Body: hello + "data: {oops\n\n", Code: domain.CodeMalformed, Text: "hello"},
		"another API's stream":     {Body: "data: {\"choices\":[]}\n\ndata: [DONE]\n\n", Code: domain.CodeMalformed},
		"comments alone":           {Body: ": wait\n\n: wait\n\n", Code: domain.CodeMalformed},
	}
	providers.Fails(t, tests, ask, func(t *testing.T, name string, answer inference.Answer) {
		switch used := answer.Response.Usage; name {
		case "a null reason":
		case "cut inside arguments", "a block begun twice", "a call begun once more":
			require.True(t, used.Estimated, "a call is not in the message, and is counted")
			require.Positive(t, used.OutputTokens)
		default:
			require.Zero(t, used.OutputTokens, "what was written is not known before the end")
		}
	})
}

func TestCancelKeepsWhatCame(t *testing.T) {
	t.Parallel()
	url, closed := providers.Stall(t, start+begin("0", toolF)+arguments("0", "{}")+text("1", "hello"))
	ctx, cancel := context.WithCancel(t.Context())
	answer, err := provider(t, url).Infer(ctx, question(), func(d inference.Delta) {
		if d.Text != "" {
			cancel()
		}
	})
	require.Error(t, err)
	require.True(t, domain.AsError(err).Billed)
	require.True(t, answer.Partial)
	require.Equal(t, "hello", answer.Message.Text())
	require.Empty(t, answer.Message.ToolCalls, "no call of a cut answer may run")
	require.Equal(t, "m-1", answer.Response.Model)
	require.Equal(t, int64(123), answer.Response.Usage.InputTokens)
	<-closed
}

// TestEnvironmentIsNotRead: keys come from the configuration alone, where the
// SDK's client would take more from the environment.
func TestEnvironmentIsNotRead(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_CUSTOM_HEADERS"} {
		t.Setenv(name, "X-Custom: from-env")
	}
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	var header http.Header
	p, err := wire.New(anthropic.API(), wire.Config{BaseURL: serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		_, _ = io.WriteString(w, whole)
	})})
	require.NoError(t, err)
	_, err = p.Infer(t.Context(), question(), func(inference.Delta) {})
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprint(header), "from-env")
	require.NotContains(t, header, "X-Api-Key")
}

// TestRequestID: the provider's name of a request is kept, in an answer that is
// whole and in what came of one that is not.
func TestRequestID(t *testing.T) {
	t.Parallel()
	header := http.Header{"Request-Id": {"req_7"}}
	answer, err := infer(t, serve(t, 200, header, whole), question())
	require.Nil(t, err)
	require.Equal(t, "req_7", answer.Response.RequestID)
	answer, err = infer(t, serve(t, 200, header, start), question())
	require.NotNil(t, err)
	require.Equal(t, "req_7", answer.Response.RequestID)
	require.Contains(t, err.Detail, "req_7")
	_, err = infer(t, serve(t, 500, nil, failure("api_error", "x")), question())
	require.Contains(t, err.Detail, "req_1")
}

// TestBaseURL: with and without the version at its end.
func TestBaseURL(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"", "/", "/v1", "/v1/", "/anthropic"} {
		var path string
		_, err := infer(t, serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
			path = r.URL.Path
			_, _ = io.WriteString(w, whole)
		})+end, question())
		require.Nil(t, err)
		want := "/v1/messages"
		if end == "/anthropic" {
			want = end + want
		}
		require.Equal(t, want, path)
	}
	_, err := wire.New(anthropic.API(), wire.Config{BaseURL: "ftp://user:secret@host"})
	require.ErrorContains(t, err, "ANTHROPIC_BASE_URL")
	require.NotContains(t, err.Error(), "secret")
}

// TestFullWindow: what ended because the window was full is no answer; it counts.
func TestFullWindow(t *testing.T) {
	t.Parallel()
	answer, err := infer(t, serve(t, 200, nil, start+text("0", "x")+ended(`"model_context_window_exceeded"`)), question())
	require.NotNil(t, err)
	require.Equal(t, domain.TooLarge, err.Kind)
	require.Equal(t, domain.CodeContextOverflow, err.Code)
	require.True(t, err.Billed)
	require.True(t, answer.Partial)
	require.Equal(t, "x", answer.Message.Text())
	require.Positive(t, answer.Response.Usage.OutputTokens)
}
