package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

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
