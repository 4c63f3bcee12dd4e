package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
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

// event is one of a stream's, named as the API does.
func event(name, fields string) string {
	return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + strings.TrimSuffix(","+fields, ",") + "}\n\n"
}

func begin(index, block string) string {
	return event("content_block_start", `"index":`+index+`,"content_block":`+block)
}

func piece(index, delta string) string {
	return event("content_block_delta", `"index":`+index+`,"delta":`+delta)
}

func text(index, words string) string {
	return begin(index, `{"type":"text","text":""}`) + piece(index, `{"type":"text_delta","text":"`+words+`"}`) + event("content_block_stop", `"index":`+index)
}

func arguments(index, part string) string {
	data, _ := json.Marshal(part)
	return piece(index, `{"type":"input_json_delta","partial_json":`+string(data)+`}`)
}

// ended is how a stream ends for a reason.
func ended(reason string) string {
	return event("message_delta", `"delta":{"stop_reason":`+reason+`},"usage":{"output_tokens":7}`) + event("message_stop", "")
}

const (
	start = "event: message_start\ndata: " + `{"type":"message_start","message":{"id":"msg_1","model":"m-1","content":[],"stop_reason":null,"usage":{"input_tokens":3,"cache_read_input_tokens":20,"cache_creation_input_tokens":100,"output_tokens":1}}}` + "\n\n"
	toolF = `{"type":"tool_use","id":"toolu_f","name":"f","input":{}}`
	toolG = `{"type":"tool_use","id":"toolu_g","name":"g","input":{}}`
)

var whole = start + text("0", "hello") + ended(`"end_turn"`)

// FuzzAnswer: whatever a server sends, it is an answer that is whole or a typed
// error, and never a panic; and what was accepted can be sent back.
func FuzzAnswer(f *testing.F) {
	f.Add(whole)
	f.Add(start + begin("0", toolF) + arguments("0", `{"x":`) + ended(`"tool_use"`))
	f.Add(`{"type":"message","content":[{"type":"thinking","thinking":"x","signature":"y"},{"type":"tool_use"}],"stop_reason":"refusal"}`)
	f.Add(event("error", `"error":{"type":"overloaded_error","message":"busy"}`))
	var body atomic.Pointer[string]
	p, err := wire.New(anthropic.API(), wire.Config{BaseURL: serveFunc(f, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, *body.Load()) })})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, sent string) {
		body.Store(&sent)
		answer, err := p.Infer(t.Context(), question(), func(inference.Delta) {})
		if err != nil {
			_, typed := errors.AsType[*domain.Error](err)
			require.True(t, typed, "%T", err)
			require.True(t, answer.Partial)
			require.Empty(t, answer.Message.ToolCalls)
			return
		}
		require.Contains(t, strings.ToLower(sent), "stop_reason")
		call := question()
		call.Messages = append(call.Messages, answer.Message)
		again, err := p.Infer(t.Context(), call, func(inference.Delta) {})
		require.NoError(t, err, "what was accepted can be sent back")
		require.Equal(t, answer, again)
	})
}

// TestThinksUnheard: a model that thinks and shows nothing may take longer than a pause.
func TestThinksUnheard(t *testing.T) {
	t.Parallel()
	ping := event("ping", "")
	pieces := []string{start + begin("0", `{"type":"thinking","thinking":"","signature":""}`), ping, ping, ping, text("1", "hello") + ended(`"end_turn"`)}
	p, err := wire.New(anthropic.API(), wire.Config{BaseURL: providers.Slowly(t, 250*time.Millisecond, pieces...).URL, Timeouts: wire.Timeouts{Idle: 500 * time.Millisecond}})
	require.NoError(t, err)
	_, failed := providers.Infer(t, p, question())
	require.Nil(t, failed)
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
