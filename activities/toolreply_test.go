package activities_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestCallToolKeepsItsTime: what the workflow gives is the tool's, less what it
// takes to say so before the server gives the activity up.
func TestCallToolKeepsItsTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ given, deadline, want time.Duration }{
		"as decided":               {given: time.Minute + domain.ReportTime, want: time.Minute},
		"capped by the server":     {given: 20 * time.Second, want: 10 * time.Second},
		"capped to the report":     {given: domain.ReportTime, want: domain.ReportTime / 2},
		"a deadline before":        {given: time.Minute + domain.ReportTime, deadline: 20 * time.Second, want: 16 * time.Second},
		"a deadline far off":       {given: time.Minute + domain.ReportTime, deadline: time.Hour, want: time.Minute},
		"a deadline soon":          {given: time.Minute + domain.ReportTime, deadline: 4 * time.Second, want: 2 * time.Second},
		"a deadline that has been": {given: time.Minute + domain.ReportTime, deadline: -time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var took time.Duration
				b := benchOf(fake(domain.ReadOnly, func(ctx context.Context) (string, error) {
					began := time.Now()
					<-ctx.Done()
					took = time.Since(began)
					return "", ctx.Err()
				}))
				b.config.CancelGrace = 3 * time.Second
				b.info = func(info *activity.Info) {
					info.StartToCloseTimeout, info.Deadline = test.given, time.Time{}
					if test.deadline != 0 {
						info.Deadline = time.Now().Add(test.deadline)
					}
				}
				require.Equal(t, domain.CodeTimeout, b.run(t).Error.Code)
				require.Equal(t, test.want, took)
			})
		})
	}
}

// warned hears what a worker warns of.
type warned struct {
	silent
	mu   sync.Mutex
	said []string
}

func (w *warned) Warn(what string, about ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, what+fmt.Sprint(about...))
}

// TestCallToolDetailsAreForOperators: they are logged, and told to nobody else.
func TestCallToolDetailsAreForOperators(t *testing.T) {
	t.Parallel()
	told := domain.Invalidf("no such account")
	told.Detail = "row 17 is locked"
	for name, c := range map[string]struct {
		err  error
		logs string
	}{"a detail": {told, "row 17 is locked"}, "none": {errors.New("no such account"), ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heard := &warned{}
			b := benchOf(fake(domain.ReadOnly, failing(c.err)))
			b.logger = heard
			reply := b.run(t)
			require.Equal(t, "no such account", reply.Content)
			if c.logs == "" {
				require.Empty(t, heard.said)
				return
			}
			require.Len(t, heard.said, 1)
			require.Contains(t, heard.said[0], c.logs)
		})
	}
}

// answersNothing is a workflow that tells nothing of its messages.
type answersNothing func() error

func (a answersNothing) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	return nil, a()
}

// TestAnotherTryThatIsStoppedBeforeItBegins: what came of the one before nobody knows.
func TestAnotherTryThatIsStoppedBeforeItBegins(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		b := benchOf(fake(domain.Idempotent, func(context.Context) (string, error) { return "", errors.New("the tool ran") }))
		in := request("fake", domain.Idempotent)
		if own {
			in.Attempts, in.Tries = 1, 12
		} else {
			b.attempt = 2
		}
		close(b.stop)
		require.Equal(t, domain.CodeWorkerShutdown, b.failure(t, in).Code, "it is tried again")
		b.stop = make(chan struct{})
		b.parent = stopped()
		reply := b.reply(t, in)
		require.Equal(t, domain.CodeInterrupted, reply.Error.Code)
		require.Contains(t, reply.Content, "may have taken effect")
		require.False(t, reply.NotStarted, "it is counted")
		require.Equal(t, 2, reply.Attempts)
	}
}

// TestAnotherTryWhereTheToolIsLacking: the one before may have taken effect on a worker
// that was lost.
func TestAnotherTryWhereTheToolIsLacking(t *testing.T) {
	t.Parallel()
	b := benchOf()
	in := request("gone", domain.Idempotent)
	in.Attempts, in.Tries = 1, 3
	own := b.failure(t, in)
	require.Equal(t, domain.Unavailable, own.Kind, "it is tried again")
	require.Equal(t, domain.CodeUnknownTool, own.Code)
	in.Attempts = 2
	reply := b.reply(t, in)
	require.Equal(t, domain.CodeUnknownTool, reply.Error.Code)
	require.False(t, reply.NotStarted, "it is counted")
	require.Equal(t, 3, reply.Attempts)
	once := request("gone", domain.AtMostOnce)
	once.Attempts = 1
	reply = b.reply(t, once)
	require.Equal(t, domain.CodeOutcomeUnknown, reply.Error.Code)
	require.False(t, reply.NotStarted)
}

// TestAnotherTryWhereTheArgumentsAreNotTold: the worker that was asked for them is of another version.
func TestAnotherTryWhereTheArgumentsAreNotTold(t *testing.T) {
	t.Parallel()
	b := benchOf(fake(domain.Idempotent, func(context.Context) (string, error) {
		t.Error("the tool ran")
		return "", nil
	}))
	b.config.Transcripts.Client = answersNothing(func() error { return serviceerror.NewQueryFailed("it cannot replay this") })
	in := request("fake", domain.Idempotent)
	in.Reference, in.Attempts, in.Tries = &contract.ArgumentsRef{Message: 1}, 1, 3
	own := b.failure(t, in)
	require.Equal(t, domain.Unavailable, own.Kind)
	require.False(t, own.Lacking, "which is not tried again")
}

// TestCallToolWithoutItsArguments runs nothing, and says why: what was stopped
// meanwhile was not run, whatever else went wrong.
func TestCallToolWithoutItsArguments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stopped bool
		code    domain.Code
		logs    bool
	}{"gone": {code: domain.CodeContextLost, logs: true}, "stopped meanwhile": {stopped: true, code: domain.CodeNotRun}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent, cancel := context.WithCancelCause(context.Background())
			heard := &warned{}
			b := benchOf(fake(domain.AtMostOnce, func(context.Context) (string, error) {
				t.Error("the tool ran")
				return "", nil
			}))
			b.parent, b.logger = parent, heard
			b.config.Transcripts.Client = answersNothing(func() error {
				if c.stopped {
					cancel(temporal.NewCanceledError())
				}
				return serviceerror.NewNotFound("the run of somebody")
			})
			in := request("fake", domain.AtMostOnce)
			in.Reference = &contract.ArgumentsRef{Message: 1}
			reply := b.reply(t, in)
			require.Equal(t, c.code, reply.Error.Code)
			require.Equal(t, c.stopped, reply.NotStarted, "what can be asked for again")
			require.Equal(t, c.logs, len(heard.said) == 1, "%v", heard.said)
		})
	}
}
