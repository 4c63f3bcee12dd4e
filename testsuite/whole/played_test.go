package whole_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/domain"
)

// A playedAPI says recorded answers as an API does, and reads what it is sent.
type playedAPI struct {
	name string
	// model begins the names of its models; the rest names the run.
	model string
	// calls are a step's as the API would have them: what it demands of ids.
	calls func(step int, recorded []recordedCall) []recordedCall
	play  func(playedAnswer) playedStream
	// inStream is an error in place of the next event, rate and broken are bodies of errors with status 429 and 500.
	inStream, rate, broken string
	// results is what a request holds once for each tool result.
	results string
	// read checks a request against what the API demands of its form.
	read func(body []byte) (playedRequest, error)
}

// adapters are the APIs that models speak, by the names of their first providers. All others speak one of these.
func adapters() map[string]wire.API {
	return map[string]wire.API{
		openaichat.Name: openaichat.APIs()[0], openai.Name: openai.API(), anthropic.Name: anthropic.API(), gemini.Name: gemini.API(),
	}
}

// openAdapter opens the adapter of a name.
func openAdapter(t testing.TB, name string, config wire.Config) inference.Provider {
	t.Helper()
	provider, err := wire.New(adapters()[name], config)
	require.NoError(t, err)
	return provider
}

// playedAPIs are those of all adapters, in an order that never changes.
func playedAPIs() []playedAPI {
	return []playedAPI{
		{
			name: openaichat.Name, model: "gpt-5-run-", calls: asRecorded, play: playChat, read: readChat,
			inStream: `data: {"error":{"message":"the engine is overloaded","type":"server_error","code":503}}` + "\n\n", results: `"role":"tool"`,
			rate: `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`, broken: `{"error":{"message":"not now","type":"server_error","code":null}}`,
		},
		{
			name: openai.Name, model: "gpt-5-run-", calls: asRecorded, play: playResponses, read: readResponses,
			inStream: named("error", `"code":"server_error","message":"try again","param":null`), results: `"type":"function_call_output"`,
			rate: `{"error":{"message":"slow down","type":"tokens","code":"rate_limit_exceeded"}}`, broken: `{"error":{"message":"not now","type":"server_error","code":null}}`,
		},
		{
			name: anthropic.Name, model: "claude-run-", calls: asRecorded, play: playMessages, read: readMessages,
			inStream: named("error", `"error":{"type":"overloaded_error","message":"Overloaded"}`), results: `"type":"tool_result"`,
			rate: `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, broken: `{"type":"error","error":{"type":"api_error","message":"not now"}}`,
		},
		{
			name: gemini.Name, model: "gemini-3-run-", calls: geminiCalls, play: playGemini, read: readGemini,
			inStream: `data: {"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}` + "\r\n\r\n", results: `"functionResponse"`,
			rate: `{"error":{"code":429,"message":"Resource exhausted.","status":"RESOURCE_EXHAUSTED"}}`, broken: `{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}`,
		},
	}
}

// asRecorded leaves the ids as they are: real models repeat them.
func asRecorded(_ int, recorded []recordedCall) []recordedCall { return recorded }

// A playedAnswer is what a model says.
type playedAnswer struct {
	// step counts from 0. By it the forms of answers differ.
	step int
	// seal is in all that the API wants back with reasoning.
	seal          string
	thought, text string
	calls         []recordedCall
	usage         domain.Usage
	// early says that the usage is told before all else, where the API has a
	// place for that.
	early bool
	// byWord says that each word is a piece of its own, else a text has two.
	byWord bool
}

// pieces are those in which a text comes.
func (a playedAnswer) pieces(text string) []string {
	if a.byWord {
		return strings.SplitAfter(text, " ")
	}
	one, two := halves(text)
	return []string{one, two}
}

// says is an answer in an API's form, and the part of it that is not yet a whole answer. It tells first that it cost tokensIn
// and tokensOut.
func (api playedAPI) says(text string, calls ...recordedCall) (whole, open string) {
	stream := api.play(playedAnswer{step: plain, text: text, calls: api.calls(plain, calls), usage: domain.Usage{InputTokens: tokensIn, OutputTokens: tokensOut}, early: true})
	for i, e := range stream.events {
		if whole += e.data; i < stream.end {
			open += e.data
		}
	}
	return whole, open
}

const (
	plain     = 8 // a step of which the forms have the least reasoning
	tokensIn  = 30
	tokensOut = 7
)

// A playedStream is an answer as it is sent.
type playedStream struct {
	events []playedEvent
	// order is what the model has said, piece by piece, as it has to be sent
	// back: see playedTurn.
	order []string
	// inCall is the event that holds the arguments of the first call; zero
	// where there are none. inText is the first with text, or thoughts, and end
	// the first without which the answer is not whole.
	inText, inCall, end int
}

// A playedEvent is one of a stream's.
type playedEvent struct {
	data string
	// thought and text are what it adds to an answer that is then cut.
	thought, text string
	// tool begins a call, arguments are of the newest.
	tool, arguments string
	// tells is the usage as it is known from then on. Zero: it says nothing.
	tells domain.Usage
}

// add appends an event.
func (s *playedStream) add(e playedEvent) { s.events = append(s.events, e) }

// A playedRequest is what a server was asked.
type playedRequest struct {
	model, system string
	tools         []string
	turns         []playedTurn
}

// A playedTurn is what one side said.
type playedTurn struct {
	role string
	// text is what a user or a tool says.
	text string
	// order is what the model has said: texts, calls and reasoning, the last as
	// it came.
	order []string
	// ids are those of the model's calls, or of the tool's one. Without any, an
	// API goes by the order.
	ids []string
}

// The pieces of what a model has said.
func saidText(text string) string { return textPiece + text }
func saidCall(name, arguments string) string {
	return callPiece + name + " " + arguments
}

// textPiece and callPiece begin the pieces of their kinds.
const (
	textPiece = "text: "
	callPiece = "call: "
)

func saidOpaque(kind, raw string) string { return kind + ": " + spelled.Replace(raw) }

// spelled takes back the one thing that recording may change in an opaque JSON
// value: how encoding/json spells the characters that mean something in HTML.
var spelled = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// conversation checks what all APIs demand: the user begins; each call has
// exactly one result, directly after the turn that asked for it; no id is used
// twice; and there is a word of the user or of a tool to answer.
func (r playedRequest) conversation() error {
	if len(r.turns) == 0 || r.turns[0].role != "user" {
		return fmt.Errorf("the conversation does not begin with the user")
	}
	if last := r.turns[len(r.turns)-1].role; last == "assistant" {
		return fmt.Errorf("the conversation ends with the model")
	}
	used, waiting := map[string]bool{}, []string(nil)
	for i, turn := range r.turns {
		switch turn.role {
		case "tool":
			if len(waiting) == 0 || len(turn.ids) != 1 || waiting[0] != turn.ids[0] {
				return fmt.Errorf("turn %d is the result of %q; waiting are %q", i, turn.ids, waiting)
			}
			waiting = waiting[1:]
		case "user", "assistant":
			if len(waiting) > 0 {
				return fmt.Errorf("turn %d comes before the results of %q", i, waiting)
			}
			if turn.role == "assistant" && len(turn.order) == 0 || turn.role == "user" && turn.text == "" {
				return fmt.Errorf("turn %d is empty", i)
			}
			waiting = turn.ids
		default:
			return fmt.Errorf("turn %d is of role %q", i, turn.role)
		}
		if turn.role == "assistant" {
			for _, id := range turn.ids {
				if id != "" && used[id] {
					return fmt.Errorf("turn %d: a second call has the id %q", i, id)
				}
				used[id] = true
			}
		}
	}
	if len(waiting) > 0 {
		return fmt.Errorf("the calls %q have no result", waiting)
	}
	return nil
}

// quoted is a text as JSON, with no more escapes than JSON wants.
func quoted(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(text) != nil {
		return `""`
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// compact is a JSON value without what only people read.
func compact(raw []byte) string {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return string(raw)
	}
	return out.String()
}

// halves cuts a text in two, where a character begins.
func halves(text string) (string, string) {
	at := len(text) / 2
	for at < len(text) && text[at]&0xC0 == 0x80 {
		at++
	}
	return text[:at], text[at:]
}

// named is an event with its name in it.
func named(name, fields string) string {
	return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + strings.TrimSuffix(","+fields, ",") + "}\n\n"
}
