package openaichat_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"everstep/domain"
	"everstep/testsuite/providers"
)

// TestRefusals reads errors with a status, in all the shapes that servers give them.
func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := map[string]providers.Failure{
		"OpenAI, rate": {Status: 429, Header: http.Header{"Retry-After": {"3"}}, Kind: domain.Throttled, After: 3 * time.Second, Says: "Rate limit reached",
			Body: `{"error":{"message":"Rate limit reached for m","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`},
		"OpenAI, money": {Status: 429, Header: http.Header{"Retry-After": {"3"}}, Kind: domain.Denied, Code: domain.CodeQuota, After: 3 * time.Second,
			Body: `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`},
		"larger than the account's": {Status: 429, Header: http.Header{"Retry-After": {"3"}}, Kind: domain.TooLarge, Code: domain.CodeContextOverflow, After: 3 * time.Second, Says: "larger than the account may send: Request too large for m",
			Body: `{"error":{"message":"Request too large for m on tokens per min (TPM): Limit 30000, Requested 45000. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`},
		"a pace, near the limit": {Status: 429, Kind: domain.Throttled,
			Body: `{"error":{"message":"Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 29000, Requested 4500. Please try again in 7s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`},
		"spend limit":                {Status: 429, Body: `{"type":"error","error":{"type":"enforced_spend_limit_reached","message":"x"}}`, Kind: domain.Denied, Code: domain.CodeQuota},
		"credit":                     {Status: 400, Body: `{"error":{"message":"Your credit balance is too low"}}`, Kind: domain.Denied, Code: domain.CodeQuota},
		"402":                        {Status: 402, Body: `{"error":{"message":"Insufficient credits","code":402}}`, Kind: domain.Denied, Code: domain.CodeQuota},
		"402 with a delay":           {Status: 402, Header: http.Header{"Retry-After": {"2"}}, Body: `{}`, Kind: domain.Throttled, After: 2 * time.Second},
		"Gemini's quota is a pace":   {Status: 429, Body: `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota","details":[{"@type":"x"},{"retryDelay":"14.5s"}]}}]`, Kind: domain.Throttled, After: 14500 * time.Millisecond},
		"401":                        {Status: 401, Body: `{"error":{"code":"401","message":"Access denied due to invalid subscription key"}}`, Kind: domain.Denied, Code: domain.CodeAuth},
		"403":                        {Status: 403, Body: `{"message":"no access in your region"}`, Kind: domain.Denied, Code: domain.CodeAuth, Says: "region"},
		"xAI, bad key":               {Status: 400, Body: `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: sk***89"}`, Kind: domain.Denied, Code: domain.CodeAuth},
		"404 model":                  {Status: 404, Body: `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, Kind: domain.Invalid, Code: domain.CodeModelNotFound, Says: "no model m"},
		"Azure, deployment":          {Status: 404, Body: `{"error":{"code":"DeploymentNotFound","message":"The API deployment does not exist"}}`, Kind: domain.Invalid, Code: domain.CodeModelNotFound},
		"404 page":                   {Status: 404, Body: `<html>nginx</html>`, Kind: domain.Invalid, Code: domain.CodeModelNotFound},
		"unsupported parameter":      {Status: 400, Body: `{"error":{"message":"Unsupported value","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`, Kind: domain.Invalid, Says: "temperature"},
		"FastAPI":                    {Status: 422, Body: `{"detail":[{"loc":["body","messages",0],"msg":"Field required"}]}`, Kind: domain.Invalid, Says: "body.messages.0: Field required"},
		"Mistral":                    {Status: 400, Body: `{"detail":"bad request"}`, Kind: domain.Invalid, Says: "bad request"},
		"Cohere":                     {Status: 400, Body: `{"id":"1","message":"bad input"}`, Kind: domain.Invalid, Says: "bad input"},
		"Ollama":                     {Status: 400, Body: `{"error":"bad template"}`, Kind: domain.Invalid, Says: "bad template"},
		"vLLM, flat, context":        {Status: 400, Body: `{"object":"error","message":"This model's maximum context length is 10 tokens. However, you requested 11","type":"BadRequestError","code":400}`, Kind: domain.TooLarge, Code: domain.CodeContextOverflow},
		"vLLM, other words":          {Status: 400, Body: `{"error":{"message":"The decoder prompt (length 11) is longer than the maximum model length of 10.","code":400}}`, Kind: domain.TooLarge, Code: domain.CodeContextOverflow},
		"context, by code":           {Status: 400, Body: `{"error":{"message":"x","code":"context_length_exceeded"}}`, Kind: domain.TooLarge, Code: domain.CodeContextOverflow},
		"context, by type":           {Status: 400, Body: `{"error":{"message":"x","type":"too_many_prompt_tokens","code":400}}`, Kind: domain.TooLarge, Code: domain.CodeContextOverflow},
		"context, prompt":            {Status: 400, Body: `{"error":{"message":"prompt is too long: 11 tokens > 10 maximum"}}`, Kind: domain.TooLarge, Code: domain.CodeContextOverflow},
		"context, behind a gateway":  {Status: 400, Body: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":\"maximum context length\"}","provider_name":"p"}}}`, Kind: domain.TooLarge, Code: domain.CodeContextOverflow},
		"413":                        {Status: 413, Body: `{"error":{"type":"request_too_large","message":"x"}}`, Kind: domain.TooLarge, Code: domain.CodeContextOverflow},
		"Azure, filter":              {Status: 400, Body: `{"error":{"message":"filtered","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, Kind: domain.Denied, Code: domain.CodeFiltered},
		"Groq, failed call":          {Status: 400, Body: `{"error":{"message":"Tool call validation failed","code":"tool_use_failed","failed_generation":"x"}}`, Kind: domain.Unavailable, Code: domain.CodeMalformed, Billed: true},
		"408":                        {Status: 408, Kind: domain.Unavailable},
		"409":                        {Status: 409, Kind: domain.Unavailable},
		"500":                        {Status: 500, Body: `plain words`, Kind: domain.Unavailable, Says: "plain words"},
		"502 is a gateway's":         {Status: 502, Body: `<html></html>`, Kind: domain.Unavailable, Billed: true},
		"503":                        {Status: 503, Header: http.Header{"Retry-After": {"1"}, "Retry-After-Ms": {"250"}}, Kind: domain.Unavailable, After: 250 * time.Millisecond},
		"504 is a gateway's":         {Status: 504, Kind: domain.Unavailable, Billed: true},
		"529":                        {Status: 529, Body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, Kind: domain.Unavailable},
		"a delay of a day":           {Status: 429, Header: http.Header{"Retry-After": {"86400"}}, Kind: domain.Throttled, After: 24 * time.Hour},
		"a delay that is none":       {Status: 429, Header: http.Header{"Retry-After": {"-5"}}, Kind: domain.Throttled},
		"a delay of junk":            {Status: 429, Header: http.Header{"Retry-After": {"soon"}}, Kind: domain.Throttled},
		"JSON served as octets":      {Status: 429, Header: http.Header{"Content-Type": {"application/octet-stream"}}, Body: `{"error":{"message":"slow down"}}`, Kind: domain.Throttled, Says: "slow down"},
		"a redirect is not followed": {Status: 307, Header: http.Header{"Location": {"http://127.0.0.1:1/"}}, Kind: domain.Invalid, Says: "redirect"},
		"204 has no answer":          {Status: 204, Kind: domain.Unavailable, Code: domain.CodeMalformed, Billed: true},
	}
	providers.Fails(t, tests, ask, nil)
}

// chunk is one event of a stream.
func chunk(choice string) string {
	return `data: {"id":"1","model":"m-1","choices":[` + choice + `]}` + "\n\n"
}

// under is one event of a stream, under an id.
func under(id, choice string) string { return strings.Replace(chunk(choice), `"1"`, `"`+id+`"`, 1) }

const (
	role   = `{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`
	hello  = `{"index":0,"delta":{"content":"hello"},"finish_reason":null}`
	finish = `{"index":0,"delta":{},"finish_reason":"stop"}`
	usage  = `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}` + "\n\n"
	end    = "data: [DONE]\n\n"
)

// TestNoAnswers reads responses of status 200 that are none.
func TestNoAnswers(t *testing.T) {
	t.Parallel()
	call := `{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}}`
	tests := map[string]providers.Failure{
		"empty":                        {Body: "", Code: domain.CodeMalformed},
		"white space":                  {Body: "\n \n", Code: domain.CodeMalformed},
		"a page":                       {Header: http.Header{"Content-Type": {"text/html"}}, Body: "<html>sign in</html>", Code: domain.CodeMalformed},
		"a text":                       {Header: http.Header{"Content-Type": {"text/plain"}}, Body: "hello", Code: domain.CodeMalformed},
		"cut JSON":                     {Body: `{"choices":[{"message":{"content":"hel`, Code: domain.CodeMalformed},
		"other JSON":                   {Body: `{"object":"list","data":[]}`, Code: domain.CodeMalformed},
		"a list":                       {Body: `[]`, Code: domain.CodeMalformed},
		"an error in the body":         {Body: `{"error":{"message":"busy","code":503},"choices":[]}`, Kind: domain.Unavailable},
		"an error of the filter":       {Body: `{"error":{"code":"content_filter","message":"no","status":400}}`, Kind: domain.Denied, Code: domain.CodeFiltered},
		"an error for want of money":   {Body: `{"error":{"code":"insufficient_quota","message":"no"}}`, Kind: domain.Denied, Code: domain.CodeQuota},
		"an error event":               {Body: chunk(hello) + "event: error\ndata: {\"error\":{\"message\":\"bad\",\"type\":\"invalid_request_error\",\"status_code\":400}}\n\n", Kind: domain.Invalid, Text: "hello"},
		"an error event of words":      {Body: chunk(hello) + "event: error\ndata: overloaded\n\n", Kind: domain.Unavailable, Text: "hello"},
		"an error chunk":               {Body: chunk(hello) + `data: {"error":{"code":429,"message":"slow"},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}` + "\n\n", Kind: domain.Throttled, Text: "hello"},
		"a finish reason of error":     {Body: chunk(hello) + chunk(`{"index":0,"delta":{},"finish_reason":"error"}`) + end, Kind: domain.Unavailable, Text: "hello"},
		"a window that is full":        {Body: chunk(hello) + chunk(`{"index":0,"delta":{},"finish_reason":"model_context_window_exceeded"}`) + end, Kind: domain.TooLarge, Code: domain.CodeContextOverflow, Text: "hello"},
		"done and nothing said":        {Body: chunk(`{"index":0,"delta":{"role":"assistant","content":""}}`) + end, Code: domain.CodeMalformed, Says: "without an answer"},
		"done without arguments":       {Body: chunk(strings.Replace(call, `{\"x\":`, "", 1)) + end, Code: domain.CodeMalformed, Says: "inside of a tool call"},
		"a finish, more, and no end":   {Body: chunk(hello) + chunk(finish) + chunk(hello), Code: domain.CodeMalformed, Text: "hellohello", Says: "before the answer was whole"},
		"more behind the end":          {Body: chunk(hello) + chunk(finish) + end + chunk(hello), Code: domain.CodeMalformed, Text: "hellohello", Says: "two answers"},
		"an id that comes back":        {Body: under("1", hello) + under("2", hello) + under("1", hello) + chunk(finish) + end, Code: domain.CodeMalformed, Text: "hellohellohello", Says: "two answers"},
		"another id for good":          {Body: under("1", hello) + under("1", hello) + under("2", hello) + chunk(finish) + end, Code: domain.CodeMalformed, Text: "hellohellohello", Says: "two answers"},
		"another id behind the finish": {Body: under("1", hello) + under("1", finish) + under("2", hello) + under("2", finish) + end, Code: domain.CodeMalformed, Text: "hellohello", Says: "two answers"},
		"ids by turns":                 {Body: under("1", hello) + under("2", hello) + under("2", hello) + chunk(finish) + end, Code: domain.CodeMalformed, Text: "hellohellohello", Says: "two answers"},
		"a second role":                {Body: chunk(role) + chunk(hello) + chunk(role) + chunk(hello) + chunk(finish) + end, Code: domain.CodeMalformed, Text: "hellohello", Says: "two answers"},
		"a second role and text":       {Body: chunk(role) + chunk(hello) + chunk(strings.Replace(hello, `{"content"`, `{"role":"assistant","content"`, 1)) + chunk(finish) + end, Code: domain.CodeMalformed, Text: "hellohello", Says: "two answers"},
		"calls in another choice":      {Body: chunk(hello) + chunk(strings.Replace(call, `"index":0`, `"index":1`, 1)) + chunk(finish) + end, Code: domain.CodeMalformed, Text: "hello", Says: "second choice"},
		"calls there, in one piece":    {Body: `{"choices":[{"index":0,"message":{"content":"hello"}},{"index":1,"message":{"tool_calls":[{"id":"a","function":{"name":"f"}}]}}]}`, Code: domain.CodeMalformed, Text: "hello", Says: "second choice"},
		"content of another kind":      {Body: `{"choices":[{"message":{"content":[{"type":"text","text":"hello"},{"type":"hologram","data":"x"}]}}]}`, Code: domain.CodeMalformed, Says: "content of type hologram"},
		"a stream that ends":           {Body: chunk(hello), Code: domain.CodeMalformed, Text: "hello"},
		"a stream that ends in JSON":   {Body: chunk(hello) + `data: {"choices":[{"index":0,"delta":{},"finish_re`, Code: domain.CodeMalformed, Text: "hello"},
		"cut inside arguments":         {Body: chunk(hello) + chunk(call), Code: domain.CodeMalformed, Text: "hello"},
		"done inside arguments":        {Body: chunk(call) + end, Code: domain.CodeMalformed},
		"a chunk that is no JSON":      {Body: chunk(hello) + "data: {oops\n\n", Code: domain.CodeMalformed, Text: "hello"},
		"comments and nothing else":    {Body: ": wait\n\n: wait\n\n", Code: domain.CodeMalformed},
		"JSON though a stream is due":  {Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: `{"error":{"message":"no","code":500}}`, Kind: domain.Unavailable},
	}
	providers.Fails(t, tests, ask, nil)
}
