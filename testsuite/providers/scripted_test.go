package providers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/scripted"
	"everstep/domain"
)

// TestScripted holds the parts of the suite against the scripted provider that
// need no server.
func TestScripted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "script.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`
turns:
  - {text: hello there, reasoning: hm, usage: {input_tokens: 100, output_tokens: 50, cache_read_tokens: 60, reasoning_tokens: 20}}
  - {tool_calls: [{name: weather, arguments: {city: Paris}}, {name: clock, arguments: {zone: UTC}}]}
  - {text: I will not, finish_reason: refusal}
  - {text: hello, finish_reason: content_filter}
  - text: hello there
    reasoning: hm
    tool_calls: [{name: clock}]
    failures: [{status: 401}, {status: 404}, {status: 429, retry_after: 3}, {status: 429, code: insufficient_quota}, {status: 500}, {status: 529}, {status: 400, code: context_length_exceeded}, {cut_after: 5}, {status: 504}, {status: 402}, {cut_after: 99, message: the wire broke}]
  - {text: a long answer, reasoning: hm, delay: 1h}
`), 0o600))
	at := func(number, attempt int) inference.Call {
		return inference.Call{
			Config:    domain.LLMConfig{Provider: scripted.Name, Model: path},
			Messages:  []domain.Message{domain.UserMessage("hello")},
			Inference: number, Attempt: attempt,
		}
	}
	provider := scripted.New()
	for number, want := range map[int]struct {
		text   string
		finish domain.FinishReason
		calls  int
		tokens int64
	}{
		0: {"hello there", domain.FinishStop, 0, 150},
		1: {"", domain.FinishToolCalls, 2, 0},
		2: {"I will not", domain.FinishRefusal, 0, 0},
		3: {"hello", domain.FinishContentFilter, 0, 0},
	} {
		o := Attempt(t.Context(), t, provider, at(number, 1), nil)
		require.Nil(t, o.Err)
		require.Equal(t, want.text, o.Answer.Message.Text())
		require.Equal(t, want.finish, o.Answer.Response.Finish)
		require.Len(t, o.Answer.Message.ToolCalls, want.calls)
		require.Equal(t, want.tokens, o.Answer.Response.Usage.TotalTokens())
	}
	for k, want := range []struct {
		kind   domain.Kind
		code   domain.Code
		after  time.Duration
		billed bool
		text   string
	}{
		{kind: domain.Denied, code: domain.CodeAuth},
		{kind: domain.Invalid, code: domain.CodeModelNotFound},
		{kind: domain.Throttled, after: 3 * time.Second},
		{kind: domain.Denied, code: domain.CodeQuota},
		{kind: domain.Unavailable},
		{kind: domain.Unavailable},
		{kind: domain.TooLarge, code: domain.CodeContextOverflow},
		{kind: domain.Unavailable, code: domain.CodeMalformed, billed: true, text: "hello"},
		{kind: domain.Unavailable, billed: true},
		{kind: domain.Denied, code: domain.CodeQuota},
		{kind: domain.Unavailable, code: domain.CodeMalformed, billed: true, text: "hello there"},
	} {
		o := Attempt(t.Context(), t, provider, at(4, k+1), nil)
		require.NotNil(t, o.Err)
		require.Equal(t, want.kind, o.Err.Kind)
		require.Equal(t, want.code, o.Err.Code)
		require.Equal(t, want.after, o.Err.RetryAfter)
		require.Equal(t, want.billed, o.Err.Billed)
		require.Equal(t, want.text, o.Answer.Message.Text())
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	o := Attempt(ctx, t, provider, at(5, 1), func(inference.Delta) { cancel(errors.New("stop")) })
	require.NotNil(t, o.Err, "it does not play for an hour")
	require.True(t, o.Err.Billed)
	o = Attempt(ctx, t, provider, at(5, 1), nil)
	require.NotNil(t, o.Err)
	require.Zero(t, o.Sent, "its context had ended")

	for range 16 {
		t.Run("at once", func(t *testing.T) {
			t.Parallel()
			require.Nil(t, Attempt(t.Context(), t, provider, at(0, 1), nil).Err)
		})
	}
}
