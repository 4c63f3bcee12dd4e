package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openai"
	"everstep/domain"
	"everstep/testsuite/providers"
)

const testKey = "sk-test-0123456789"

func provider(t testing.TB, url string) *wire.Client {
	t.Helper()
	p, err := wire.New(openai.API(), wire.Config{BaseURL: url + "/v1", Key: wire.FixedKey(testKey)})
	require.NoError(t, err)
	return p
}

func question() inference.Call {
	return inference.Call{
		Config:   domain.LLMConfig{Provider: openai.Name, Model: "m"},
		Messages: []domain.Message{domain.UserMessage("hello")},
	}
}

func infer(t *testing.T, url string, call inference.Call) (inference.Answer, *domain.Error) {
	t.Helper()
	return providers.Infer(t, provider(t, url), call)
}

// A said is what both decoders must agree on.
type said struct {
	ID, Model, Text, Thought string
	Finish                   domain.FinishReason
	Calls                    []domain.ToolCall
	Usage                    domain.Usage
}

func ours(a inference.Answer) said {
	s := said{a.Response.ID, a.Response.Model, a.Message.Text(), "", a.Response.Finish, a.Message.ToolCalls, a.Response.Usage}
	for _, p := range a.Message.Parts {
		if p.Type == domain.PartReasoning {
			s.Thought += p.Text
		}
	}
	return s
}

// theirs is what the official SDK makes of a body.
func theirs(t *testing.T, r providers.Recording) said {
	t.Helper()
	var whole responses.Response
	if r.IsStream() {
		stream := ssestream.NewStream[responses.ResponseStreamEventUnion](ssestream.NewDecoder(&http.Response{
			Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(r.Response)),
		}), nil)
		for stream.Next() {
			if e := stream.Current(); e.Type == "response.completed" {
				whole = e.Response
			}
		}
		require.NoError(t, stream.Err())
	} else {
		require.NoError(t, json.Unmarshal([]byte(r.Response), &whole))
	}
	u := whole.Usage
	s := said{ID: whole.ID, Model: whole.Model, Text: whole.OutputText(), Finish: domain.FinishStop, Usage: domain.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CacheReadTokens: u.InputTokensDetails.CachedTokens,
		CacheWriteTokens: u.InputTokensDetails.CacheWriteTokens, ReasoningTokens: u.OutputTokensDetails.ReasoningTokens,
	}}
	for _, item := range whole.Output {
		switch item := item.AsAny().(type) {
		case responses.ResponseFunctionToolCall:
			s.Calls, s.Finish = append(s.Calls, domain.ToolCall{ID: item.CallID, Name: item.Name, Arguments: item.Arguments}), domain.FinishToolCalls
		case responses.ResponseOutputMessage:
			for _, part := range item.Content {
				if part.Refusal != "" {
					s.Text, s.Finish = s.Text+part.Refusal, domain.FinishRefusal
				}
			}
		case responses.ResponseReasoningItem:
			var texts []string
			for _, part := range item.Summary {
				texts = append(texts, part.Text)
			}
			for _, part := range item.Content {
				texts = append(texts, part.Text)
			}
			s.Thought += strings.Join(texts, "\n\n")
		}
	}
	return s
}

// TestRecordedAnswers: what is read of each recording is what the SDK reads of
// it, and what was shown meanwhile is the same.
func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	for _, r := range providers.Recordings(t, "responses", true) {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			want := theirs(t, r)
			var text, thought strings.Builder
			whole, err := provider(t, providers.Serve(t, 200, nil, r.Response).URL).Infer(t.Context(), question(), func(d inference.Delta) {
				text.WriteString(d.Text)
				thought.WriteString(d.Reasoning)
			})
			require.NoError(t, err)
			require.Equal(t, want, ours(whole))
			require.False(t, whole.Partial)
			if r.IsStream() {
				require.Equal(t, want.Text, text.String())
				require.Equal(t, want.Thought, thought.String())
			}
		})
	}
}
