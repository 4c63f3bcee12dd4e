package activities_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

func TestCallTool(t *testing.T) {
	t.Parallel()
	var seen tool.Call
	var order []string
	b := benchOf(tool.New("greet", "", domain.ReadOnly, func(ctx context.Context, args struct {
		Name string `json:"name"`
	}) (string, error) {
		seen, _ = tool.ExecutionOf(ctx)
		order = append(order, "tool")
		return "hello " + args.Name, nil
	}))
	b.config.At = func(_ context.Context, boundary contract.Boundary) { order = append(order, string(boundary)) }
	b.attempt = 2
	in := request("greet", domain.ReadOnly)
	in.Arguments = `{"name":"Ada"}`
	reply := b.reply(t, in)
	require.Equal(t, "hello Ada", reply.Content)
	require.Nil(t, reply.Error)
	require.Equal(t, 2, reply.Attempts)
	require.Equal(t, tool.Call{ID: in.ID(), Key: in.ID().String(), ExecutionID: in.ExecutionID, Step: 3, Position: 2, Attempt: 2}, seen)
	require.Equal(t, []string{"before_effect", "tool", "after_effect"}, order)
}

func TestCallToolErrorsAreData(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		kind domain.Kind
		code domain.Code
		text string
	}{
		"plain error":                           {errors.New("no such city"), domain.Invalid, "", "no such city"},
		"error without text":                    {errors.New(""), domain.Invalid, "", "the tool fake failed and did not say why"},
		"typed error, wrapped":                  {fmt.Errorf("lookup: %w", domain.CodedErrorf(domain.Denied, domain.CodeAuth, "no access")), domain.Denied, domain.CodeAuth, "lookup: no access"},
		"kind and code that no reader knows":    {&domain.Error{Kind: "odd", Code: "odder", Message: "x"}, domain.Invalid, "", "x"},
		"unavailable, which is not tried again": {domain.Errorf(domain.Unavailable, "down"), domain.Unavailable, "", "down"},
		"not UTF-8":                             {errors.New("a\xffb"), domain.Invalid, "", "a\uFFFDb\n[what was not UTF-8 is replaced]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply := replyOf(t, domain.AtMostOnce, failing(c.err))
			require.Contains(t, reply.Content, c.text)
			require.Equal(t, domain.Error{Kind: c.kind, Code: c.code, Source: "fake", Message: c.text}, *reply.Error)
			require.False(t, reply.NotStarted)
		})
	}
	b := benchOf(fake(domain.ReadOnly, answering("")))
	reply := b.reply(t, request("other", domain.ReadOnly))
	require.Equal(t, []any{domain.Invalid, domain.CodeUnknownTool}, []any{reply.Error.Kind, reply.Error.Code})
	require.Contains(t, reply.Content, `unknown tool "other"; the tools are: fake`)
	require.True(t, reply.NotStarted)
	reply = b.reply(t, contract.ToolRequest{Name: "fake", Arguments: `{"a":`})
	require.Equal(t, []any{domain.Invalid, domain.CodeMalformed}, []any{reply.Error.Kind, reply.Error.Code})
	require.Contains(t, reply.Content, "arguments: the text is not JSON")
	require.False(t, reply.NotStarted)
}

func TestCallToolBoundsErrors(t *testing.T) {
	t.Parallel()
	reply := benchOf(fake(domain.ReadOnly, failing(errors.New(strings.Repeat("é", 1<<20))))).reply(t, request("fake", domain.ReadOnly))
	require.LessOrEqual(t, len(reply.Error.Message), 1000)
	require.True(t, utf8.ValidString(reply.Error.Message))
	require.LessOrEqual(t, len(reply.Content), domain.MaxToolResult)
	require.Contains(t, reply.Content, "of 2097152 bytes left out")
}

func TestCallToolSurvivesPanics(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(context.Context) (string, error){
		"panic":     func(context.Context) (string, error) { panic("secret of the tool") },
		"nil panic": func(context.Context) (string, error) { panic(nil) },
		"goexit":    func(context.Context) (string, error) { runtime.Goexit(); return "", nil },
		"nil map":   func(context.Context) (string, error) { return "", fill(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply := replyOf(t, domain.Idempotent, run)
			require.Equal(t, domain.Internal, reply.Error.Kind)
			require.Equal(t, "the tool fake broke down: a fault of its own, not of the arguments", reply.Content)
			reply = replyOf(t, domain.AtMostOnce, run)
			require.Equal(t, domain.CodeOutcomeUnknown, reply.Error.Code)
			require.NotContains(t, reply.Content, "secret")
		})
	}
}

func TestCallToolBoundsResults(t *testing.T) {
	t.Parallel()
	brim := strings.Repeat("x", domain.MaxToolResult)
	for name, c := range map[string]struct{ content, holds string }{
		"exactly as long as may be":                   {brim, brim},
		"one byte more":                               {brim + "y", "of 65537 bytes left out …]\nx"},
		"not UTF-8, and too long with the note of it": {brim[10:] + "\xff", "bytes left out"},
		"not UTF-8":                                   {"a\xff\xfeb", "a\uFFFDb\n[what was not UTF-8 is replaced]"},
		"long and not UTF-8":                          {strings.Repeat("\xffa", 100_000), "a\n[what was not UTF-8 is replaced]"},
		"as long as a tool may return":                {strings.Repeat("x", domain.MaxToolOutput), "bytes left out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply := replyOf(t, domain.ReadOnly, answering(c.content))
			require.Nil(t, reply.Error)
			require.LessOrEqual(t, len(reply.Content), domain.MaxToolResult)
			require.True(t, utf8.ValidString(reply.Content))
			require.True(t, strings.Contains(reply.Content, c.holds), "%.100q", reply.Content)
		})
	}
	reply := replyOf(t, domain.ReadOnly, answering(strings.Repeat("x", 100<<20)))
	require.Equal(t, domain.TooLarge, reply.Error.Kind)
	require.Contains(t, reply.Content, "its result of 104857600 bytes is more than the 16777216")
}

func TestCallToolStop(t *testing.T) {
	t.Parallel()
	stopping := func(signal domain.StopSignal) *domain.StopSignal {
		b := benchOf(resulting(domain.ReadOnly, tool.Result{Content: "done", Stop: &signal}))
		return b.run(t).Stop
	}
	got := stopping(domain.StopSignal{Reason: domain.UserRequested, Source: "user", Message: "enough", Context: domain.Metadata{"a": []byte(`1`)}})
	require.Equal(t, &domain.StopSignal{Reason: domain.StopRequested, Source: "fake", Message: "enough", Context: domain.Metadata{"a": []byte(`1`)}}, got)

	got = stopping(domain.StopSignal{Message: "enough", Context: domain.Metadata{"a": []byte(`{`)}})
	require.Nil(t, got.Context)
	require.Contains(t, got.Message, "enough (its context is left out: it is not JSON")
	got = stopping(domain.StopSignal{Context: domain.Metadata{"a": []byte(`"` + strings.Repeat("x", 20_000) + `"`)}})
	require.Nil(t, got.Context)
	notes := domain.Metadata{"a": []byte(`"` + strings.Repeat("x", 16<<10-len(`{"a":""}`)) + `"`)}
	require.Equal(t, notes, stopping(domain.StopSignal{Context: notes}).Context, "as long as may be")
	require.Len(t, stopping(domain.StopSignal{Message: strings.Repeat("x", 10_000)}).Message, domain.MaxReason)
}

func TestCallToolNeverRepeatsAtMostOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ asked, own domain.Effect }{
		{domain.AtMostOnce, domain.AtMostOnce},
		{domain.AtMostOnce, domain.ReadOnly}, // it was stricter when the session began
		{domain.ReadOnly, domain.AtMostOnce}, // it has become stricter
		{"", domain.ReadOnly},
	} {
		t.Run(fmt.Sprintf("asked %q, own %q", c.asked, c.own), func(t *testing.T) {
			t.Parallel()
			b := benchOf(fake(c.own, func(context.Context) (string, error) {
				t.Error("the tool ran again")
				return "", nil
			}))
			b.attempt = 2
			reply := b.reply(t, request("fake", c.asked))
			require.Equal(t, domain.CodeOutcomeUnknown, reply.Error.Code)
			require.Contains(t, reply.Content, "may or may not have taken effect")
		})
	}
}

// TestCallToolCutShort by a stop or by its time: whether the tool heeds that or not.
func TestCallToolCutShort(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	hangs := func(context.Context) (string, error) { <-end; return "", nil }
	for name, c := range map[string]struct {
		effect        domain.Effect
		run           func(context.Context) (string, error)
		stopped, late domain.Code
	}{
		"obeys, repeatable":        {domain.Keyed, obedient, domain.CodeInterrupted, domain.CodeTimeout},
		"obeys, at-most-once":      {domain.AtMostOnce, obedient, domain.CodeOutcomeUnknown, domain.CodeOutcomeUnknown},
		"ignores it, repeatable":   {domain.ReadOnly, hangs, domain.CodeInterrupted, domain.CodeTimeout},
		"ignores it, at-most-once": {domain.AtMostOnce, hangs, domain.CodeOutcomeUnknown, domain.CodeOutcomeUnknown},
	} {
		// What the worker's own tool says of its time counted when it was resolved.
		b := benchOf(fake(c.effect, c.run, tool.Timeout(time.Hour)))
		b.endsAt(contract.BeforeEffect, temporal.NewCanceledError())
		reply := b.reply(t, request("fake", c.effect))
		require.Equal(t, c.stopped, reply.Error.Code, name)
		require.False(t, reply.NotStarted, name)
		b.parent, b.config.At, b.limit = context.Background(), nil, 10*time.Millisecond
		reply = b.reply(t, request("fake", c.effect))
		require.Equal(t, c.late, reply.Error.Code, name)
		if c.late == domain.CodeTimeout {
			require.Equal(t, "the tool fake took longer than it may", reply.Content)
		}
	}
	finishes := benchOf(fake(domain.AtMostOnce, func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "sent", nil
	}))
	finishes.config.CancelGrace = time.Minute
	finishes.endsAt(contract.BeforeEffect, temporal.NewCanceledError())
	reply := finishes.reply(t, request("fake", domain.AtMostOnce))
	require.Equal(t, "sent", reply.Content)
	require.Nil(t, reply.Error)

	unbegun := benchOf(fake(domain.AtMostOnce, func(context.Context) (string, error) {
		t.Error("the tool ran")
		return "", nil
	}))
	unbegun.parent = stopped()
	reply = unbegun.reply(t, request("fake", domain.AtMostOnce))
	require.Equal(t, domain.CodeNotRun, reply.Error.Code)
	require.True(t, reply.NotStarted)
}

// What ends a context and is no stop must not look like one.
func TestCallToolCutOffByTheServer(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{activity.ErrActivityPaused, activity.ErrActivityReset, errors.New("workflow execution already completed")} {
		cut := func(effect domain.Effect) *bench {
			b := benchOf(fake(effect, obedient))
			b.endsAt(contract.BeforeEffect, cause)
			return b
		}
		own := cut(domain.ReadOnly).failure(t, request("fake", domain.ReadOnly))
		require.Equal(t, domain.Unavailable, own.Kind, cause)
		require.Empty(t, own.Code, cause)
		require.Equal(t, domain.CodeOutcomeUnknown, cut(domain.AtMostOnce).reply(t, request("fake", domain.AtMostOnce)).Error.Code, cause)
	}
}

func TestCallToolShutdown(t *testing.T) {
	t.Parallel()
	shutDown := func(effect domain.Effect, run func(context.Context) (string, error)) *bench {
		b := benchOf(fake(effect, run))
		b.config.At = func(_ context.Context, at contract.Boundary) {
			if at == contract.BeforeEffect {
				close(b.stop)
			}
		}
		return b
	}
	own := shutDown(domain.Idempotent, obedient).failure(t, request("fake", domain.Idempotent))
	require.Equal(t, domain.CodeWorkerShutdown, own.Code)
	require.Equal(t, domain.Unavailable, own.Kind)
	reply := shutDown(domain.AtMostOnce, obedient).reply(t, request("fake", domain.AtMostOnce))
	require.Equal(t, domain.CodeOutcomeUnknown, reply.Error.Code)

	b := benchOf(fake(domain.ReadOnly, answering("")))
	close(b.stop)
	reply = b.reply(t, request("fake", domain.ReadOnly))
	require.True(t, reply.NotStarted)
	require.Equal(t, domain.CodeWorkerShutdown, reply.Error.Code)

	finishing := shutDown(domain.AtMostOnce, nil)
	finishing.config.ShutdownGrace = time.Minute
	finishing.config.Tools = []tool.Tool{fake(domain.AtMostOnce, func(ctx context.Context) (string, error) {
		<-finishing.stop
		return "done", ctx.Err()
	})}
	require.Equal(t, "done", finishing.reply(t, request("fake", domain.AtMostOnce)).Content, "a tool may finish")
}

func TestCallToolLongArguments(t *testing.T) {
	t.Parallel()
	long := `{"text":"` + strings.Repeat("x", 5000) + `"}`
	message := domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{Arguments: "{}"}, {Arguments: "{}"}, {Arguments: long}}}
	told := domain.Log{}.Append("messages", domain.UserMessage("hi"), domain.Digest{1}).Append("messages", message, domain.Digest{2})
	b := benchOf(tool.New("fake", "", domain.ReadOnly, func(_ context.Context, args struct {
		Text string `json:"text"`
	}) (string, error) {
		return fmt.Sprint(len(args.Text)), nil
	}))
	b.config.Transcripts.Cache.Feed("default-test-workflow-id", told, contract.Resolved{})
	in := request("fake", domain.ReadOnly)
	in.Reference = &contract.ArgumentsRef{Message: 1, Digest: domain.DigestOf([]byte(long))}
	reply := b.reply(t, in)
	require.Equal(t, "5000", reply.Content)
	require.Zero(t, reply.Attempts, "a first attempt is not counted")
}

// TestCallToolFirstBeat: a heartbeat is a write of the server's state, so a call
// makes none before it has taken 100 ms.
func TestCallToolFirstBeat(t *testing.T) {
	t.Parallel()
	for takes, want := range map[time.Duration]int{99 * time.Millisecond: 0, 101 * time.Millisecond: 1} {
		synctest.Test(t, func(t *testing.T) {
			b := benchOf(fake(domain.ReadOnly, func(context.Context) (string, error) {
				<-time.After(takes)
				return "done", nil
			}))
			var beats atomic.Int64
			b.beats = func(contract.Heartbeat) { beats.Add(1) }
			require.Equal(t, "done", b.run(t).Content)
			require.EqualValues(t, want, beats.Load(), takes)
		})
	}
}

// fill panics where the map is nil.
func fill(m map[string]int) error {
	m["a"] = 1
	return nil
}
