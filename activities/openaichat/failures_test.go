package openaichat_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/conformance"
	"everstep/domain"
)

// TestRefusals reads errors with a status, in all the shapes that servers give them.
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
		"OpenAI, rate": {status: 429, header: http.Header{"Retry-After": {"3"}}, kind: domain.Throttled, after: 3 * time.Second, says: "Rate limit reached",
			body: `{"error":{"message":"Rate limit reached for m","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`},
		"OpenAI, money": {status: 429, header: http.Header{"Retry-After": {"3"}}, kind: domain.Denied, code: domain.CodeQuota, after: 3 * time.Second,
			body: `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`},
		"spend limit":                {status: 429, body: `{"type":"error","error":{"type":"enforced_spend_limit_reached","message":"x"}}`, kind: domain.Denied, code: domain.CodeQuota},
		"credit":                     {status: 400, body: `{"error":{"message":"Your credit balance is too low"}}`, kind: domain.Denied, code: domain.CodeQuota},
		"402":                        {status: 402, body: `{"error":{"message":"Insufficient credits","code":402}}`, kind: domain.Denied, code: domain.CodeQuota},
		"402 with a delay":           {status: 402, header: http.Header{"Retry-After": {"2"}}, body: `{}`, kind: domain.Throttled, after: 2 * time.Second},
		"Gemini's quota is a pace":   {status: 429, body: `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota","details":[{"@type":"x"},{"retryDelay":"14.5s"}]}}]`, kind: domain.Throttled, after: 14500 * time.Millisecond},
		"401":                        {status: 401, body: `{"error":{"code":"401","message":"Access denied due to invalid subscription key"}}`, kind: domain.Denied, code: domain.CodeAuth},
		"403":                        {status: 403, body: `{"message":"no access in your region"}`, kind: domain.Denied, code: domain.CodeAuth, says: "region"},
		"xAI, bad key":               {status: 400, body: `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: sk***89"}`, kind: domain.Denied, code: domain.CodeAuth},
		"404 model":                  {status: 404, body: `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, kind: domain.Invalid, code: domain.CodeModelNotFound, says: "no model m"},
		"Azure, deployment":          {status: 404, body: `{"error":{"code":"DeploymentNotFound","message":"The API deployment does not exist"}}`, kind: domain.Invalid, code: domain.CodeModelNotFound},
		"404 page":                   {status: 404, body: `<html>nginx</html>`, kind: domain.Invalid, code: domain.CodeModelNotFound},
		"unsupported parameter":      {status: 400, body: `{"error":{"message":"Unsupported value","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`, kind: domain.Invalid, says: "temperature"},
		"FastAPI":                    {status: 422, body: `{"detail":[{"loc":["body","messages",0],"msg":"Field required"}]}`, kind: domain.Invalid, says: "body.messages.0: Field required"},
		"Mistral":                    {status: 400, body: `{"detail":"bad request"}`, kind: domain.Invalid, says: "bad request"},
		"Cohere":                     {status: 400, body: `{"id":"1","message":"bad input"}`, kind: domain.Invalid, says: "bad input"},
		"Ollama":                     {status: 400, body: `{"error":"bad template"}`, kind: domain.Invalid, says: "bad template"},
		"vLLM, flat, context":        {status: 400, body: `{"object":"error","message":"This model's maximum context length is 10 tokens. However, you requested 11","type":"BadRequestError","code":400}`, kind: domain.TooLarge, code: domain.CodeContextOverflow},
		"vLLM, other words":          {status: 400, body: `{"error":{"message":"The decoder prompt (length 11) is longer than the maximum model length of 10.","code":400}}`, kind: domain.TooLarge, code: domain.CodeContextOverflow},
		"context, by code":           {status: 400, body: `{"error":{"message":"x","code":"context_length_exceeded"}}`, kind: domain.TooLarge, code: domain.CodeContextOverflow},
		"context, by type":           {status: 400, body: `{"error":{"message":"x","type":"too_many_prompt_tokens","code":400}}`, kind: domain.TooLarge, code: domain.CodeContextOverflow},
		"context, prompt":            {status: 400, body: `{"error":{"message":"prompt is too long: 11 tokens > 10 maximum"}}`, kind: domain.TooLarge, code: domain.CodeContextOverflow},
		"context, behind a gateway":  {status: 400, body: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":\"maximum context length\"}","provider_name":"p"}}}`, kind: domain.TooLarge, code: domain.CodeContextOverflow},
		"413":                        {status: 413, body: `{"error":{"type":"request_too_large","message":"x"}}`, kind: domain.TooLarge, code: domain.CodeContextOverflow},
		"Azure, filter":              {status: 400, body: `{"error":{"message":"filtered","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, kind: domain.Denied, code: domain.CodeFiltered},
		"Groq, failed call":          {status: 400, body: `{"error":{"message":"Tool call validation failed","code":"tool_use_failed","failed_generation":"x"}}`, kind: domain.Unavailable, code: domain.CodeMalformed, billed: true},
		"408":                        {status: 408, kind: domain.Unavailable},
		"409":                        {status: 409, kind: domain.Unavailable},
		"500":                        {status: 500, body: `plain words`, kind: domain.Unavailable, says: "plain words"},
		"502 is a gateway's":         {status: 502, body: `<html></html>`, kind: domain.Unavailable, billed: true},
		"503":                        {status: 503, header: http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"250"}}, kind: domain.Unavailable, after: 250 * time.Millisecond},
		"504 is a gateway's":         {status: 504, kind: domain.Unavailable, billed: true},
		"529":                        {status: 529, body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, kind: domain.Unavailable},
		"a delay of a day":           {status: 429, header: http.Header{"Retry-After": {"86400"}}, kind: domain.Throttled, after: 24 * time.Hour},
		"a delay that is none":       {status: 429, header: http.Header{"Retry-After": {"-5"}}, kind: domain.Throttled},
		"a delay of junk":            {status: 429, header: http.Header{"Retry-After": {"soon"}}, kind: domain.Throttled},
		"JSON served as octets":      {status: 429, header: http.Header{"Content-Type": {"application/octet-stream"}}, body: `{"error":{"message":"slow down"}}`, kind: domain.Throttled, says: "slow down"},
		"a redirect is not followed": {status: 307, header: http.Header{"Location": {"http://127.0.0.1:1/"}}, kind: domain.Invalid, says: "redirect"},
		"204 has no answer":          {status: 204, kind: domain.Unavailable, code: domain.CodeMalformed, billed: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := infer(t, conformance.Serve(t, test.status, test.header, test.body).URL, question())
			require.NotNil(t, err)
			require.Equal(t, test.kind, err.Kind, err.Message)
			require.Equal(t, test.code, err.Code, err.Message)
			require.Equal(t, test.billed, err.Billed)
			require.Equal(t, test.after, err.RetryAfter)
			require.Contains(t, err.Message, test.says)
			require.Equal(t, "openai-chat", err.Source)
		})
	}
}

// chunk is one event of a stream.
func chunk(choice string) string {
	return `data: {"id":"1","model":"m-1","choices":[` + choice + `]}` + "\n\n"
}

const (
	hello  = `{"index":0,"delta":{"content":"hello"},"finish_reason":null}`
	finish = `{"index":0,"delta":{},"finish_reason":"stop"}`
	usage  = `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}` + "\n\n"
	end    = "data: [DONE]\n\n"
)

// TestNoAnswers reads responses of status 200 that are none.
func TestNoAnswers(t *testing.T) {
	t.Parallel()
	call := `{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}}`
	tests := map[string]struct {
		header http.Header
		body   string
		kind   domain.Kind
		code   domain.Code
		text   string
	}{
		"empty":                       {body: "", code: domain.CodeMalformed},
		"white space":                 {body: "\n \n", code: domain.CodeMalformed},
		"a page":                      {header: http.Header{"Content-Type": {"text/html"}}, body: "<html>sign in</html>", code: domain.CodeMalformed},
		"a text":                      {header: http.Header{"Content-Type": {"text/plain"}}, body: "hello", code: domain.CodeMalformed},
		"cut JSON":                    {body: `{"choices":[{"message":{"content":"hel`, code: domain.CodeMalformed},
		"other JSON":                  {body: `{"object":"list","data":[]}`, code: domain.CodeMalformed},
		"a list":                      {body: `[]`, code: domain.CodeMalformed},
		"an error in the body":        {body: `{"error":{"message":"busy","code":503},"choices":[]}`, kind: domain.Unavailable},
		"an error of the filter":      {body: `{"error":{"code":"content_filter","message":"no","status":400}}`, kind: domain.Denied, code: domain.CodeFiltered},
		"an error for want of money":  {body: `{"error":{"code":"insufficient_quota","message":"no"}}`, kind: domain.Denied, code: domain.CodeQuota},
		"an error event":              {body: chunk(hello) + "event: error\ndata: {\"error\":{\"message\":\"bad\",\"type\":\"invalid_request_error\",\"status_code\":400}}\n\n", kind: domain.Invalid, text: "hello"},
		"an error event of words":     {body: chunk(hello) + "event: error\ndata: overloaded\n\n", kind: domain.Unavailable, text: "hello"},
		"an error chunk":              {body: chunk(hello) + `data: {"error":{"code":429,"message":"slow"},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}` + "\n\n", kind: domain.Throttled, text: "hello"},
		"a finish reason of error":    {body: chunk(hello) + chunk(`{"index":0,"delta":{},"finish_reason":"error"}`) + end, kind: domain.Unavailable, text: "hello"},
		"a window that is full":       {body: chunk(hello) + chunk(`{"index":0,"delta":{},"finish_reason":"model_context_window_exceeded"}`) + end, kind: domain.TooLarge, code: domain.CodeContextOverflow, text: "hello"},
		"a stream that ends":          {body: chunk(hello), code: domain.CodeMalformed, text: "hello"},
		"a stream that ends in JSON":  {body: chunk(hello) + `data: {"choices":[{"index":0,"delta":{},"finish_re`, code: domain.CodeMalformed, text: "hello"},
		"done without a finish":       {body: chunk(hello) + end, code: domain.CodeMalformed, text: "hello"},
		"usage without a finish":      {body: chunk(hello) + usage + end, code: domain.CodeMalformed, text: "hello"},
		"cut inside arguments":        {body: chunk(hello) + chunk(call), code: domain.CodeMalformed, text: "hello"},
		"done inside arguments":       {body: chunk(call) + end, code: domain.CodeMalformed},
		"a chunk that is no JSON":     {body: chunk(hello) + "data: {oops\n\n", code: domain.CodeMalformed, text: "hello"},
		"comments and nothing else":   {body: ": wait\n\n: wait\n\n", code: domain.CodeMalformed},
		"JSON though a stream is due": {header: http.Header{"Content-Type": {"text/event-stream"}}, body: `{"error":{"message":"no","code":500}}`, kind: domain.Unavailable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := infer(t, conformance.Serve(t, 200, test.header, test.body).URL, question())
			require.NotNil(t, err)
			if test.kind == "" {
				test.kind = domain.Unavailable
			}
			require.Equal(t, test.kind, err.Kind, err.Message)
			require.Equal(t, test.code, err.Code, err.Message)
			require.True(t, err.Billed, "what began to answer may be billed")
			require.True(t, answer.Partial)
			require.Equal(t, test.text, answer.Message.Text())
			require.Empty(t, answer.Message.ToolCalls)
		})
	}
}
