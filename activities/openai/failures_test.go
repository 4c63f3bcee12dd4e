package openai_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/testsuite/providers"
)

// TestRefusals reads errors with a status.
func TestRefusals(t *testing.T) {
	t.Parallel()
	openAI := func(kind, code string) string {
		return `{"error":{"message":"words","type":"` + kind + `","param":null,"code":"` + code + `"}}`
	}
	tests := map[string]providers.Failure{
		"rate":                    {Status: 429, Header: http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"2"}}, Body: openAI("tokens", "rate_limit_exceeded"), Kind: domain.Throttled, After: 1500 * time.Millisecond},
		"money":                   {Status: 429, Body: openAI("insufficient_quota", "insufficient_quota"), Kind: domain.Denied, Code: domain.CodeQuota},
		"key":                     {Status: 401, Body: openAI("invalid_request_error", "invalid_api_key"), Kind: domain.Denied, Code: domain.CodeAuth},
		"region":                  {Status: 403, Body: openAI("request_forbidden", "unsupported_country_region_territory"), Kind: domain.Denied, Code: domain.CodeAuth},
		"model":                   {Status: 404, Body: openAI("invalid_request_error", "model_not_found"), Kind: domain.Invalid, Code: domain.CodeModelNotFound},
		"Azure, deployment":       {Status: 404, Body: `{"error":{"code":"DeploymentNotFound","message":"x"}}`, Kind: domain.Invalid, Code: domain.CodeModelNotFound},
		"context":                 {Status: 400, Body: openAI("invalid_request_error", "context_length_exceeded"), Kind: domain.TooLarge, Code: domain.CodeContextOverflow},
		"context, words":          {Status: 400, Body: `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":null}}`, Kind: domain.TooLarge, Code: domain.CodeContextOverflow},
		"Azure, filter":           {Status: 400, Body: `{"error":{"code":"content_filter","message":"filtered","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, Kind: domain.Denied, Code: domain.CodeFiltered},
		"reasoning without item":  {Status: 400, Body: `{"error":{"message":"Item 'rs_1' of type 'reasoning' was provided without its required following item.","type":"invalid_request_error","param":"input","code":null}}`, Kind: domain.Invalid},
		"call without its result": {Status: 400, Body: `{"error":{"message":"No tool output found for function call call_a.","type":"invalid_request_error","param":"input","code":null}}`, Kind: domain.Invalid},
		"500":                     {Status: 500, Body: openAI("server_error", "server_error"), Kind: domain.Unavailable},
		"502":                     {Status: 502, Body: `<html>`, Kind: domain.Unavailable, Billed: true},
		"503":                     {Status: 503, Body: openAI("server_error", "overloaded"), Kind: domain.Unavailable},
		"504":                     {Status: 504, Kind: domain.Unavailable, Billed: true},
		"a redirect":              {Status: 307, Header: http.Header{"Location": {"https://elsewhere"}}, Kind: domain.Invalid},
		"204":                     {Status: 204, Kind: domain.Unavailable, Code: domain.CodeMalformed, Billed: true},
	}
	providers.Fails(t, tests, ask, nil)
}

// TestNoAnswers reads responses of status 200 that hold none.
func TestNoAnswers(t *testing.T) {
	t.Parallel()
	head := sse(created, added, hel)
	failure := func(code string) string {
		return head + sse(ended("failed", `,"usage":`+used+`,"error":{"code":"`+code+`","message":"words"}`))
	}
	calling := `{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"x\":"}`
	tests := map[string]providers.Failure{
		"nothing":                     {Code: domain.CodeMalformed},
		"a second beginning":          {Body: head + sse(created), Code: domain.CodeMalformed, Text: "hel", Says: "two answers"},
		"another response":            {Body: head + sse(strings.NewReplacer("created", "in_progress", "resp_1", "resp_2").Replace(created)), Code: domain.CodeMalformed, Text: "hel", Says: "two answers"},
		"an item begun twice":         {Body: head + sse(strings.Replace(added, "msg_1", "msg_2", 1)), Code: domain.CodeMalformed, Text: "hel", Says: "two answers"},
		"a failure behind the end":    {Body: sse(created, added, hel, lo, ended("completed", "", hello), ended("failed", `,"error":{"code":"server_error","message":"x"}`)), Code: domain.CodeMalformed, Text: "hello", Says: "two answers"},
		"a page":                      {Header: http.Header{"Content-Type": {"text/html"}}, Body: "<html>gateway</html>", Code: domain.CodeMalformed},
		"JSON cut":                    {Body: `{"status":"completed","output":[`, Code: domain.CodeMalformed},
		"another API's answer":        {Body: `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`, Code: domain.CodeMalformed},
		"JSON, not finished":          {Body: `{"status":"in_progress","output":[` + hello + `]}`, Code: domain.CodeMalformed},
		"JSON, cancelled":             {Body: `{"status":"cancelled","output":[` + hello + `]}`},
		"JSON, failed":                {Body: `{"status":"failed","error":{"code":"rate_limit_exceeded","message":"x"},"output":[]}`, Kind: domain.Throttled},
		"JSON, an error":              {Body: `{"error":{"code":"insufficient_quota","message":"x"}}`, Kind: domain.Denied, Code: domain.CodeQuota},
		"items that are no list":      {Body: `{"status":"completed","output":{}}`, Code: domain.CodeMalformed},
		"an error event":              {Body: head + sse(`{"type":"error","code":"server_error","message":"x","param":null,"sequence_number":3}`), Text: "hel"},
		"an error event, nested":      {Body: head + sse(`{"type":"error","error":{"type":"tokens","code":"rate_limit_exceeded","message":"x"}}`), Kind: domain.Throttled, Text: "hel"},
		"an error event of words":     {Body: head + "event: error\ndata: overloaded\n\n", Text: "hel"},
		"an error without a type":     {Body: head + `data: {"error":{"message":"x","code":"context_length_exceeded"}}` + "\n\n", Kind: domain.TooLarge, Code: domain.CodeContextOverflow, Text: "hel"},
		"failed, server":              {Body: failure("server_error"), Text: "hel"},
		"failed, rate":                {Body: failure("rate_limit_exceeded"), Kind: domain.Throttled, Text: "hel"},
		"failed, money":               {Body: failure("insufficient_quota"), Kind: domain.Denied, Code: domain.CodeQuota, Text: "hel"},
		"failed, prompt":              {Body: failure("invalid_prompt"), Kind: domain.Denied, Code: domain.CodeFiltered, Text: "hel"},
		"failed, policy":              {Body: failure("bio_policy"), Kind: domain.Denied, Code: domain.CodeFiltered, Text: "hel"},
		"failed, picture":             {Body: failure("image_too_large"), Kind: domain.Invalid, Text: "hel"},
		"failed, picture elsewhere":   {Body: failure("failed_to_download_image"), Text: "hel"},
		"failed, nobody says why":     {Body: head + sse(ended("failed", `,"error":null`)), Text: "hel"},
		"completed with an error":     {Body: head + sse(ended("completed", `,"error":{"code":"server_error","message":"x"}`, hello)), Text: "hel"},
		"completed without its text":  {Body: head + sse(ended("completed", "")), Code: domain.CodeMalformed, Text: "hel"},
		"completed, another text":     {Body: head + sse(ended("completed", "", rs)), Code: domain.CodeMalformed, Text: "hel", Says: "without the text that came before"},
		"an item of text left out":    {Body: head + sse(lo, itemDone(0, hello), ended("completed", "", called)), Code: domain.CodeMalformed, Text: "hello", Says: "without the text that came before"},
		"a call left out":             {Body: sse(created, itemDone(0, called), ended("completed", "", strings.Replace(hello, "hello", "", 1))), Code: domain.CodeMalformed, Says: "without a tool call that came before"},
		"a call begun and left out":   {Body: sse(created, strings.Replace(added, `"message"`, `"function_call","name":"f"`, 1), ended("completed", "")), Code: domain.CodeMalformed, Says: "without a tool call that came before"},
		"content of another kind":     {Body: sse(created, ended("completed", "", `{"type":"message","content":[{"type":"hologram","data":"x"}]}`)), Code: domain.CodeMalformed, Says: "content of type hologram"},
		"completed without response":  {Body: head + sse(`{"type":"response.completed"}`), Code: domain.CodeMalformed, Text: "hel"},
		"a stream that ends":          {Body: head, Code: domain.CodeMalformed, Text: "hel"},
		"a stream that ends in JSON":  {Body: head + `data: {"type":"response.comple`, Code: domain.CodeMalformed, Text: "hel"},
		"created and nothing else":    {Body: sse(created), Code: domain.CodeMalformed},
		"items done and no end":       {Body: head + sse(lo, itemDone(0, hello)), Code: domain.CodeMalformed, Text: "hello"},
		"done without an end":         {Body: head + "data: [DONE]\n\n", Code: domain.CodeMalformed, Text: "hel"},
		"cut inside arguments":        {Body: head + sse(calling), Code: domain.CodeMalformed, Text: "hel"},
		"an event that is no JSON":    {Body: head + "data: {oops\n\n", Code: domain.CodeMalformed, Text: "hel"},
		"comments and nothing else":   {Body: ": wait\n\n: wait\n\n", Code: domain.CodeMalformed},
		"JSON though a stream is due": {Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: `{"error":{"message":"no","code":500}}`},
	}
	providers.Fails(t, tests, ask, func(t *testing.T, name string, answer inference.Answer) {
		if strings.Contains(tests[name].Body, used) {
			require.EqualValues(t, 7, answer.Response.Usage.OutputTokens, "what failed has its price")
		}
	})
}
