package providers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/domain/enum"
)

// Key is the key of every attempt. No error may hold it.
const Key = "sk-conformance-0123456789abcdef"

// An Outcome is what came of an attempt.
type Outcome struct {
	Answer inference.Answer
	// Err is nil where the answer is whole.
	Err    *domain.Error
	Deltas []inference.Delta
	// Sent is how often the provider said that it sends: once, or never.
	Sent int
}

// Text is what was told of the text as it came.
func (o Outcome) Text() string {
	return joined(o.Deltas, func(d inference.Delta) string { return d.Text })
}

func joined[T any](all []T, text func(T) string) string {
	var out strings.Builder
	for _, one := range all {
		out.WriteString(text(one))
	}
	return out.String()
}

// Attempt makes one attempt and checks what inference.Provider promises of every
// one, whatever comes of it. Then, which may be nil, is called with each delta.
func Attempt(ctx context.Context, t *testing.T, p inference.Provider, call inference.Call, then func(inference.Delta)) Outcome {
	t.Helper()
	w := &witness{t: t, then: then}
	sent := call.Sent
	call.Sent = func() {
		w.sent.Add(1)
		if sent != nil {
			sent()
		}
	}
	answer, err := p.Infer(ctx, call, w.emit)
	w.over.Store(true)
	o := Outcome{Answer: answer, Deltas: w.deltas, Sent: int(w.sent.Load())}
	require.LessOrEqual(t, o.Sent, 1, "an attempt is one request")
	require.Equal(t, o.Text(), answer.Message.Text(), "the deltas are the text")
	o.checkUsage(t)
	if err == nil {
		o.checkAnswer(t)
		return o
	}
	typed, ok := errors.AsType[*domain.Error](err)
	require.True(t, ok, "an error is a *domain.Error and not a %T: %v", err, err)
	o.Err = typed
	o.checkError(t, call.Config.Provider)
	return o
}

// A witness watches what a provider tells while it works. It needs no lock: the provider calls
// it from one goroutine at a time, or the race detector sees it.
type witness struct {
	t      *testing.T
	then   func(inference.Delta)
	busy   sync.Mutex
	sent   atomic.Int32
	over   atomic.Bool
	deltas []inference.Delta
}

func (w *witness) emit(d inference.Delta) {
	if !w.busy.TryLock() {
		w.t.Error("emit was called by two goroutines at once")
		return
	}
	defer w.busy.Unlock()
	if w.over.Load() {
		w.t.Error("emit was called after Infer had returned")
		return
	}
	if w.sent.Load() == 0 {
		w.t.Error("emit was called before Sent")
	}
	w.deltas = append(w.deltas, d)
	if w.then != nil {
		w.then(d)
	}
}

func (o Outcome) checkUsage(t *testing.T) {
	t.Helper()
	u := o.Answer.Response.Usage
	for _, count := range []int64{u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.ReasoningTokens} {
		require.GreaterOrEqual(t, count, int64(0))
	}
	require.LessOrEqual(t, u.CacheReadTokens+u.CacheWriteTokens, u.InputTokens, "the cache is part of the input")
	require.LessOrEqual(t, u.ReasoningTokens, u.OutputTokens, "reasoning is part of the output")
}

func (o Outcome) checkAnswer(t *testing.T) {
	t.Helper()
	require.Equal(t, 1, o.Sent, "the provider says when it sends")
	require.False(t, o.Answer.Partial)
	require.Equal(t, domain.RoleAssistant, o.Answer.Message.Role)
	require.Contains(t, enum.Known[domain.FinishReason](), o.Answer.Response.Finish)
	var told, called []string
	for _, d := range o.Deltas {
		if d.Tool != "" {
			told = append(told, d.Tool)
		}
	}
	for _, call := range o.Answer.Message.ToolCalls {
		called = append(called, call.Name)
	}
	if len(called) > 0 {
		require.Equal(t, called, told, "the deltas are the calls")
	}
	thought := joined(o.Deltas, func(d inference.Delta) string { return d.Reasoning })
	require.Equal(t, thought, joined(o.Answer.Message.Parts, func(p domain.Part) string {
		if p.Type == domain.PartReasoning {
			return p.Text
		}
		return ""
	}), "the deltas are the reasoning")
}

func (o Outcome) checkError(t *testing.T, provider string) {
	t.Helper()
	require.Contains(t, enum.Known[domain.Kind](), o.Err.Kind)
	if o.Err.Code != "" {
		require.Contains(t, enum.Known[domain.Code](), o.Err.Code)
	}
	require.NotEmpty(t, o.Err.Message)
	require.Equal(t, provider, o.Err.Source)
	require.NotContains(t, fmt.Sprintf("%s %+v", o.Err.Error(), *o.Err), Key, "no error holds the key")
	require.Empty(t, o.Answer.Message.ToolCalls, "no call of an answer that is not whole may run")
	for _, p := range o.Answer.Message.Parts {
		require.Empty(t, p.Signature, "what was cut is not sent back")
		require.Empty(t, p.Opaque, "what was cut is not sent back")
	}
	if o.Sent == 0 {
		require.False(t, o.Err.Billed, "what was not sent is not billed")
		require.Empty(t, o.Deltas)
		o.Answer.Partial = false
		require.Equal(t, inference.Answer{}, o.Answer, "nothing came")
		return
	}
	require.True(t, o.Answer.Partial)
}
