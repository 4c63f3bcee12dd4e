package whole_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// wrong is a response of status 200 that is no answer.
func wrong(mediaType, body string) play {
	return counted(play{serve: serves(mediaType, body)})
}

// retried reports a case whose first attempt failed for a reason, and whose
// second gave the answer.
func retried(name, api string, first play, code domain.Code, reason string) failureCase {
	return failureCase{
		name: name, api: api, plays: []play{first, fine(api)},
		check: func(t *testing.T, p *part) {
			t.Helper()
			retry := p.view.Steps[0].Retries[0]
			require.Equal(t, code, p.lostTo(), retry.Reason)
			require.Contains(t, retry.Reason, reason)
			require.Zero(t, p.view.Totals.ToolCalls)
		},
	}
}

// errorsInside: an error counts before any choice, by the code that is in it.
func errorsInside() []failureCase {
	const filtered = `{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`
	json := func(body string) play { return wrong("application/json", body) }
	choice := `"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]`
	return []failureCase{
		{name: "Azure's filter of the prompt", plays: []play{json(filtered)}, want: failing(domain.Denied, domain.CodeFiltered, "The response was filtered")},
		{name: "OpenRouter, no money", plays: []play{json(`{"error":{"message":"more credits","code":402}}`)}, want: failing(domain.Denied, domain.CodeQuota, "more credits")},
		{name: "OpenRouter, a bad key", plays: []play{json(`{"error":{"message":"No auth credentials found","code":401}}`)}, want: failing(domain.Denied, domain.CodeAuth)},
		{name: "OpenRouter, a bad request", plays: []play{json(`{"error":{"message":"bad words","code":400}}`)}, want: failing(domain.Invalid, "", "bad words")},
		retried("OpenRouter, its provider failed", openaichat.Name, json(`{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"x"}},"user_id":"u"}`), "", "Provider returned error"),
		retried("OpenRouter, too many requests", openaichat.Name, json(`{"error":{"message":"slow down","code":429}}`), "", "slow down"),
		retried("an error beside an answer", openaichat.Name, json(`{`+choice+`,"error":{"message":"half of it failed","code":503}}`), "", "half of it failed"),
		retried("an error of no code", openaichat.Name, json(`{"error":"something broke"}`), "", "something broke"),
		retried("Responses", openai.Name, json(`{"id":"r","status":"failed","error":{"code":"server_error","message":"inner words"}}`), "", "inner words"),
		retried("Anthropic", anthropic.Name, json(`{"type":"error","error":{"type":"overloaded_error","message":"inner words"}}`), "", "inner words"),
		retried("Gemini", gemini.Name, json(`[{"error":{"code":503,"message":"inner words","status":"UNAVAILABLE"}}]`), "", "inner words"),
	}
}

// noAnswers: the beginning of what came is kept for operators, without the key.
func noAnswers() []failureCase {
	page := "<!DOCTYPE html><html><title>Sign in</title>" + failureKey + strings.Repeat("<p>page</p>", 1000) + "the end of the page</html>"
	otherJSON := map[string]string{
		openaichat.Name: "the answer has no choices", openai.Name: "does not say that it is completed",
		anthropic.Name: "the answer is not whole", gemini.Name: "the answer is not whole",
	}
	var all []failureCase
	for _, api := range failureAPIs() {
		all = append(all,
			retried(api+", HTML", api, wrong("text/html", page), domain.CodeMalformed, "is a page (text/html) and not an answer; check the base URL"),
			retried(api+", an empty body", api, wrong("text/event-stream", ""), domain.CodeMalformed, "the response is empty"),
			retried(api+", invalid JSON", api, wrong("application/json", `{"id":"c1","choices":[{"index":0,"message":{"content":"ok`), domain.CodeMalformed, "not valid JSON, or was cut"),
			retried(api+", JSON of something else", api, wrong("application/json", `{"object":"list","data":[]}`), domain.CodeMalformed, otherJSON[api]),
			retried(api+", an event that is not JSON", api, wrong("text/event-stream", "data: {oops\n\n"), domain.CodeMalformed, "the stream holds something that is not"))
	}
	return append(all,
		retried("HTML that is called a stream", openaichat.Name, wrong("text/event-stream", page), domain.CodeMalformed, "is a page"),
		retried("another content type", openaichat.Name, wrong("text/plain", "upstream connect error"), domain.CodeMalformed, "the answer has no events"),
		retried("204", openaichat.Name, counted(refuses(204, "")), domain.CodeMalformed, "status 204"),
		failureCase{
			name: "a page each time", define: twice, plays: []play{wrong("text/html", page), wrong("text/html", page)},
			want: failing(domain.Unavailable, domain.CodeMalformed, "is a page"),
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Contains(t, p.log.String(), "<title>Sign in</title>[key]", "operators see how it begins")
				require.NotContains(t, p.log.String(), "the end of the page")
				require.NotContains(t, p.said.err, "Sign in")
			},
		})
}

// errorEvents: what came before the error is no answer, and none of its tools run.
func errorEvents() []failureCase {
	event := func(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }
	call := func(api string) string {
		open, _ := splitEnd(api, callBody(api, toolWord(api), echoes("c1", "never after an error")))
		return open
	}
	chat, responses, messages := call(openaichat.Name), call(openai.Name), call(anthropic.Name)
	told := func(body string) play { return toldly(breaks(body)) }
	all := []failureCase{
		retried("Anthropic, overloaded", anthropic.Name, breaks(messages+event("error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)), "", "Overloaded"),
		retried("Groq, with a status code", openaichat.Name, breaks(chat+event("error", `{"error":{"message":"Over capacity","type":"internal_server_error","status_code":503}}`)), "", "Over capacity"),
		retried("OpenRouter, a chunk", openaichat.Name, breaks(chat+`data: {"id":"c1","error":{"code":"server_error","message":"Provider disconnected"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`+"\n\n"), "", "Provider disconnected"),
		retried("Responses, error", openai.Name, breaks(responses+event("error", `{"type":"error","code":"server_error","message":"inner words","param":null,"sequence_number":3}`)), "", "inner words"),
		retried("Responses, response.failed", openai.Name, breaks(responses+event("response.failed", `{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"rate_limit_exceeded","message":"inner words"},"output":[]}}`)), "", "inner words"),
		retried("Gemini", gemini.Name, told(apiTables()[gemini.Name].open("half")+`data: {"error":{"code":503,"message":"inner words","status":"UNAVAILABLE"}}`+"\n\n"), "", "inner words"),
		retried("words", openaichat.Name, breaks(chat+event("error", "upstream is gone")), "", "upstream is gone"),
		{name: "Groq, a bad request", plays: []play{breaks(chat + event("error", `{"error":{"message":"bad words","type":"invalid_request_error","status_code":400}}`))}, want: failing(domain.Invalid, "", "bad words")},
		{name: "no money", plays: []play{breaks(chat + `data: {"error":{"code":402,"message":"more credits"}}` + "\n\n")}, want: failing(domain.Denied, domain.CodeQuota, "more credits")},
		{name: "Responses, a bad image", api: openai.Name, plays: []play{breaks(event("response.failed", `{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"invalid_image_format","message":"no image"},"output":[]}}`))}, want: failing(domain.Invalid, "", "no image")},
		{name: "Anthropic, a bad request", api: anthropic.Name, plays: []play{breaks(event("error", `{"type":"error","error":{"type":"invalid_request_error","message":"bad words"}}`))}, want: failing(domain.Invalid, "", "bad words")},
	}
	for i := range all {
		check := all[i].check
		all[i].check = func(t *testing.T, p *part) {
			t.Helper()
			require.Zero(t, p.ran("never after an error"))
			if check != nil {
				check(t, p)
			}
			for _, m := range collect(t, p.agents.Messages(within(t), p.id)) {
				require.Empty(t, m.Message.ToolCalls)
				require.NotContains(t, m.Message.Text(), "half")
			}
		}
	}
	return all
}

// cutStreams: an answer is complete with the API's own mark of its end alone.
func cutStreams() []failureCase {
	const ran = "never of a cut stream"
	cut := func(name, api, body string) failureCase {
		first := breaks(body)
		if strings.Contains(body, "usage") && (!strings.Contains(body, `"output_tokens":1}`) || strings.Contains(name, "another")) {
			first = toldly(first)
		}
		says := "the stream "
		if !strings.Contains(body, "\n\n") && !strings.Contains(body, "\r\n\r\n") {
			says = "the answer has no events"
		}
		c := retried(name, api, first, domain.CodeMalformed, says)
		check := c.check
		c.check = func(t *testing.T, p *part) {
			t.Helper()
			check(t, p)
			require.Zero(t, p.ran(ran))
			for _, m := range collect(t, p.agents.Messages(within(t), p.id)) {
				require.NotContains(t, m.Message.Text(), "half")
			}
		}
		return c
	}
	var all []failureCase
	for _, api := range failureAPIs() {
		table, call := apiTables()[api], callBody(api, toolWord(api), echoes("c1", ran))
		inside, _, _ := strings.Cut(call, ran)
		all = append(all, cut(api+", text", api, table.open("half an answer")), cut(api+", inside of arguments", api, inside),
			cut(api+", another behind the end", api, call+table.open("half an answer")))
		if api != gemini.Name { // a call is its last event
			open, _ := splitEnd(api, call)
			all = append(all, cut(api+", a whole call", api, open))
		}
	}
	inPiece := chatPiece(`"index":0,"id":"c1","type":"function","function":{"name":"echo","arguments":"{\"text\":\"` + ran + `"}`)
	started := "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"model\":\"m-1\",\"content\":[]}}\n\n"
	stop := "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	return append(all,
		cut("[DONE] and nothing else", openaichat.Name, chatDone),
		cut("[DONE] inside of a call", openaichat.Name, inPiece+chatDone),
		failureCase{name: "[DONE] without a finish reason", plays: []play{gives(chatText("ok") + chatUsage + chatDone)}, want: ending{answer: "ok"}},
		cut("Responses, after response.created", openai.Name, "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\",\"output\":[]}}\n\n"),
		cut("Anthropic, a stop without a stop reason", anthropic.Name, started+stop),
		cut("Gemini, [DONE] without a finish reason", gemini.Name, apiTables()[gemini.Name].open("half")+chatDone),
		failureCase{name: "a proxy that leaves it out, and a worker that knows", alone: testFinishOptional},
	)
}

// testFinishOptional is the setting for proxies that leave the mark out.
func testFinishOptional(t *testing.T) {
	server := serveChat(t, streams(chatText("ok")+chatUsage))
	s := start(t, host.Config{Tools: []tool.Tool{echo()}, Vendors: map[string]host.Access{"openai": {BaseURL: server.URL + "/v1", Key: failureKey}}, FinishOptional: true})
	begun, err := s.agents.Start(within(t), client.Start{Prompt: "go", Definition: domain.Definition{Model: domain.LLMConfig{Provider: openaichat.Name, Model: "m-1"}}})
	require.NoError(t, err)
	result, err := s.agents.Wait(within(t), begun.ID, 0)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status, "%v", result.Error)
	require.Equal(t, "ok", result.Answer)
	require.Equal(t, domain.Usage{InputTokens: tokensIn, OutputTokens: tokensOut}, result.Outcome.Usage)
}

// strayChunks are passed over; tools run once.
func strayChunks() []failureCase {
	call := func(text string) string {
		return chatPiece(`"index":0,"id":"c1","type":"function","function":{"name":"echo","arguments":"{\"text\":\"` + text + `\"}"}`)
	}
	finish := chatChunk("{}", `"tool_calls"`)
	var all []failureCase
	for name, ends := range map[string]string{
		"a second finish chunk":              finish + finish + chatUsage + chatDone,
		"a second finish chunk with content": finish + chatChunk(`{"content":"","tool_calls":[{"index":0,"id":"c1","function":{"name":"echo","arguments":"{\"text\":\"twice\"}"}}]}`, `"tool_calls"`) + chatUsage + chatDone,
		"another word after the first":       finish + chatStop + chatUsage + chatDone,
		"usage twice":                        finish + chatUsage + chatUsage + chatDone,
		"usage before the end":               chatUsage + finish + chatDone,
		"comment lines":                      ": PROCESSING\n\n" + finish + ": ping\n\n" + chatUsage + ": ping\n\n" + chatDone,
		"chunks of nothing":                  `data: {"id":"c1","choices":[]}` + "\n\n" + chatChunk("{}", "null") + finish + chatUsage + chatDone,
		"a null choice of content":           chatChunk(`{"role":"assistant","content":null,"tool_calls":null,"refusal":null}`, "null") + finish + chatUsage + chatDone,
	} {
		text := "stray, " + name
		all = append(all, failureCase{
			name: name, plays: []play{gives(": connected\n\n" + call(text) + ends), fine(openaichat.Name)},
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Equal(t, 1, p.ran(text))
				require.Equal(t, int64(1), p.view.Totals.ToolCalls)
				require.Zero(t, p.ran("twice"))
			},
		})
	}
	return all
}

// legalStreams: all that the standard of server-sent events allows is read.
func legalStreams() []failureCase {
	const said = "żółć 漢字 🌍 ok"
	slow := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range len(body) {
				_, _ = w.Write([]byte{body[i]})
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
	forms := map[string]func(string) http.HandlerFunc{
		"LF": streams,
		"CR": func(body string) http.HandlerFunc {
			return streams(strings.ReplaceAll(strings.ReplaceAll(body, "\r", ""), "\n", "\r"))
		},
		"CRLF": func(body string) http.HandlerFunc {
			return streams(strings.ReplaceAll(strings.ReplaceAll(body, "\r", ""), "\n", "\r\n"))
		},
		"a BOM":  func(body string) http.HandlerFunc { return streams("\xef\xbb\xbf" + body) },
		"a byte": slow,
		"a CR a byte": func(body string) http.HandlerFunc {
			return slow(strings.ReplaceAll(strings.ReplaceAll(body, "\r", ""), "\n", "\r"))
		},
		"no space": func(body string) http.HandlerFunc { return streams(strings.ReplaceAll(body, "data: ", "data:")) },
		"other lines": func(body string) http.HandlerFunc {
			return streams("retry: 5\nid: 1\nfoo\n\n" + strings.ReplaceAll(body, "data: ", "id: 2\n: c\ndata: "))
		},
		"data in two lines": func(body string) http.HandlerFunc {
			return streams(strings.ReplaceAll(strings.ReplaceAll(body, `,"`, ",\ndata: \""), "{\"", "{\ndata:   \""))
		},
	}
	var all []failureCase
	for _, api := range failureAPIs() {
		table := apiTables()[api]
		for name, form := range forms {
			if short := []string{"CR", "a BOM", "a byte"}; api != openaichat.Name && !slices.Contains(short, name) {
				continue // they share a reader
			}
			p := gives("")
			p.serve = form(table.open(said) + table.stop)
			all = append(all, failureCase{name: api + ", " + name, api: api, plays: []play{p}, want: ending{answer: said}})
		}
		long := strings.Repeat("ż", 40_000)
		all = append(all, failureCase{name: api + ", a line of 80 KB", api: api, plays: []play{givesText(api, long)}, want: ending{answer: long}})
	}
	return all
}

// twinKeys: what was approved and what runs are the same bytes, so arguments
// with a key twice run nowhere.
func twinKeys() []failureCase {
	var all []failureCase
	for name, arguments := range map[string]string{
		"twice":          `{"text":"twin a","text":"twin b"}`,
		"by case":        `{"text":"twin a","TEXT":"twin b"}`,
		"another case":   `{"Text":"twin b"}`,
		"escaped":        `{"text":"twin a","\u0074ext":"twin b"}`,
		"deep in values": `{"text":{"a":1,"a":2}}`,
	} {
		all = append(all, failureCase{
			name: name, plays: []play{callsTools(openaichat.Name, callText{"c1", "echo", arguments}), fine(openaichat.Name)},
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Zero(t, p.ran("twin a")+p.ran("twin b"))
				require.Equal(t, domain.ToolFailed, p.view.Steps[0].Tools[0].Outcome)
				require.Contains(t, p.view.Steps[0].Tools[0].Error.Message, "arguments: ")
				require.Contains(t, p.requests()[1].body, fmt.Sprintf("%q", arguments), "the model sees what it wrote")
			},
		})
	}
	return all
}
