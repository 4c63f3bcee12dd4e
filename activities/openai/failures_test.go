package openai_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/conformance"
	"everstep/domain"
)

// TestRefusals reads errors with a status.
func TestRefusals(t *testing.T) {
	t.Parallel()
	openAI := func(kind, code string) string {
		return `{"error":{"message":"words","type":"` + kind + `","param":null,"code":"` + code + `"}}`
	}
	tests := map[string]struct {
		status int
		header http.Header
		body   string
		kind   domain.Kind
		code   domain.Code
		billed bool
		after  time.Duration
	}{
		"rate":                    {status: 429, header: http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"2"}}, body: openAI("tokens", "rate_limit_exceeded"), kind: domain.Throttled, after: 1500 * time.Millisecond},
		"money":                   {status: 429, body: openAI("insufficient_quota", "insufficient_quota"), kind: domain.Denied, code: domain.CodeQuota},
		"key":                     {status: 401, body: openAI("invalid_request_error", "invalid_api_key"), kind: domain.Denied, code: domain.CodeAuth},
		"region":                  {status: 403, body: openAI("request_forbidden", "unsupported_country_region_territory"), kind: domain.Denied, code: domain.CodeAuth},
		"model":                   {status: 404, body: openAI("invalid_request_error", "model_not_found"), kind: domain.Invalid, code: domain.CodeModelNotFound},
		"Azure, deployment":       {status: 404, body: `{"error":{"code":"DeploymentNotFound","message":"x"}}`, kind: domain.Invalid, code: domain.CodeModelNotFound},
		"context":                 {status: 400, body: openAI("invalid_request_error", "context_length_exceeded"), kind: domain.TooLarge, code: domain.CodeContextOverflow},
		"context, words":          {status: 400, body: `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":null}}`, kind: domain.TooLarge, code: domain.CodeContextOverflow},
		"Azure, filter":           {status: 400, body: `{"error":{"code":"content_filter","message":"filtered","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, kind: domain.Denied, code: domain.CodeFiltered},
		"reasoning without item":  {status: 400, body: `{"error":{"message":"Item 'rs_1' of type 'reasoning' was provided without its required following item.","type":"invalid_request_error","param":"input","code":null}}`, kind: domain.Invalid},
		"call without its result": {status: 400, body: `{"error":{"message":"No tool output found for function call call_a.","type":"invalid_request_error","param":"input","code":null}}`, kind: domain.Invalid},
		"500":                     {status: 500, body: openAI("server_error", "server_error"), kind: domain.Unavailable},
		"502":                     {status: 502, body: `<html>`, kind: domain.Unavailable, billed: true},
		"503":                     {status: 503, body: openAI("server_error", "overloaded"), kind: domain.Unavailable},
		"504":                     {status: 504, kind: domain.Unavailable, billed: true},
		"a redirect":              {status: 307, header: http.Header{"Location": {"https://elsewhere"}}, kind: domain.Invalid},
		"204":                     {status: 204, kind: domain.Unavailable, code: domain.CodeMalformed, billed: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := infer(t, conformance.Serve(t, test.status, test.header, test.body).URL, question())
			require.NotNil(t, err)
			require.Equal(t, test.kind, err.Kind, err.Message)
			require.Equal(t, test.code, err.Code, err.Message)
			require.Equal(t, test.billed, err.Billed)
			require.Equal(t, test.after, err.RetryAfter)
			require.True(t, answer.Partial)
		})
	}
}

// TestNoAnswers reads responses of status 200 that hold none.
func TestNoAnswers(t *testing.T) {
	t.Parallel()
	head := sse(created, added, hel)
	failure := func(code string) string {
		return head + sse(ended("failed", `,"usage":`+used+`,"error":{"code":"`+code+`","message":"words"}`))
	}
	calling := `{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"x\":"}`
	tests := map[string]struct {
		header http.Header
		body   string
		kind   domain.Kind
		code   domain.Code
		text   string
	}{
		"nothing":                     {code: domain.CodeMalformed},
		"a page":                      {header: http.Header{"Content-Type": {"text/html"}}, body: "<html>gateway</html>", code: domain.CodeMalformed},
		"JSON cut":                    {body: `{"status":"completed","output":[`, code: domain.CodeMalformed},
		"another API's answer":        {body: `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`, code: domain.CodeMalformed},
		"JSON, not finished":          {body: `{"status":"in_progress","output":[` + hello + `]}`, code: domain.CodeMalformed},
		"JSON, cancelled":             {body: `{"status":"cancelled","output":[` + hello + `]}`},
		"JSON, failed":                {body: `{"status":"failed","error":{"code":"rate_limit_exceeded","message":"x"},"output":[]}`, kind: domain.Throttled},
		"JSON, an error":              {body: `{"error":{"code":"insufficient_quota","message":"x"}}`, kind: domain.Denied, code: domain.CodeQuota},
		"items that are no list":      {body: `{"status":"completed","output":{}}`, code: domain.CodeMalformed},
		"an error event":              {body: head + sse(`{"type":"error","code":"server_error","message":"x","param":null,"sequence_number":3}`), text: "hel"},
		"an error event, nested":      {body: head + sse(`{"type":"error","error":{"type":"tokens","code":"rate_limit_exceeded","message":"x"}}`), kind: domain.Throttled, text: "hel"},
		"an error event of words":     {body: head + "event: error\ndata: overloaded\n\n", text: "hel"},
		"an error without a type":     {body: head + `data: {"error":{"message":"x","code":"context_length_exceeded"}}` + "\n\n", kind: domain.TooLarge, code: domain.CodeContextOverflow, text: "hel"},
		"failed, server":              {body: failure("server_error"), text: "hel"},
		"failed, rate":                {body: failure("rate_limit_exceeded"), kind: domain.Throttled, text: "hel"},
		"failed, money":               {body: failure("insufficient_quota"), kind: domain.Denied, code: domain.CodeQuota, text: "hel"},
		"failed, prompt":              {body: failure("invalid_prompt"), kind: domain.Denied, code: domain.CodeFiltered, text: "hel"},
		"failed, policy":              {body: failure("bio_policy"), kind: domain.Denied, code: domain.CodeFiltered, text: "hel"},
		"failed, picture":             {body: failure("image_too_large"), kind: domain.Invalid, text: "hel"},
		"failed, picture elsewhere":   {body: failure("failed_to_download_image"), text: "hel"},
		"failed, nobody says why":     {body: head + sse(ended("failed", `,"error":null`)), text: "hel"},
		"completed with an error":     {body: head + sse(ended("completed", `,"error":{"code":"server_error","message":"x"}`, hello)), text: "hel"},
		"completed without its text":  {body: head + sse(ended("completed", "")), code: domain.CodeMalformed, text: "hel"},
		"completed without response":  {body: head + sse(`{"type":"response.completed"}`), code: domain.CodeMalformed, text: "hel"},
		"a stream that ends":          {body: head, code: domain.CodeMalformed, text: "hel"},
		"a stream that ends in JSON":  {body: head + `data: {"type":"response.comple`, code: domain.CodeMalformed, text: "hel"},
		"created and nothing else":    {body: sse(created), code: domain.CodeMalformed},
		"items done and no end":       {body: head + sse(lo, itemDone(0, hello)), code: domain.CodeMalformed, text: "hello"},
		"done without an end":         {body: head + "data: [DONE]\n\n", code: domain.CodeMalformed, text: "hel"},
		"cut inside arguments":        {body: head + sse(calling), code: domain.CodeMalformed, text: "hel"},
		"an event that is no JSON":    {body: head + "data: {oops\n\n", code: domain.CodeMalformed, text: "hel"},
		"comments and nothing else":   {body: ": wait\n\n: wait\n\n", code: domain.CodeMalformed},
		"JSON though a stream is due": {header: http.Header{"Content-Type": {"text/event-stream"}}, body: `{"error":{"message":"no","code":500}}`},
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
			if strings.Contains(test.body, used) {
				require.EqualValues(t, 7, answer.Response.Usage.OutputTokens, "what failed has its price")
			}
		})
	}
}
