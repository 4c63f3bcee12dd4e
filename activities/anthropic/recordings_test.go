package anthropic_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

const testKey = "sk-ant-test-0123456789"

// A recording is an exchange with a real API.
type recording struct {
	ID       string            `json:"id"`
	API      string            `json:"api"`
	Status   int               `json:"status"`
	Response string            `json:"response"`
	Headers  map[string]string `json:"headers"`
}

// recordings returns the recorded messages that ended with a status.
func recordings(t *testing.T, keep func(status int) bool) []recording {
	t.Helper()
	data := os.Getenv("EVERSTEP_DATA")
	if data == "" {
		t.Skip("EVERSTEP_DATA is not set: the recorded messages are not checked")
	}
	file, err := os.Open(filepath.Join(data, "llm-recordings.jsonl.gz"))
	require.NoError(t, err)
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	var out []recording
	for lines := bufio.NewReader(unzipped); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var r recording
			require.NoError(t, json.Unmarshal(line, &r))
			if r.API == "messages" && keep(r.Status) {
				out = append(out, r)
			}
		}
		if err == io.EOF {
			require.NotEmpty(t, out)
			return out
		}
		require.NoError(t, err)
	}
}

func (r recording) isStream() bool { return !strings.HasPrefix(strings.TrimSpace(r.Response), "{") }

// serve answers every request with one body.
func serve(t *testing.T, status int, header http.Header, body string) string {
	t.Helper()
	return serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for key, values := range header {
			w.Header()[key] = values
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func serveFunc(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func provider(t *testing.T, url string) *anthropic.Provider {
	t.Helper()
	p, err := anthropic.New(anthropic.Config{Config: wire.Config{BaseURL: url, Key: wire.FixedKey(testKey)}})
	require.NoError(t, err)
	return p
}

func question() inference.Call {
	return inference.Call{
		Config:   domain.LLMConfig{Provider: anthropic.Name, Model: "claude-sonnet-4-5"},
		Messages: []domain.Message{domain.UserMessage("hello")},
	}
}

func infer(t *testing.T, url string, call inference.Call) (inference.Answer, *domain.Error) {
	t.Helper()
	answer, err := provider(t, url).Infer(t.Context(), call, func(inference.Delta) {})
	if err == nil {
		return answer, nil
	}
	typed, ok := errors.AsType[*domain.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	return answer, typed
}

// A said is what both decoders must agree on.
type said struct {
	ID, Model, Text, Finish                    string
	Thinking, Signatures                       []string
	Calls                                      []domain.ToolCall
	Input, Output, CacheRead, CacheWrite, Pure int64
}

func ours(a inference.Answer) said {
	r, u := a.Response, a.Response.Usage
	s := said{
		ID: r.ID, Model: r.Model, Text: a.Message.Text(), Finish: r.FinishWord, Calls: a.Message.ToolCalls,
		Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadTokens, CacheWrite: u.CacheWriteTokens, Pure: u.ReasoningTokens,
	}
	for _, p := range a.Message.Parts {
		if p.Signature != "" {
			s.Thinking, s.Signatures = append(s.Thinking, p.Text), append(s.Signatures, p.Signature)
		}
	}
	return s
}

// theirs is what the official SDK makes of a body.
func theirs(t *testing.T, r recording) said {
	t.Helper()
	var m sdk.Message
	if r.isStream() {
		stream := ssestream.NewStream[sdk.MessageStreamEventUnion](ssestream.NewDecoder(&http.Response{
			Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(r.Response)),
		}), nil)
		for stream.Next() {
			require.NoError(t, m.Accumulate(stream.Current()))
		}
		require.NoError(t, stream.Err())
	} else {
		require.NoError(t, json.Unmarshal([]byte(r.Response), &m))
	}
	s := said{
		ID: m.ID, Model: m.Model, Finish: string(m.StopReason), Output: m.Usage.OutputTokens,
		Input:     m.Usage.InputTokens + m.Usage.CacheReadInputTokens + m.Usage.CacheCreationInputTokens,
		CacheRead: m.Usage.CacheReadInputTokens, CacheWrite: m.Usage.CacheCreationInputTokens,
		Pure: m.Usage.OutputTokensDetails.ThinkingTokens,
	}
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			s.Text += b.Text
		case "thinking":
			s.Thinking, s.Signatures = append(s.Thinking, b.Thinking), append(s.Signatures, b.Signature)
		case "tool_use":
			s.Calls = append(s.Calls, domain.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		}
	}
	return s
}

// TestRecordedAnswers: the official SDK makes the same of every recording,
// without an exception.
func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	for _, r := range recordings(t, func(status int) bool { return status == 200 }) {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			answer, err := infer(t, serve(t, 200, nil, r.Response), question())
			require.Nil(t, err)
			require.Equal(t, theirs(t, r), ours(answer))
			require.NotEqual(t, domain.FinishReason(""), answer.Response.Finish)
		})
	}
}

// TestRecordedBytes: the pieces in which a body comes change nothing.
func TestRecordedBytes(t *testing.T) {
	t.Parallel()
	for _, r := range recordings(t, func(status int) bool { return status == 200 }) {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			whole, err := infer(t, serve(t, 200, nil, r.Response), question())
			require.Nil(t, err)
			slow, err := infer(t, serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
				body := r.Response[:min(len(r.Response), 4000)]
				for i := range len(body) {
					_, _ = io.WriteString(w, body[i:i+1])
					_ = http.NewResponseController(w).Flush()
				}
				_, _ = io.WriteString(w, r.Response[len(body):])
			}), question())
			require.Nil(t, err)
			require.Equal(t, whole, slow)
		})
	}
}

// TestCutRecordings cuts each recorded stream after each of its events. Nothing
// before message_stop may pass for an answer.
func TestCutRecordings(t *testing.T) {
	t.Parallel()
	for _, r := range recordings(t, func(status int) bool { return status == 200 }) {
		if !r.isStream() {
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			var body atomic.Pointer[string]
			p := provider(t, serveFunc(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, *body.Load()) }))
			response := strings.TrimRight(strings.ReplaceAll(r.Response, "\r\n", "\n"), "\n") + "\n\n"
			cuts := boundaries(response)
			require.Greater(t, len(cuts), 3)
			for _, cut := range append([]int{0}, cuts...) {
				head := response[:cut]
				body.Store(&head)
				answer, err := p.Infer(t.Context(), question(), func(inference.Delta) {})
				if cut == len(response) {
					require.NoError(t, err)
					require.False(t, answer.Partial)
					continue
				}
				failed, ok := errors.AsType[*domain.Error](err)
				require.True(t, ok, "cut at %d passes for an answer", cut)
				require.Equal(t, domain.CodeMalformed, failed.Code)
				require.True(t, failed.Billed)
				require.True(t, answer.Partial)
				require.Empty(t, answer.Message.ToolCalls)
				for _, p := range answer.Message.Parts {
					require.Empty(t, p.Opaque)
				}
			}
		})
	}
}

// boundaries are the places in a stream at which an event has ended.
func boundaries(body string) []int {
	var out []int
	for at := 0; ; {
		next := strings.Index(body[at:], "\n\n")
		if next < 0 {
			return out
		}
		at += next + 2
		out = append(out, at)
	}
}

// TestRecordedErrors reads the errors that the real server sent.
func TestRecordedErrors(t *testing.T) {
	t.Parallel()
	codes := map[int]domain.Code{400: "", 401: domain.CodeAuth, 404: domain.CodeModelNotFound}
	for _, r := range recordings(t, func(status int) bool { return status != 200 }) {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			_, err := infer(t, serve(t, r.Status, nil, r.Response), question())
			require.NotNil(t, err)
			code, known := codes[r.Status]
			require.True(t, known)
			require.Equal(t, code, err.Code)
			require.False(t, err.Kind.Retryable())
			require.False(t, err.Billed)
		})
	}
}
