package activities_test

import (
	"context"
	"encoding/json"
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

// TestCallToolGoesOnElsewhere: the handle is kept, and asked about at a pace that follows the time that it takes.
func TestCallToolGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	handle := json.RawMessage(`{"job":7}`)
	for name, test := range map[string]struct {
		told tool.Elsewhere
		// since is for how long it has gone on, zero: it begins; want is until it is asked about next.
		since, want time.Duration
	}{
		"begun":             {tool.Elsewhere{After: time.Minute}, 0, time.Minute},
		"at once":           {tool.Elsewhere{}, 0, time.Second},
		"back in time":      {tool.Elsewhere{After: -time.Hour}, 0, time.Second},
		"for an hour":       {tool.Elsewhere{After: time.Second}, time.Hour, 3 * time.Minute},
		"next year":         {tool.Elsewhere{After: 400 * 24 * time.Hour}, 0, 24 * time.Hour},
		"before it is gone": {tool.Elsewhere{After: time.Hour, Keeps: 10 * time.Minute}, 0, 9 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			told := test.told
			told.Handle, told.Status = handle, "half of it "+canary
			b := benchOf(fake(domain.AtMostOnce, func(context.Context) (string, error) { return "", tool.GoesOn(told) }))
			b.config.Secrets = oneSecret{}
			in := request("fake", domain.AtMostOnce)
			begun := time.Now().Add(-test.since).UTC()
			if test.since > 0 {
				in.Pending = &contract.Pending{Handle: handle, Since: begun}
			}
			reply := b.reply(t, in)
			require.NotNil(t, reply.Pending, name)
			require.JSONEq(t, string(handle), string(reply.Pending.Handle))
			require.True(t, begun.Equal(reply.Pending.Since), name)
			require.Equal(t, test.want, time.Until(reply.Pending.AskAt), name)
			require.NotContains(t, reply.Pending.Status, canary)
			require.Equal(t, domain.CodeOutcomeUnknown, reply.Error.Code, "where it is asked about no more")
		})
	}
	for _, handle := range []string{``, `{`, `"` + strings.Repeat("x", tool.MaxHandle) + `"`} {
		reply := benchOf(fake(domain.AtMostOnce, func(context.Context) (string, error) {
			return "", tool.GoesOn(tool.Elsewhere{Handle: json.RawMessage(handle)})
		})).run(t)
		require.Nil(t, reply.Pending)
		require.Equal(t, domain.CodeOutcomeUnknown, reply.Error.Code)
	}
}

// TestCallToolAsks what came of a call: what keeps it from hearing that is no end of it, unless the other side has
// forgotten it by then.
func TestCallToolAsks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err       error
		readOnly  bool
		takenBack bool
		// gone says that the other side may have forgotten it long ago.
		gone bool
		// asked: it is asked about again; else it ends, with this code or kind.
		asked bool
		code  domain.Code
		kind  domain.Kind
	}{
		"done":                          {},
		"not reached":                   {err: tool.NotStarted(errors.New("refused")), asked: true},
		"busy":                          {err: domain.Errorf(domain.Throttled, "busy"), readOnly: true, asked: true},
		"not reached for too long":      {err: domain.Errorf(domain.Unavailable, "away"), gone: true, code: domain.CodeOutcomeUnknown, kind: domain.Unavailable},
		"failed":                        {err: errors.New("no such order"), kind: domain.Invalid},
		"forgotten":                     {err: tool.OutcomeUnknown(errors.New("no such job")), code: domain.CodeOutcomeUnknown, kind: domain.Unavailable},
		"forgotten, read-only":          {err: tool.OutcomeUnknown(errors.New("no such job")), readOnly: true, kind: domain.Invalid},
		"taken back":                    {err: tool.GoesOn(tool.Elsewhere{Handle: json.RawMessage(`7`)}), takenBack: true, code: domain.CodeOutcomeUnknown, kind: domain.Unavailable},
		"taken back, read-only":         {err: tool.GoesOn(tool.Elsewhere{Handle: json.RawMessage(`7`)}), readOnly: true, takenBack: true, code: domain.CodeInterrupted, kind: domain.Unavailable},
		"taken back, not reached":       {err: tool.NotStarted(errors.New("refused")), takenBack: true, code: domain.CodeOutcomeUnknown, kind: domain.Unavailable},
		"taken back when it was done":   {takenBack: true},
		"taken back when it had failed": {err: errors.New("no such order"), takenBack: true, kind: domain.Invalid},
	} {
		synctest.Test(t, func(t *testing.T) {
			effect := domain.AtMostOnce
			if test.readOnly {
				effect = domain.ReadOnly
			}
			in := request("fake", effect)
			in.Pending, in.TakeBack = &contract.Pending{Handle: json.RawMessage(`7`), Since: time.Now().Add(-time.Hour)}, test.takenBack
			if test.gone {
				in.Pending.Until = time.Now().Add(-time.Hour)
			}
			ran := 0
			reply := benchOf(fake(effect, func(ctx context.Context) (string, error) {
				ran++
				call, _ := tool.ExecutionOf(ctx)
				require.Equal(t, `7`, string(call.Handle))
				require.Equal(t, test.takenBack, call.TakenBack)
				return "done", test.err
			})).reply(t, in)
			require.Equal(t, 1, ran, name)
			require.Equal(t, test.asked, reply.Pending != nil, name)
			if reply.Error != nil && !test.asked {
				require.Equal(t, []any{test.code, test.kind}, []any{reply.Error.Code, reply.Error.Kind}, name)
			}
			require.Equal(t, test.err == nil, reply.Error == nil, name)
		})
	}
	in := request("another", domain.AtMostOnce)
	in.Pending = &contract.Pending{Handle: json.RawMessage(`7`), Since: time.Now()}
	require.NotNil(t, benchOf().reply(t, in).Pending, "another worker may have the tool")
}

// TestCallToolWaits: a tool that wants to be called again has the workflow wait, within bounds, and is told
// when it is called again; what a stop leaves of it was not run.
func TestCallToolWaits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		after, want time.Duration
		wrong       string
	}{
		"an hour":         {time.Hour, time.Hour, ""},
		"past":            {-time.Hour, time.Second, ""},
		"at once":         {time.Millisecond, time.Second, ""},
		"the longest":     {tool.MaxWait, tool.MaxWait, ""},
		"beyond it":       {tool.MaxWait + time.Second, 0, "a call may wait so long at the most"},
		"beyond all time": {1<<63 - 1, 0, "a call may wait so long at the most"},
	} {
		for _, effect := range []domain.Effect{domain.ReadOnly, domain.AtMostOnce} {
			synctest.Test(t, func(t *testing.T) {
				reply := benchOf(fake(effect, func(context.Context) (string, error) {
					return "", fmt.Errorf("not yet: %w", tool.WaitUntil(time.Now().Add(test.after)))
				})).reply(t, request("fake", effect))
				if test.wrong != "" {
					require.Contains(t, reply.Content, test.wrong, name)
					require.Equal(t, domain.Invalid, reply.Error.Kind)
					require.False(t, reply.NotStarted)
					return
				}
				require.True(t, reply.NotStarted)
				require.Equal(t, domain.CodeNotRun, reply.Error.Code)
				require.True(t, time.Now().Add(test.want).Equal(reply.WaitUntil), "%s: %s", name, reply.WaitUntil)
				require.Contains(t, reply.Content, "not done: fake was to wait until ")
			})
		}
	}
	at := time.Date(2026, 11, 22, 18, 0, 0, 0, time.UTC)
	in := request("fake", domain.ReadOnly)
	in.WaitUntil, in.Note = at, json.RawMessage(`[1]`)
	reply := benchOf(fake(domain.ReadOnly, func(ctx context.Context) (string, error) {
		call, _ := tool.ExecutionOf(ctx)
		return fmt.Sprint(call.WaitedUntil.Equal(at), " ", string(call.Note)), nil
	})).reply(t, in)
	require.Equal(t, "true [1]", reply.Content)
}

// TestCallToolNotes: what the session is to keep is JSON of a bounded size without secrets.
func TestCallToolNotes(t *testing.T) {
	t.Parallel()
	for note, wrong := range map[string]bool{
		`{"a":"` + canary + `"}`: false, `[]`: false, ``: false, `{`: true, `"` + strings.Repeat("x", tool.MaxNote) + `"`: true,
	} {
		b := benchOf(tool.NewResult("fake", "", domain.ReadOnly, func(context.Context, struct{}) (tool.Result, error) {
			return tool.Result{Content: "done", Note: json.RawMessage(note)}, nil
		}, tool.Keeps("list")))
		b.config.Secrets = oneSecret{}
		reply := b.run(t)
		require.Equal(t, wrong, reply.Error != nil, note)
		require.NotContains(t, string(reply.Note), canary)
		if wrong {
			require.Contains(t, reply.Content, "it is not kept")
			require.Empty(t, reply.Note)
		}
	}
}
