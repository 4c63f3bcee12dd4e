package openaichat_test

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
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
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
	p, err := openaichat.New(openaichat.Config{BaseURL: url + "/v1", Key: wire.FixedKey("sk-test-0123456789")})
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
	typed, ok := errors.AsType[*domain.Error](err)
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
func theirs(t *testing.T, r recording) (_ said, refused bool) {
	t.Helper()
	var whole openai.ChatCompletion
	if r.isStream() {
		var acc openai.ChatCompletionAccumulator
		stream := ssestream.NewStream[openai.ChatCompletionChunk](ssestream.NewDecoder(&http.Response{
			Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(r.Response)),
		}), nil)
		for stream.Next() {
			if !acc.AddChunk(stream.Current()) {
				return said{}, true
			}
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
		return s, false
	}
	c := whole.Choices[0]
	s.Text, s.Finish = c.Message.Content, c.FinishReason
	if s.Text == "" {
		s.Text = c.Message.Refusal
	}
	for _, call := range c.Message.ToolCalls {
		if call.Type == "custom" {
			s.Calls = append(s.Calls, domain.ToolCall{ID: call.ID, Name: call.Custom.Name, Arguments: call.Custom.Input})
			continue
		}
		s.Calls = append(s.Calls, domain.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return s, false
}

func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	for _, r := range recordings(t, func(status int) bool { return status == 200 }) {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			answer, err := infer(t, serve(t, 200, nil, r.Response).URL, question())
			if code, ok := noAnswers[r.ID]; ok {
				require.NotNil(t, err)
				require.Equal(t, code, err.Code)
				require.True(t, err.Billed)
				return
			}
			require.Nil(t, err)
			require.Equal(t, plainly(t, r), ours(answer))
			sdk, refused := theirs(t, r)
			if _, wrong := sdkDiffers[r.ID]; wrong {
				require.True(t, refused || !assert.ObjectsAreEqual(sdk, ours(answer)), "the SDK agrees: drop the exception")
				return
			}
			require.False(t, refused, "the SDK refuses a chunk")
			require.Equal(t, sdk, ours(answer))
		})
	}
}

// TestCutRecordings cuts each recorded stream after each of its events. Before
// the finish reason nothing may pass for an answer; after it the answer is
// whole, whatever of the usage and the end marker is missing.
func TestCutRecordings(t *testing.T) {
	t.Parallel()
	for _, r := range recordings(t, func(status int) bool { return status == 200 }) {
		if _, ok := noAnswers[r.ID]; ok || !r.isStream() {
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			var body atomic.Pointer[string]
			server := serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, *body.Load())
			})
			p := provider(t, server.URL)
			cuts := boundaries(r.Response)
			require.NotEmpty(t, cuts)
			var whole int
			for _, cut := range append([]int{0}, cuts...) {
				head := r.Response[:cut]
				body.Store(&head)
				answer, err := p.Infer(t.Context(), question(), func(inference.Delta) {})
				if finished.MatchString(head) {
					whole++
					require.NoError(t, err, "cut at %d", cut)
					require.Equal(t, plainly(t, r).Text, answer.Message.Text())
					require.Equal(t, plainly(t, r).Calls, answer.Message.ToolCalls)
					continue
				}
				failed, ok := errors.AsType[*domain.Error](err)
				require.True(t, ok, "cut at %d passes for an answer", cut)
				require.Equal(t, domain.CodeMalformed, failed.Code)
				require.True(t, failed.Billed)
				require.True(t, answer.Partial)
				require.Empty(t, answer.Message.ToolCalls)
			}
			require.Positive(t, whole, "no cut was behind the finish reason")
		})
	}
}

// finished finds a finish reason in a stream.
var finished = regexp.MustCompile(`"finish_reason": ?"[a-z_]+"`)

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

// TestRecordedErrors reads the errors that real servers sent.
func TestRecordedErrors(t *testing.T) {
	t.Parallel()
	for _, r := range recordings(t, func(status int) bool { return status != 200 }) {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			_, err := infer(t, serve(t, r.Status, nil, r.Response).URL, question())
			require.NotNil(t, err)
			require.Equal(t, strings.Contains(r.Response, "tool_use_failed"), err.Billed)
			switch {
			case r.Status == 401:
				require.Equal(t, domain.CodeAuth, err.Code)
				require.NotContains(t, err.Message, "*")
			case r.Status == 404:
				require.Equal(t, domain.CodeModelNotFound, err.Code)
			case r.Status == 429:
				require.Equal(t, domain.Throttled, err.Kind)
			case longContext.MatchString(r.Response):
				require.Equal(t, domain.CodeContextOverflow, err.Code)
				require.Equal(t, domain.TooLarge, err.Kind)
			case !err.Billed:
				require.Equal(t, domain.Invalid, err.Kind)
				require.Empty(t, err.Code)
			}
		})
	}
}

var longContext = regexp.MustCompile(`too long|context length`)
