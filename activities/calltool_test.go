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
	bogus := &domain.Error{Kind: "odd", Code: "odder", Message: "x"}
	for _, c := range []struct {
		name    string
		tool    tool.Tool
		request contract.ToolRequest
		kind    domain.Kind
		code    domain.Code
		text    string
	}{
		{"unknown", fake(domain.ReadOnly, answering("")), request("other", domain.ReadOnly), domain.Invalid, domain.CodeUnknownTool, `unknown tool "other"; the tools are: fake`},
		{"malformed arguments", fake(domain.ReadOnly, answering("")), contract.ToolRequest{Name: "fake", Arguments: `{"a":`}, domain.Invalid, domain.CodeMalformed, "arguments: the text is not JSON"},
		{"plain error", fake(domain.ReadOnly, failing(errors.New("no such city"))), request("fake", domain.ReadOnly), domain.Invalid, "", "no such city"},
		{"error without text", fake(domain.ReadOnly, failing(errors.New(""))), request("fake", domain.ReadOnly), domain.Invalid, "", "the tool fake failed and did not say why"},
		{"typed error, wrapped", fake(domain.ReadOnly, failing(fmt.Errorf("lookup: %w", domain.CodedErrorf(domain.Denied, domain.CodeAuth, "no access")))), request("fake", domain.ReadOnly), domain.Denied, domain.CodeAuth, "lookup: no access"},
		{"kind and code that no reader knows", fake(domain.ReadOnly, failing(bogus)), request("fake", domain.ReadOnly), domain.Invalid, "", "x"},
		{"unavailable, at-most-once", fake(domain.AtMostOnce, failing(domain.Errorf(domain.Unavailable, "down"))), request("fake", domain.AtMostOnce), domain.Unavailable, "", "down"},
		{"not UTF-8", fake(domain.ReadOnly, failing(errors.New("a\xffb"))), request("fake", domain.ReadOnly), domain.Invalid, "", "a\uFFFDb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			reply := benchOf(c.tool).reply(t, c.request)
			require.Contains(t, reply.Content, c.text)
			require.NotNil(t, reply.Error)
			require.Equal(t, c.kind, reply.Error.Kind)
			require.Equal(t, c.code, reply.Error.Code)
			require.Contains(t, reply.Error.Message, c.text)
			require.Equal(t, c.request.Name, reply.Error.Source)
			require.Equal(t, c.code == domain.CodeUnknownTool, reply.NotStarted)
		})
	}
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
	line := strings.Repeat("é", 50) + "\n"
	for _, c := range []struct {
		name, content string
		check         func(t *testing.T, content string)
	}{
		{"empty", "", func(t *testing.T, content string) { require.Empty(t, content) }},
		{"exactly as long as may be", strings.Repeat("x", domain.MaxToolResult), func(t *testing.T, content string) {
			require.Equal(t, strings.Repeat("x", domain.MaxToolResult), content)
		}},
		{"one byte more", strings.Repeat("x", domain.MaxToolResult) + "y", func(t *testing.T, content string) {
			require.Contains(t, content, "of 65537 bytes left out …]\nx")
			require.True(t, strings.HasSuffix(content, "xy"))
		}},
		{"not UTF-8, and too long with the note of it", strings.Repeat("x", domain.MaxToolResult-10) + "\xff", func(t *testing.T, content string) {
			require.Contains(t, content, "bytes left out")
		}},
		{"long", "begin\n" + strings.Repeat(line, 5000) + "end", func(t *testing.T, content string) {
			require.Greater(t, len(content), domain.MaxToolResult-200)
			require.True(t, strings.HasPrefix(content, "begin\n"))
			require.True(t, strings.HasSuffix(content, "\nend"))
			var dropped, whole int
			head, rest, _ := strings.Cut(content, "\n[… ")
			_, err := fmt.Sscanf(rest, "%d of %d bytes left out …]", &dropped, &whole)
			require.NoError(t, err)
			_, tail, _ := strings.Cut(rest, "…]\n")
			require.Equal(t, 505009, whole)
			require.Equal(t, whole, len(head)+dropped+len(tail))
		}},
		{"not UTF-8", "a\xff\xfeb", func(t *testing.T, content string) {
			require.Equal(t, "a\uFFFDb\n[what was not UTF-8 is replaced]", content)
		}},
		{"long and not UTF-8", strings.Repeat("\xffa", 100_000), func(t *testing.T, content string) {
			require.Contains(t, content, "bytes left out")
			require.True(t, strings.HasSuffix(content, "a\n[what was not UTF-8 is replaced]"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			reply := replyOf(t, domain.ReadOnly, answering(c.content))
			require.Nil(t, reply.Error)
			require.LessOrEqual(t, len(reply.Content), domain.MaxToolResult)
			require.True(t, utf8.ValidString(reply.Content))
			c.check(t, reply.Content)
		})
	}
	t.Run("as long as a tool may return", func(t *testing.T) {
		t.Parallel()
		reply := replyOf(t, domain.ReadOnly, answering(strings.Repeat("x", domain.MaxToolOutput)))
		require.Nil(t, reply.Error)
	})
	t.Run("100 MB", func(t *testing.T) {
		t.Parallel()
		reply := replyOf(t, domain.ReadOnly, answering(strings.Repeat("x", 100<<20)))
		require.Equal(t, domain.TooLarge, reply.Error.Kind)
		require.Contains(t, reply.Content, "its result of 104857600 bytes is more than the 16777216")
	})
}

func TestCallToolStop(t *testing.T) {
	t.Parallel()
	stopping := func(signal domain.StopSignal) *domain.StopSignal {
		b := benchOf(tool.NewResult("fake", "", domain.ReadOnly, func(context.Context, struct{}) (tool.Result, error) {
			return tool.Result{Content: "done", Stop: &signal}, nil
		}))
		return b.reply(t, request("fake", domain.ReadOnly)).Stop
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

func TestCallToolTriesAgain(t *testing.T) {
	t.Parallel()
	asked := domain.Errorf(domain.Throttled, "slow down")
	asked.RetryAfter = 7 * time.Second
	b := benchOf(fake(domain.Keyed, failing(fmt.Errorf("api: %w", asked))))
	for b.attempt = 1; b.attempt < 3; b.attempt++ {
		_, err := b.call(t, request("fake", domain.Keyed))
		app, _ := failureOf(t, err)
		require.False(t, app.NonRetryable())
		require.Equal(t, string(domain.Throttled), app.Type())
		require.Equal(t, 7*time.Second, app.NextRetryDelay())
	}
	reply := b.reply(t, request("fake", domain.Keyed))
	require.Equal(t, "api: slow down; it may work in 7s", reply.Content)
	require.Equal(t, domain.Throttled, reply.Error.Kind)
	require.Equal(t, 3, reply.Attempts)
}

func TestCallToolNotStarted(t *testing.T) {
	t.Parallel()
	refused := tool.NotStarted(errors.New("no connection"))
	reply := replyOf(t, domain.AtMostOnce, failing(refused))
	require.True(t, reply.NotStarted)
	require.Equal(t, domain.Unavailable, reply.Error.Kind)
	require.Equal(t, domain.Unavailable, benchRequestFailure(t, domain.ReadOnly, refused).Kind, "a repeatable call goes the usual way")

	hopeless := tool.NotStarted(domain.Errorf(domain.Invalid, "no such account"))
	reply = replyOf(t, domain.AtMostOnce, failing(hopeless))
	require.False(t, reply.NotStarted, "the same call would fail again")
	require.Equal(t, "no such account", reply.Content)
}

func benchRequestFailure(t *testing.T, effect domain.Effect, err error) domain.Error {
	t.Helper()
	b := benchOf(fake(effect, failing(err)))
	return b.failure(t, request("fake", effect))
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

func TestCallToolCancelled(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	stubborn := func(context.Context) (string, error) { <-hang; return "", nil }
	for _, c := range []struct {
		name   string
		effect domain.Effect
		run    func(context.Context) (string, error)
		code   domain.Code
	}{
		{"obeys, repeatable", domain.Keyed, obedient, domain.CodeInterrupted},
		{"obeys, at-most-once", domain.AtMostOnce, obedient, domain.CodeOutcomeUnknown},
		{"ignores it, repeatable", domain.ReadOnly, stubborn, domain.CodeInterrupted},
		{"ignores it, at-most-once", domain.AtMostOnce, stubborn, domain.CodeOutcomeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := benchOf(fake(c.effect, c.run))
			parent, cancel := context.WithCancelCause(context.Background())
			b.parent = parent
			b.config.At = func(_ context.Context, at contract.Boundary) {
				if at == contract.BeforeEffect {
					cancel(temporal.NewCanceledError())
				}
			}
			reply := b.reply(t, request("fake", c.effect))
			require.Equal(t, c.code, reply.Error.Code)
			require.False(t, reply.NotStarted)
		})
	}
	t.Run("finishes all the same", func(t *testing.T) {
		t.Parallel()
		b := benchOf(fake(domain.AtMostOnce, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "sent", nil
		}))
		parent, cancel := context.WithCancelCause(context.Background())
		b.parent = parent
		b.config.CancelGrace = time.Minute
		b.config.At = func(context.Context, contract.Boundary) { cancel(temporal.NewCanceledError()) }
		reply := b.reply(t, request("fake", domain.AtMostOnce))
		require.Equal(t, "sent", reply.Content)
		require.Nil(t, reply.Error)
	})
	t.Run("before it began", func(t *testing.T) {
		t.Parallel()
		b := benchOf(fake(domain.AtMostOnce, func(context.Context) (string, error) {
			t.Error("the tool ran")
			return "", nil
		}))
		parent, cancel := context.WithCancelCause(context.Background())
		cancel(temporal.NewCanceledError())
		b.parent = parent
		reply := b.reply(t, request("fake", domain.AtMostOnce))
		require.Equal(t, domain.CodeNotRun, reply.Error.Code)
		require.True(t, reply.NotStarted)
	})
}

// What ends a context and is no stop must not look like one.
func TestCallToolCutOffByTheServer(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{activity.ErrActivityPaused, activity.ErrActivityReset, errors.New("workflow execution already completed")} {
		t.Run(cause.Error(), func(t *testing.T) {
			t.Parallel()
			cut := func(effect domain.Effect) *bench {
				b := benchOf(fake(effect, obedient))
				parent, cancel := context.WithCancelCause(context.Background())
				b.parent = parent
				b.config.At = func(context.Context, contract.Boundary) { cancel(cause) }
				return b
			}
			own := cut(domain.ReadOnly).failure(t, request("fake", domain.ReadOnly))
			require.Equal(t, domain.Unavailable, own.Kind)
			require.Empty(t, own.Code)
			require.Equal(t, domain.CodeOutcomeUnknown, cut(domain.AtMostOnce).reply(t, request("fake", domain.AtMostOnce)).Error.Code)
		})
	}
}

func TestCallToolTimeout(t *testing.T) {
	t.Parallel()
	limited := func(effect domain.Effect, run func(context.Context) (string, error)) contract.ToolReply {
		// What the worker's own tool says counted when it was resolved.
		b := benchOf(fake(effect, run, tool.Timeout(time.Hour)))
		b.limit = 10 * time.Millisecond
		return b.reply(t, request("fake", effect))
	}
	reply := limited(domain.ReadOnly, obedient)
	require.Equal(t, domain.CodeTimeout, reply.Error.Code)
	require.Equal(t, "the tool fake took longer than it may", reply.Content)
	require.Equal(t, domain.CodeOutcomeUnknown, limited(domain.AtMostOnce, obedient).Error.Code)

	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	stubborn := func(context.Context) (string, error) { <-hang; return "", nil }
	require.Equal(t, domain.CodeTimeout, limited(domain.ReadOnly, stubborn).Error.Code)
	require.Equal(t, domain.CodeOutcomeUnknown, limited(domain.AtMostOnce, stubborn).Error.Code)

	b := benchOf(fake(domain.ReadOnly, obedient))
	b.timeout = 20 * time.Millisecond
	require.Equal(t, domain.CodeTimeout, b.reply(t, request("fake", domain.ReadOnly)).Error.Code, "before the server gives the activity up")
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

func TestCallToolBeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		beats := make(chan contract.Heartbeat, 100)
		b := benchOf(fake(domain.ReadOnly, func(context.Context) (string, error) {
			first := <-beats
			select {
			case <-beats:
				return fmt.Sprintf("%s, step %d", first.Phase, first.Step), nil
			case <-time.After(2 * time.Minute):
				return "", errors.New("only one heartbeat")
			}
		}))
		b.beats = func(beat contract.Heartbeat) { beats <- beat }
		require.Equal(t, "running, step 3", b.reply(t, request("fake", domain.ReadOnly)).Content)
	})
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
			require.Equal(t, "done", b.reply(t, request("fake", domain.ReadOnly)).Content)
			require.EqualValues(t, want, beats.Load(), takes)
		})
	}
}

// fill panics where the map is nil.
func fill(m map[string]int) error {
	m["a"] = 1
	return nil
}
