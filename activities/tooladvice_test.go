package activities_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

// TestCallToolAdvice: what a tool's error says of a further call decides whether there is one, and
// the model reads it.
func TestCallToolAdvice(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	const wait = 20 * time.Second
	const later, others, never = "no; it may work in 20s", "no; with these arguments it fails again, with others it may work", "no; it fails again whatever the arguments: do not call it again"
	for name, test := range map[string]struct {
		err     error
		effect  domain.Effect
		attempt int32
		// again means that the server is to try once more, after so many milliseconds.
		again   bool
		message string
		kind    domain.Kind
		// unbegun means that the workflow makes the call again, after so many milliseconds.
		unbegun bool
		after   int64
	}{
		"later":                       {tool.RetryLater(no, wait), domain.ReadOnly, 1, true, "no", domain.Unavailable, false, 20_000},
		"later, and too often":        {tool.RetryLater(no, wait), domain.ReadOnly, 3, false, later, domain.Unavailable, false, 0},
		"later, at most once":         {tool.RetryLater(no, wait), domain.AtMostOnce, 1, false, later, domain.Unavailable, false, 0},
		"later, not begun":            {tool.NotStarted(tool.RetryLater(no, wait)), domain.AtMostOnce, 1, false, later, domain.Unavailable, true, 20_000},
		"much later, not begun":       {tool.RetryLater(tool.NotStarted(no), 48*time.Hour), domain.AtMostOnce, 1, false, "no; it may work in 48h0m0s", domain.Unavailable, true, 3_600_000},
		"later, nobody knows when":    {tool.RetryLater(no, 0), domain.AtMostOnce, 1, false, "no; it may work later", domain.Unavailable, false, 0},
		"an error of ours that waits": {&domain.Error{Kind: domain.Throttled, Message: "no", RetryAfter: 20 * time.Second}, domain.ReadOnly, 3, false, later, domain.Throttled, false, 0},
		"other arguments":             {fmt.Errorf("no%w", tool.OtherArguments(errors.New(""))), domain.ReadOnly, 1, false, others, domain.Invalid, false, 0},
		"other arguments, throttled":  {tool.OtherArguments(domain.Errorf(domain.Throttled, "no")), domain.ReadOnly, 1, false, others, domain.Invalid, false, 0},
		"never":                       {tool.GiveUp(domain.Errorf(domain.Unavailable, "no")), domain.Keyed, 1, false, never, domain.Denied, false, 0},
		"nothing":                     {no, domain.ReadOnly, 1, false, "no", domain.Invalid, false, 0},
		"not begun":                   {tool.NotStarted(no), domain.AtMostOnce, 1, false, "no", domain.Unavailable, true, 0},
		"not begun, repeatable":       {tool.NotStarted(no), domain.ReadOnly, 1, true, "no", domain.Unavailable, false, 0},
		"not begun, and hopeless":     {tool.NotStarted(domain.Invalidf("no")), domain.AtMostOnce, 1, false, "no", domain.Invalid, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := benchOf(fake(test.effect, failing(test.err)))
			b.attempt = test.attempt
			if test.again {
				_, err := b.call(t, request("fake", test.effect))
				app, own := failureOf(t, err)
				require.False(t, app.NonRetryable())
				require.Equal(t, string(test.kind), app.Type())
				require.Equal(t, test.message, own.Message)
				require.Equal(t, test.after, app.NextRetryDelay().Milliseconds())
				return
			}
			reply := b.run(t)
			require.Equal(t, test.message, reply.Content)
			require.Equal(t, test.kind, reply.Error.Kind)
			require.Equal(t, test.unbegun, reply.NotStarted)
			require.Equal(t, test.after, reply.RetryAfterMillis)
		})
	}
	for _, advise := range []func(error) error{tool.OtherArguments, tool.GiveUp, func(err error) error { return tool.RetryLater(err, 1) }} {
		require.NoError(t, advise(nil))
	}
}

// TestCallToolAttempts: the tool's own number takes the place of the usual one, within the agent's; those that Temporal
// makes count, and those that the workflow makes.
func TestCallToolAttempts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		attempts, agents, before int
		attempt                  int32
		again                    bool
	}{
		{5, 12, 0, 4, true}, {5, 12, 0, 5, false}, {1, 12, 0, 1, false}, {5, 4, 0, 4, false}, {0, 12, 0, 2, true}, {0, 12, 0, 3, false},
		{0, 2, 0, 1, true}, {0, 2, 1, 1, false}, {0, 12, 1, 1, true}, {0, 12, 2, 1, false},
	} {
		var options []tool.Option
		if test.attempts > 0 {
			options = append(options, tool.Attempts(test.attempts))
		}
		b := benchOf(fake(domain.ReadOnly, failing(domain.Errorf(domain.Unavailable, "busy")), options...))
		b.attempt = test.attempt
		in := request("fake", domain.ReadOnly)
		in.Tries, in.Attempts = test.agents, test.before
		reply, err := b.call(t, in)
		require.Equal(t, test.again, err != nil, "%+v", test)
		if err == nil {
			require.Equal(t, test.before+int(test.attempt), max(reply.Attempts, 1), "%+v", test)
		}
	}
}

// TestCallToolProgress: the newest of what a tool tells goes out with its heartbeats, bounded, on one
// line and without secrets.
func TestCallToolProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		beats := make(chan contract.Heartbeat, 100)
		b := benchOf(fake(domain.ReadOnly, func(ctx context.Context) (string, error) {
			tool.Progress(ctx, "never sent")
			tool.Progress(ctx, "1 of\n\t2 \xff "+canary)
			first := <-beats
			tool.Progress(ctx, strings.Repeat("x", 10_000))
			for {
				if second := <-beats; *second.Progress != *first.Progress {
					return fmt.Sprintf("%s, step %d: %s %s %d", first.Phase, first.Step, first.Progress.Tool, first.Progress.Text, len(second.Progress.Text)), nil
				}
			}
		}))
		b.config.Secrets = oneSecret{}
		b.beats = func(beat contract.Heartbeat) { beats <- beat }
		require.Equal(t, "running, step 3: fake 1 of 2 \uFFFD [hidden] 200", b.run(t).Content)
	})
}

// TestCallToolHeartbeat: a tool that must tell of its progress is ended where it tells of none, and not
// where it does.
func TestCallToolHeartbeat(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		effect domain.Effect
		run    func(context.Context) (string, error)
		want   string
	}{
		"tells": {domain.AtMostOnce, func(ctx context.Context) (string, error) {
			for range 10 {
				<-time.After(900 * time.Millisecond)
				tool.Progress(ctx, "on it")
			}
			return "done", ctx.Err()
		}, "done"},
		"hangs":               {domain.ReadOnly, obedient, "the tool fake told of no progress for 1s, which is longer than it may"},
		"hangs, at most once": {domain.AtMostOnce, obedient, "outcome unknown: it told of no progress for 1s, which is longer than it may; the call of fake may or may not have taken effect, and was not repeated"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := benchOf(fake(test.effect, test.run, tool.Heartbeat(time.Second)))
			require.Equal(t, test.want, b.run(t).Content, name)
		})
	}
}
