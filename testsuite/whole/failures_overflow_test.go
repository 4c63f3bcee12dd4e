package whole_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/domain"
)

// overflows are the words in which providers say that a conversation is too long.
func overflows() map[string]refusedCase {
	return map[string]refusedCase{
		"context_length_exceeded":    {body: `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`},
		"Responses":                  {api: openai.Name, body: `{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`},
		"prompt is too long":         {api: anthropic.Name, body: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`},
		"too_many_prompt_tokens":     {body: `{"error":{"message":"x","type":"too_many_prompt_tokens","code":400}}`},
		"TOO_MANY_TOKENS":            {body: `{"error":{"message":"x","type":"invalid_request","code":"TOO_MANY_TOKENS"}}`},
		"vLLM":                       {body: `{"object":"error","message":"This model's maximum context length is 10 tokens. However, you requested 11 tokens in the messages","type":"BadRequestError","code":400}`},
		"vLLM, the other":            {body: `{"error":{"message":"The decoder prompt (length 11) is longer than the maximum model length of 10.","type":"BadRequestError","code":400}}`},
		"413":                        {api: anthropic.Name, status: 413, body: `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`},
		"413, a page":                {status: 413, body: `<html>413</html>`},
		"Gemini":                     {api: gemini.Name, body: `{"error":{"code":400,"message":"The input token count (11) exceeds the maximum number of tokens allowed (10).","status":"INVALID_ARGUMENT"}}`},
		"behind OpenRouter":          {body: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":\"maximum context length\"}","provider_name":"p"}}}`},
		"llama.cpp":                  {body: `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`},
		"an error of 500 that is it": {status: 500, body: `{"error":{"message":"context_length_exceeded","code":500}}`},
	}
}

// tooLong: what can be made shorter is, once; else it fails and is not sent again.
func tooLong() []failureCase {
	all := refusedCases(failing(domain.TooLarge, domain.CodeContextOverflow, "exceeds the context of model {model}"), overflows())
	const account = "429, more than the account may send"
	words := overflows()
	words[account] = refusedCase{status: 429, body: `{"error":{"message":"Request too large for m on tokens per min (TPM): Limit 30000, Requested 45000. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`}
	all = append(all, refusedCases(failing(domain.TooLarge, domain.CodeContextOverflow, "the request is larger than the account may send"), map[string]refusedCase{account: words[account]})...)
	for name, r := range words {
		if !slices.Contains([]string{account, "context_length_exceeded", "Responses", "prompt is too long", "413, a page", "Gemini"}, name) {
			continue // what follows is the same for all
		}
		api := r.api
		if api == "" {
			api = openaichat.Name
		}
		if r.status == 0 {
			r.status = 400
		}
		big := func(id, text string) callText {
			return callText{id: id, name: "echo", arguments: `{"text":"` + text + `","times":1500}`}
		}
		refused := refuses(r.status, r.body)
		all = append(all, failureCase{
			name: name + ", compacted", api: api,
			plays: []play{callsTools(api, big("c1", "first page")), callsTools(api, big("c2", "second page")), refused, fine(api)},
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Equal(t, 1, p.view.Totals.Compactions)
				before, after := p.requests()[2].body, p.requests()[3].body
				require.Less(t, len(after), len(before)*3/4)
				requirePairs(t, p, 3, 2)
				require.Contains(t, after, "second page", "what the model has not seen yet stays")
				require.NotContains(t, after, "echo: first page")
				require.Contains(t, after, `"go"`)
			},
		})
		all = append(all, failureCase{
			name: name + ", compacted in vain", api: api, want: failing(domain.TooLarge, domain.CodeContextOverflow),
			plays: []play{callsTools(api, big("c1", "first page")), callsTools(api, big("c2", "second page")), refused, refused},
			check: func(t *testing.T, p *part) { t.Helper(); require.Equal(t, 1, p.view.Totals.Compactions) },
		})
	}
	cut := func(api, body string) play {
		return toldly(breaks(strings.ReplaceAll(body, "WORD", "model_context_window_exceeded")))
	}
	messages := apiTables()[anthropic.Name]
	window := cut(anthropic.Name, messages.open("half an ans")+strings.ReplaceAll(messages.stop, "end_turn", "WORD"))
	chat := cut(openaichat.Name, chatText("half an ans")+chatChunk("{}", `"WORD"`)+chatUsage+chatDone)
	return append(all,
		failureCase{name: "a stop reason, Anthropic", api: anthropic.Name, plays: []play{window}, want: failing(domain.TooLarge, domain.CodeContextOverflow)},
		failureCase{name: "a stop reason, chat", plays: []play{chat}, want: failing(domain.TooLarge, domain.CodeContextOverflow)},
		failureCase{name: "a stop reason, compacted", api: anthropic.Name,
			plays: []play{
				callsTools(anthropic.Name, callText{"c1", "echo", `{"text":"first page","times":1500}`}),
				callsTools(anthropic.Name, callText{"c2", "echo", `{"text":"second page","times":1500}`}), window, fine(anthropic.Name),
			},
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Equal(t, 1, p.view.Totals.Compactions)
				requirePairs(t, p, 3, 2)
			}})
}
