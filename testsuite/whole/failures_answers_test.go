package whole_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/starter/client"
)

// empties are answers with neither text nor calls.
func empties() map[string]failureCase {
	chat := func(body string) failureCase { return failureCase{api: openaichat.Name, plays: []play{gives(body)}} }
	return map[string]failureCase{
		"no choices":          {api: openaichat.Name, plays: []play{givesJSON(`{"id":"c1","choices":[],"usage":{"prompt_tokens":30,"completion_tokens":7}}`)}},
		"null content":        {api: openaichat.Name, plays: []play{chatWhole(`{"index":0,"message":{"role":"assistant","content":null},"finish_reason":"stop"}`)}},
		"no message":          {api: openaichat.Name, plays: []play{chatWhole(`{"index":0,"finish_reason":"stop"}`)}},
		"a stop":              chat(chatStop + chatUsage + chatDone),
		"white space":         chat(chatText(" \n") + chatStop + chatUsage + chatDone),
		"tool_calls, none":    chat(chatChunk(`{"tool_calls":[]}`, `"tool_calls"`) + chatUsage + chatDone),
		"Anthropic, end_turn": {api: anthropic.Name, plays: []play{gives(callBody(anthropic.Name, "end_turn"))}},
		"Responses":           {api: openai.Name, plays: []play{gives(callBody(openai.Name, "completed"))}},
		"Gemini":              {api: gemini.Name, plays: []play{gives(callBody(gemini.Name, "STOP"))}},
	}
}

// emptyAnswers are asked for once more within the step, and count.
func emptyAnswers() []failureCase {
	var all []failureCase
	for name, c := range empties() {
		once, twice := c, c
		once.name, once.plays = name+", once", []play{c.plays[0], fine(c.api)}
		once.check = func(t *testing.T, p *part) { t.Helper(); require.Len(t, p.view.Steps, 1) }
		twice.name, twice.plays = name+", twice", []play{c.plays[0], c.plays[0]}
		twice.want = failing(domain.Unavailable, domain.CodeEmptyResponse, "neither text nor tool calls, twice")
		all = append(all, once, twice)
	}
	return all
}

// finishReasons: the content decides first; what is not known is kept as it is.
func finishReasons() []failureCase {
	seen := func(finish domain.FinishReason, word string) func(*testing.T, *part) {
		return func(t *testing.T, p *part) {
			t.Helper()
			require.Equal(t, finish, *p.view.Steps[0].FinishReason)
			require.Equal(t, word, p.steps(t)[0].Step.Response.FinishWord)
		}
	}
	ran := func(text string) func(*testing.T, *part) {
		return func(t *testing.T, p *part) {
			t.Helper()
			require.Equal(t, domain.FinishToolCalls, *p.view.Steps[0].FinishReason)
			require.Equal(t, 1, p.ran(text))
		}
	}
	var all []failureCase
	for word, want := range map[string]domain.FinishReason{
		"stop": domain.FinishStop, "length": domain.FinishLength, "eos": domain.FinishStop, "end_turn": domain.FinishStop, "stop_sequence": domain.FinishStop,
		"content_filter": domain.FinishContentFilter, "max_tokens": domain.FinishLength, "tool_calls": domain.FinishStop, "abort": domain.FinishOther,
	} {
		kept := word
		if word == string(want) {
			kept = ""
		}
		all = append(all, failureCase{
			name: word, plays: []play{gives(chatText("ok") + chatChunk("{}", fmt.Sprintf("%q", word)) + chatUsage + chatDone)}, check: seen(want, kept),
		})
	}
	for word, want := range map[string]domain.FinishReason{
		"end_turn": domain.FinishStop, "stop_sequence": domain.FinishStop, "max_tokens": domain.FinishLength, "refusal": domain.FinishRefusal, "novel": domain.FinishOther,
	} {
		kept := word
		if word == string(want) {
			kept = ""
		}
		body := apiTables()[anthropic.Name].open("ok") + strings.ReplaceAll(apiTables()[anthropic.Name].stop, "end_turn", word)
		all = append(all, failureCase{name: "Anthropic, " + word, api: anthropic.Name, plays: []play{gives(body)}, check: seen(want, kept)})
	}
	for _, api := range failureAPIs() {
		text, body := "finish, "+api, ""
		switch api {
		case openaichat.Name:
			body = callBody(api, "stop", echoes("c1", text))
		case gemini.Name:
			body = callBody(api, "STOP", echoes("c1", text))
		case anthropic.Name:
			body = callBody(api, "end_turn", echoes("c1", text))
		case openai.Name:
			body = callBody(api, "completed", echoes("c1", text))
		}
		all = append(all, failureCase{name: api + ", stop with calls", api: api, plays: []play{gives(body), fine(api)}, check: ran(text)})
	}
	for name, word := range map[string]string{"null": "null", "an empty one": `""`} {
		all = append(all,
			failureCase{name: name + ", in one piece", plays: []play{chatWhole(`{"index":0,"message":{"content":"ok"},"finish_reason":` + word + `}`)}, check: seen(domain.FinishStop, "none")},
			failureCase{name: name + ", in a stream", plays: []play{gives(chatText("ok") + chatChunk("{}", word) + chatUsage + chatDone)}, check: seen(domain.FinishStop, "none")},
			retried(name+", in a stream without an end marker", openaichat.Name, breaks(chatText("half")+chatChunk("{}", word)), domain.CodeMalformed, "before the answer was whole"))
	}
	function := chatChunk(`{"function_call":{"name":"echo","arguments":"{\"text\":"}}`, "null") + chatChunk(`{"function_call":{"arguments":"\"finish, function\"}"}}`, "null")
	return append(all,
		retried("error", openaichat.Name, breaks(chatText("half")+chatChunk("{}", `"error"`)+chatDone), "", "the provider failed"),
		failureCase{name: "function_call", plays: []play{gives(function + chatChunk("{}", `"function_call"`) + chatUsage + chatDone), fine(openaichat.Name)}, check: ran("finish, function")},
		failureCase{name: "eos with calls", plays: []play{gives(callBody(openaichat.Name, "eos", echoes("c1", "finish, eos"))), fine(openaichat.Name)}, check: ran("finish, eos")},
		failureCase{name: "an unknown one with calls", plays: []play{gives(callBody(openaichat.Name, "abort", echoes("c1", "finish, abort"))), fine(openaichat.Name)}, check: ran("finish, abort")},
	)
}

// refusals are answers: their text is what the user gets.
func refusals() []failureCase {
	refused := func(t *testing.T, p *part) {
		t.Helper()
		require.Equal(t, domain.FinishRefusal, *p.view.Steps[0].FinishReason)
		require.Equal(t, domain.StepFinalResponse, *p.view.Steps[0].Type)
	}
	item := `{"type":"message","id":"m1","role":"assistant","status":"completed","content":[{"type":"refusal","refusal":"I will not."}]}`
	responses := "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":" + item + "}\n\n" + callBody(openai.Name, "completed")
	explained := strings.ReplaceAll(callBody(anthropic.Name, "refusal"), `"stop_reason":"refusal"`, `"stop_reason":"refusal","stop_details":{"type":"refusal","explanation":"I will not."}`)
	call := callBody(anthropic.Name, "refusal", echoes("c1", "never of a refusal"))
	answer := ending{answer: "I will not."}
	return []failureCase{
		{name: "a field", plays: []play{gives(chatChunk(`{"content":null,"refusal":"I will "}`, "null") + chatChunk(`{"refusal":"not."}`, "null") + chatStop + chatUsage + chatDone)}, want: answer, check: refused},
		{name: "a field, in one piece", plays: []play{chatWhole(`{"index":0,"message":{"content":null,"refusal":"I will not."},"finish_reason":"stop"}`)}, want: answer, check: refused},
		{name: "Responses", api: openai.Name, plays: []play{gives(responses)}, want: answer, check: refused},
		{name: "Anthropic, with text", api: anthropic.Name, plays: []play{gives(apiTables()[anthropic.Name].open("I will not.") + strings.ReplaceAll(apiTables()[anthropic.Name].stop, "end_turn", "refusal"))}, want: answer, check: refused},
		{name: "Anthropic, explained", api: anthropic.Name, plays: []play{gives(explained)}, want: answer, check: refused},
		{name: "Anthropic, with a call", api: anthropic.Name, plays: []play{gives(strings.ReplaceAll(call, `"stop_reason":"refusal"`, `"stop_reason":"refusal","stop_details":{"explanation":"I will not."}`))}, want: answer,
			check: func(t *testing.T, p *part) { t.Helper(); refused(t, p); require.Zero(t, p.ran("never of a refusal")) }},
	}
}

// filters: without a text there is nothing to answer with.
func filters() []failureCase {
	withheld := failing(domain.Denied, domain.CodeFiltered, "the provider's filter withheld the answer")
	blocked := `data: {"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":30,"candidatesTokenCount":7,"totalTokenCount":37},"modelVersion":"m-1"}` + "\n\n"
	incomplete := strings.ReplaceAll(callBody(openai.Name, "incomplete"), "max_output_tokens", "content_filter")
	return []failureCase{
		{name: "no message", plays: []play{chatWhole(`{"index":0,"finish_reason":"content_filter","content_filter_results":{}}`)}, want: withheld},
		{name: "null message", plays: []play{chatWhole(`{"index":0,"message":null,"finish_reason":"content_filter"}`)}, want: withheld},
		{name: "a stream", plays: []play{gives(chatChunk("{}", `"content_filter"`) + chatUsage + chatDone)}, want: withheld},
		{name: "Responses", api: openai.Name, plays: []play{gives(incomplete)}, want: withheld},
		{name: "Gemini, the answer", api: gemini.Name, plays: []play{gives(callBody(gemini.Name, "SAFETY"))}, want: withheld},
		{name: "Gemini, the prompt", api: gemini.Name, plays: []play{gives(blocked)}, want: withheld},
		{name: "400", plays: []play{refuses(400, `{"error":{"message":"The response was filtered","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{}}}}`)},
			want: failing(domain.Denied, domain.CodeFiltered, "the provider's filter refused the request", "The response was filtered")},
		{name: "with a text", plays: []play{gives(chatText("ok") + chatChunk("{}", `"content_filter"`) + chatUsage + chatDone)}},
		{name: "with a call", plays: []play{gives(callBody(openaichat.Name, "content_filter", echoes("c1", "never of a filtered answer"))), fine(openaichat.Name)},
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Zero(t, p.ran("never of a filtered answer"))
				require.Contains(t, requirePairs(t, p, 1, 1).texts[0], "not run: the provider's filter cut the answer")
			}},
	}
}

// pauses: what came is sent back as it is, a number of times.
func pauses() []failureCase {
	const search = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"żółć \u00e9"}}`
	paused := strings.ReplaceAll(callBody(anthropic.Name, "pause_turn"), "event: message_delta",
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":"+search+"}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta")
	many := make([]play, 17)
	for i := range many {
		many[i] = gives(apiTables()[anthropic.Name].open("on and on") + strings.ReplaceAll(apiTables()[anthropic.Name].stop, "end_turn", "pause_turn"))
	}
	return []failureCase{
		{name: "once", api: anthropic.Name, plays: []play{gives(paused), fine(anthropic.Name)}, check: func(t *testing.T, p *part) {
			t.Helper()
			require.Len(t, p.view.Steps, 1)
			var sent struct {
				Messages []struct {
					Role    string
					Content json.RawMessage
				}
			}
			require.NoError(t, json.Unmarshal([]byte(p.requests()[1].body), &sent))
			require.Len(t, sent.Messages, 2)
			require.Equal(t, "assistant", sent.Messages[1].Role, "it goes on where it paused")
			require.Equal(t, "["+search+"]", string(sent.Messages[1].Content), "byte for byte")
		}},
		{name: "without end", api: anthropic.Name, plays: many, want: failing(domain.Unavailable, domain.CodeMalformed, "the model paused 17 times in one answer")},
	}
}

// keptReasoning: what the provider wants back it gets back, byte for byte.
func keptReasoning() []failureCase {
	kept := func(api, body string, wants ...string) failureCase {
		return failureCase{
			name: api, api: api, plays: []play{gives(body), fine(api)},
			check: func(t *testing.T, p *part) {
				t.Helper()
				requirePairs(t, p, 1, 1)
				last := -1
				for _, want := range wants {
					at := strings.Index(p.requests()[1].body, want)
					require.Greater(t, at, last, "%s\nin its place in\n%s", want, p.requests()[1].body)
					last = at
				}
			},
		}
	}
	named := func(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }
	call := echoes("call_1", "kept")
	const redacted = `{"type":"redacted_thinking","data":"EmwKAhgB+/=="}`
	messages := strings.Replace(callBody(anthropic.Name, "tool_use", call), "event: content_block_start", named("content_block_start", `{"type":"content_block_start","index":7,"content_block":{"type":"thinking","thinking":"","signature":""}}`)+
		named("content_block_delta", `{"type":"content_block_delta","index":7,"delta":{"type":"thinking_delta","thinking":"I think\n so"}}`)+
		named("content_block_delta", `{"type":"content_block_delta","index":7,"delta":{"type":"signature_delta","signature":"EqQBCg+/=="}}`)+
		named("content_block_stop", `{"type":"content_block_stop","index":7}`)+
		named("content_block_start", `{"type":"content_block_start","index":8,"content_block":`+redacted+`}`)+
		named("content_block_stop", `{"type":"content_block_stop","index":8}`)+"event: content_block_start", 1)
	const item = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"I think  so \u00e9"}],"encrypted_content":"gAAAA+/=="}`
	responses := named("response.output_item.done", `{"type":"response.output_item.done","output_index":0,"item":`+item+`}`) +
		strings.ReplaceAll(callBody(openai.Name, "completed", call), `"output_index":0`, `"output_index":1`)
	const details = `{"type":"reasoning.encrypted","data":"abc+/==","id":"r1","format":"x","index":0}`
	chat := chatChunk(`{"reasoning":"I think","reasoning_details":[`+details+`]}`, "null") + callBody(openaichat.Name, "tool_calls", call)
	const signed = `"thoughtSignature":"CtgBAVSoXO4+/=="`
	google := strings.ReplaceAll(callBody(gemini.Name, "STOP", call), `"args":{"text":"kept"}}`, `"args":{"text":"kept"}},`+signed)

	return []failureCase{
		kept(anthropic.Name, messages, `"thinking":"I think\n so"`, redacted, `"tool_use"`),
		kept(openai.Name, responses, item, `"function_call"`),
		kept(openaichat.Name, chat, details),
		kept(gemini.Name, google, signed),
	}
}

// usages: what is unknown is not zero.
func usages() []failureCase {
	estimated := func(input, output int64) func(*testing.T, *part) {
		return func(t *testing.T, p *part) {
			t.Helper()
			require.True(t, p.status.Usage.Estimated)
			require.True(t, p.view.Totals.Usage.Estimated)
			for _, side := range [][2]int64{{input, p.status.Usage.InputTokens}, {output, p.status.Usage.OutputTokens}} {
				if side[0] > 0 {
					require.Equal(t, side[0], side[1])
				}
				require.Positive(t, side[1])
			}
			c := *p.cli
			c.t = t
			require.Contains(t, c.ok("explain", p.id), "~")
		}
	}
	var all []failureCase
	add := func(name, api, body string, input, output int64) {
		p := play{serve: streams(body), whole: true, cost: costGuessed}
		all = append(all, failureCase{name: name, api: api, plays: []play{p}, check: estimated(input, output)})
	}
	chat := func(usage string) string {
		return chatText("ok") + chatStop + `data: {"id":"c1","choices":[]` + usage + "}\n\n" + chatDone
	}
	add("missing", openaichat.Name, chatText("ok")+chatStop+chatDone, 0, 0)
	add("null", openaichat.Name, chat(`,"usage":null`), 0, 0)
	add("zero", openaichat.Name, chat(`,"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`), 0, 0)
	add("only output", openaichat.Name, chat(`,"usage":{"completion_tokens":7}`), 0, 7)
	add("only input", openaichat.Name, chat(`,"usage":{"prompt_tokens":30}`), 30, 0)
	add("words", openaichat.Name, chat(`,"usage":{"prompt_tokens":"many","completion_tokens":-3}`), 0, 0)
	table := apiTables()
	inputOutput := fmt.Sprintf(`{"input_tokens":%d,"output_tokens":%d}`, tokensIn, tokensOut)
	for name, usage := range map[string]string{"null": "null", "zero": `{"input_tokens":0,"output_tokens":0}`} {
		for _, api := range []string{openai.Name, anthropic.Name} {
			add(api+", "+name, api, strings.ReplaceAll(table[api].open("ok")+table[api].stop, inputOutput, usage), 0, 0)
		}
	}
	add(anthropic.Name+", only output", anthropic.Name, strings.ReplaceAll(table[anthropic.Name].open("ok")+table[anthropic.Name].stop, inputOutput, `{"output_tokens":7}`), 0, 7)
	add(gemini.Name+", missing", gemini.Name, strings.ReplaceAll(table[gemini.Name].open("ok")+table[gemini.Name].stop, `"usageMetadata"`, `"nothing"`), 0, 0)
	untold := play{serve: streams(strings.ReplaceAll(callBody(openaichat.Name, "tool_calls", echoes("c1", "untold")), chatUsage, "")), whole: true, cost: costGuessed}
	return append(all, failureCase{
		name: "a budget holds though nobody tells what was used", plays: []play{untold, untold}, want: stopping(domain.TokenLimitReached, "max_tokens is 300"),
		define: func(s *client.Start) { s.Prompt, s.Budget.MaxTokens = strings.Repeat("word ", 50), new(int64(300)) },
	})
}
