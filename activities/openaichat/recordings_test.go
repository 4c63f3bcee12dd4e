package openaichat_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/testsuite/providers"
)

func provider(t *testing.T, url string) *wire.Client {
	t.Helper()
	p, err := wire.New(openaichat.Dialects()[0].API(), wire.Config{BaseURL: url + "/v1", Key: wire.FixedKey("sk-test-0123456789")})
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
	return providers.Infer(t, provider(t, url), call)
}

// ask asks the server at a URL the question.
func ask(t *testing.T, url string) (inference.Answer, *domain.Error) {
	t.Helper()
	return infer(t, url, question())
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
func theirs(t *testing.T, r providers.Recording) (_ said, refused bool) {
	t.Helper()
	var whole openai.ChatCompletion
	if r.IsStream() {
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
	for _, r := range providers.Recordings(t, "chat", true) {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			answer, err := infer(t, providers.Serve(t, 200, nil, r.Response).URL, question())
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

// TestRecordedErrors reads the errors that real servers sent.
func TestRecordedErrors(t *testing.T) {
	t.Parallel()
	for _, r := range providers.Recordings(t, "chat", false) {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			_, err := infer(t, providers.Serve(t, r.Status, nil, r.Response).URL, question())
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
