package activities_test

import (
	"context"
	"encoding/json"
	"errors"
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
		effect    domain.Effect
		takenBack bool
		// gone says that the other side may have forgotten it long ago.
		gone bool
		// asked: it is asked about again; else it ends, with this code or kind.
		asked bool
		code  domain.Code
		kind  domain.Kind
	}{
		"done":                          {nil, domain.AtMostOnce, false, false, false, "", ""},
		"not reached":                   {tool.NotStarted(errors.New("refused")), domain.AtMostOnce, false, false, true, "", ""},
		"busy":                          {domain.Errorf(domain.Throttled, "busy"), domain.ReadOnly, false, false, true, "", ""},
		"not reached for too long":      {domain.Errorf(domain.Unavailable, "away"), domain.AtMostOnce, false, true, false, domain.CodeOutcomeUnknown, domain.Unavailable},
		"failed":                        {errors.New("no such order"), domain.AtMostOnce, false, false, false, "", domain.Invalid},
		"forgotten":                     {tool.OutcomeUnknown(errors.New("no such job")), domain.AtMostOnce, false, false, false, domain.CodeOutcomeUnknown, domain.Unavailable},
		"forgotten, read-only":          {tool.OutcomeUnknown(errors.New("no such job")), domain.ReadOnly, false, false, false, "", domain.Invalid},
		"taken back":                    {tool.GoesOn(tool.Elsewhere{Handle: json.RawMessage(`7`)}), domain.AtMostOnce, true, false, false, domain.CodeOutcomeUnknown, domain.Unavailable},
		"taken back, read-only":         {tool.GoesOn(tool.Elsewhere{Handle: json.RawMessage(`7`)}), domain.ReadOnly, true, false, false, domain.CodeInterrupted, domain.Unavailable},
		"taken back, not reached":       {tool.NotStarted(errors.New("refused")), domain.AtMostOnce, true, false, false, domain.CodeOutcomeUnknown, domain.Unavailable},
		"taken back when it was done":   {nil, domain.AtMostOnce, true, false, false, "", ""},
		"taken back when it had failed": {errors.New("no such order"), domain.AtMostOnce, true, false, false, "", domain.Invalid},
	} {
		synctest.Test(t, func(t *testing.T) {
			in := request("fake", test.effect)
			in.Pending, in.TakeBack = &contract.Pending{Handle: json.RawMessage(`7`), Since: time.Now().Add(-time.Hour)}, test.takenBack
			if test.gone {
				in.Pending.Until = time.Now().Add(-time.Hour)
			}
			ran := 0
			reply := benchOf(fake(test.effect, func(ctx context.Context) (string, error) {
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
