package openaichat_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/openaichat"
	"everstep/domain"
)

// A recording is an exchange with a real API.
type recording struct {
	ID       string `json:"id"`
	API      string `json:"api"`
	Status   int    `json:"status"`
	Response string `json:"response"`
}

// recordings returns the recorded chats that ended with a status.
func recordings(t *testing.T, keep func(status int) bool) []recording {
	t.Helper()
	data := os.Getenv("EVERSTEP_DATA")
	if data == "" {
		t.Skip("EVERSTEP_DATA is not set: the recorded chats are not checked")
	}
	file, err := os.Open(filepath.Join(data, "llm-recordings.jsonl.gz"))
	require.NoError(t, err)
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	var out []recording
	lines := bufio.NewReader(unzipped)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var r recording
			require.NoError(t, json.Unmarshal(line, &r))
			if r.API == "chat" && keep(r.Status) {
				out = append(out, r)
			}
		}
		if err == io.EOF {
			return out
		}
		require.NoError(t, err)
	}
}

// isStream tells a stream from a body in one piece.
func (r recording) isStream() bool { return !strings.HasPrefix(strings.TrimSpace(r.Response), "{") }

// serve answers every request with one body.
func serve(t *testing.T, status int, header http.Header, body string) *httptest.Server {
	t.Helper()
	return serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for key, values := range header {
			w.Header()[key] = values
		}
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/json")
			if !strings.HasPrefix(strings.TrimSpace(body), "{") {
				w.Header().Set("Content-Type", "text/event-stream")
			}
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func serveFunc(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func provider(t *testing.T, url string) *openaichat.Provider {
	t.Helper()
	p, err := openaichat.New(openaichat.Config{BaseURL: url + "/v1", APIKey: "sk-test-0123456789"})
	require.NoError(t, err)
	return p
}

func question() inference.Call {
	return inference.Call{
		Config:   domain.LLMConfig{Provider: openaichat.Name, Model: "m"},
		Messages: []domain.Message{domain.UserMessage("hello")},
	}
}

func infer(t *testing.T, url string, call inference.Call) (inference.Answer, *domain.Error) {
	t.Helper()
	answer, err := provider(t, url).Infer(t.Context(), call, func(inference.Delta) {})
	if err == nil {
		return answer, nil
	}
	typed, ok := err.(*domain.Error)
	require.True(t, ok, "%T: %v", err, err)
	return answer, typed
}

// A said is what both decoders must agree on.
type said struct {
	Text, Finish  string
	Calls         []domain.ToolCall
	Input, Output int64
	Cached        int64
	Reasoning     int64
}

func ours(a inference.Answer) said {
	word := a.Response.FinishWord
	if word == "" {
		word = string(a.Response.Finish)
	}
	u := a.Response.Usage
	return said{a.Message.Text(), word, a.Message.ToolCalls, u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.ReasoningTokens}
}

// theirs is what the official SDK makes of a body.
func theirs(t *testing.T, r recording) said {
	t.Helper()
	var whole openai.ChatCompletion
	if r.isStream() {
		var acc openai.ChatCompletionAccumulator
		stream := ssestream.NewStream[openai.ChatCompletionChunk](ssestream.NewDecoder(&http.Response{
			Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(r.Response)),
		}), nil)
		for stream.Next() {
			require.True(t, acc.AddChunk(stream.Current()), "the SDK refuses a chunk")
		}
		require.NoError(t, stream.Err())
		whole = acc.ChatCompletion
	} else {
		require.NoError(t, json.Unmarshal([]byte(r.Response), &whole))
	}
	s := said{
		Input: whole.Usage.PromptTokens, Output: whole.Usage.CompletionTokens,
		Cached: whole.Usage.PromptTokensDetails.CachedTokens, Reasoning: whole.Usage.CompletionTokensDetails.ReasoningTokens,
	}
	if len(whole.Choices) == 0 {
		return s
	}
	c := whole.Choices[0]
	s.Text, s.Finish = c.Message.Content, c.FinishReason
	if s.Text == "" {
		s.Text = c.Message.Refusal
	}
	for _, call := range c.Message.ToolCalls {
		s.Calls = append(s.Calls, domain.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return s
}

func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	for _, r := range recordings(t, func(status int) bool { return status == 200 }) {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			answer, err := infer(t, serve(t, 200, nil, r.Response).URL, question())
			require.Nil(t, err)
			require.Equal(t, theirs(t, r), ours(answer))
		})
	}
}

// boundaries are the places in a stream after which an event has ended.
func boundaries(body string) []int {
	var out []int
	for at := 0; ; {
		next := bytes.Index([]byte(body[at:]), []byte("\n\n"))
		if next < 0 {
			return out
		}
		at += next + 2
		out = append(out, at)
	}
}

var _ = context.Background
