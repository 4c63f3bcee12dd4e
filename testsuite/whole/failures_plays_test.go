package whole_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/starter/client"
)

// A play answers one request.
type play struct {
	serve http.HandlerFunc
	// whole says that it is an answer.
	whole bool
	cost  playCost
}

// A playCost says what a play counts as.
type playCost int

const (
	// costNothing is what surely cost nothing.
	costNothing playCost = iota
	// costGuessed is what may have cost something, and nobody said how much.
	costGuessed
	// costTold is what has told its usage, which is always the same.
	costTold
)

// failureAPIs are the APIs that models speak, by the names of their first
// providers and in that order. What speaks one that is there already fails alike.
func failureAPIs() []string {
	var names []string
	for name, table := range apiTables() {
		if !table.dialect {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func streams(body string) http.HandlerFunc { return serves("text/event-stream", body) }

func serves(mediaType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		_, _ = io.WriteString(w, body)
	}
}

// gives is a whole answer as a stream.
func gives(body string) play { return play{serve: streams(body), whole: true, cost: costTold} }

// givesJSON is a whole answer in one piece.
func givesJSON(body string) play {
	return play{serve: serves("application/json", body), whole: true, cost: costTold}
}

// givesText is a whole answer of some text.
func givesText(api, text string) play {
	table := apiTables()[api]
	return gives(table.open(text) + table.stop)
}

// fine is the answer "ok".
func fine(api string) play { return givesText(api, "ok") }

// refuses is an error with a status, before the model has done anything.
func refuses(status int, body string, headers ...string) play {
	return play{cost: costNothing, serve: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for _, header := range headers {
			name, value, _ := strings.Cut(header, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}}
}

// breaks is a stream that is no answer and does not tell its usage.
func breaks(body string) play { return play{serve: streams(body), cost: costGuessed} }

// counted is a play whose cost nobody tells.
func counted(p play) play {
	p.cost = costGuessed
	return p
}

// toldly is a play that has told its usage.
func toldly(p play) play {
	p.cost = costTold
	return p
}

// chatChunk is a chunk of chat completions. The finish reason is JSON.
func chatChunk(delta, finish string) string {
	return `data: {"id":"c1","model":"m-1","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
}

// chatText is a chunk of text.
func chatText(text string) string { return chatChunk(fmt.Sprintf(`{"content":%q}`, text), "null") }

const (
	chatDone  = "data: [DONE]\n\n"
	chatUsage = `data: {"id":"c1","choices":[],"usage":{"prompt_tokens":30,"completion_tokens":7,"total_tokens":37}}` + "\n\n"
	chatStop  = `data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	// chatCalls ends an answer that has called tools.
	chatCalls = `data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" + chatUsage + chatDone
)

// chatWhole is an answer of chat completions in one piece, by its one choice.
func chatWhole(choice string) play {
	return givesJSON(`{"id":"c1","model":"m-1","choices":[` + choice + `],"usage":{"prompt_tokens":30,"completion_tokens":7,"total_tokens":37}}`)
}

// chatPiece is a piece of a tool call, by its JSON fields.
func chatPiece(fields ...string) string {
	return chatChunk(`{"tool_calls":[{`+strings.Join(fields, ",")+`}]}`, "null")
}

// A callText is a call as a model writes it.
type callText struct{ id, name, arguments string }

// echoes is a call of echo with a text.
func echoes(id, text string) callText {
	return callText{id: id, name: "echo", arguments: fmt.Sprintf(`{"text":%q}`, text)}
}

// callBody is the stream of an answer with calls and no text. What ends it is
// the word of the API.
func callBody(api, word string, calls ...callText) string {
	var b strings.Builder
	named := func(name, fields string) { fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q%s}\n\n", name, name, fields) }
	switch api {
	case openaichat.Name:
		for i, c := range calls {
			b.WriteString(chatPiece(fmt.Sprintf(`"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%q}`, i, c.id, c.name, c.arguments)))
		}
		b.WriteString(chatChunk("{}", fmt.Sprintf("%q", word)) + chatUsage + chatDone)
	case openai.Name:
		for i, c := range calls {
			named("response.output_item.done", fmt.Sprintf(`,"output_index":%d,"item":{"type":"function_call","id":"fc_%d","call_id":%q,"name":%q,"arguments":%q,"status":"completed"}`, i, i, c.id, c.name, c.arguments))
		}
		details := ""
		if word == "incomplete" {
			details = `"incomplete_details":{"reason":"max_output_tokens"},`
		}
		named("response."+word, fmt.Sprintf(`,"response":{"id":"resp_1","model":"m-1","status":%q,%s"output":[],"usage":{"input_tokens":%d,"output_tokens":%d}}`, word, details, tokensIn, tokensOut))
	case anthropic.Name:
		named("message_start", fmt.Sprintf(`,"message":{"id":"msg_1","role":"assistant","model":"m-1","content":[],"usage":{"input_tokens":%d,"output_tokens":1}}`, tokensIn))
		for i, c := range calls {
			named("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}`, i, c.id, c.name))
			named("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":{"type":"input_json_delta","partial_json":%q}`, i, c.arguments))
			named("content_block_stop", fmt.Sprintf(`,"index":%d`, i))
		}
		named("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q},"usage":{"output_tokens":%d}`, word, tokensOut))
		named("message_stop", "")
	case gemini.Name:
		var parts []string
		for _, c := range calls {
			parts = append(parts, fmt.Sprintf(`{"functionCall":{"id":%q,"name":%q,"args":%s}}`, c.id, c.name, c.arguments))
		}
		fmt.Fprintf(&b, `data: {"candidates":[{"content":{"role":"model","parts":[%s]},"finishReason":%q,"index":0}],"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d},"modelVersion":"m-1"}`+"\n\n",
			strings.Join(parts, ","), word, tokensIn, tokensOut, tokensIn+tokensOut)
	}
	return b.String()
}

// splitEnd parts the calls of a callBody from the mark of its end.
func splitEnd(api, body string) (open, end string) {
	mark := map[string]string{
		openaichat.Name: `data: {"id":"c1","model":"m-1","choices":[{"index":0,"delta":{},`,
		openai.Name:     "event: response.completed", anthropic.Name: "event: message_delta",
	}[api]
	at := strings.Index(body, mark)
	return body[:at], body[at:]
}

// toolWord is the word that ends an answer with calls.
func toolWord(api string) string {
	return map[string]string{openaichat.Name: "tool_calls", openai.Name: "completed", anthropic.Name: "tool_use", gemini.Name: "STOP"}[api]
}

// callsTools is an answer with calls.
func callsTools(api string, calls ...callText) play {
	return gives(callBody(api, toolWord(api), calls...))
}

// twice bounds the attempts of an inference.
func twice(s *client.Start) { s.Definition.Attempts = 2 }

// failing is how an execution fails.
func failing(kind domain.Kind, code domain.Code, says ...string) ending {
	return ending{status: domain.StatusFailed, kind: kind, code: code, says: says}
}

// stopping is how an execution is stopped.
func stopping(reason domain.StopReason, says ...string) ending {
	return ending{status: domain.StatusStopped, reason: reason, says: says}
}
