package anthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
	"everstep/testsuite/providers"
)

const testKey = "sk-ant-test-0123456789"

// serve answers every request with one body.
func serve(t *testing.T, status int, header http.Header, body string) string {
	t.Helper()
	return providers.Serve(t, status, header, body).URL
}

func serveFunc(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	return providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		handler(w, r)
	}).URL
}

func provider(t *testing.T, url string) *wire.Client {
	t.Helper()
	p, err := wire.New(anthropic.API(), wire.Config{BaseURL: url, Key: wire.FixedKey(testKey)})
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
	return providers.Infer(t, provider(t, url), call)
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
func theirs(t *testing.T, r providers.Recording) said {
	t.Helper()
	var m sdk.Message
	if r.IsStream() {
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
	for _, r := range providers.Recordings(t, "messages", true) {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			answer, err := infer(t, serve(t, 200, nil, r.Response), question())
			require.Nil(t, err)
			require.Equal(t, theirs(t, r), ours(answer))
			require.NotEqual(t, domain.FinishReason(""), answer.Response.Finish)
		})
	}
}
