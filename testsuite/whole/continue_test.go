package whole_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// longScript is a script of n steps that call a tool and one that answers.
func longScript(t testing.TB, n, times int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("turns:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {text: 'step %d', tool_calls: [{name: echo, arguments: {text: 'call %d', times: %d}}], usage: {input_tokens: 10, output_tokens: 2}}\n", i+1, i+1, times)
	}
	b.WriteString("  - {text: 'All done. {{ result \"echo\" }}', usage: {input_tokens: 10, output_tokens: 2}}\n")
	return writeScript(t, b.String())
}

func writeScript(t testing.TB, yaml string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.yaml")
	require.NoError(t, os.WriteFile(path, []byte(yaml), 0o600))
	return path
}

// echo is an idempotent tool.
func echo() tool.Tool {
	type args struct {
		Text string `json:"text"`
		// Times says how often.
		Times int `json:"times,omitempty"`
	}
	return tool.New("echo", "Says it again.", domain.Idempotent, func(_ context.Context, a args) (string, error) {
		return strings.Repeat("echo: "+a.Text, max(a.Times, 1)), nil
	})
}

// TestContinueAsNewInTheMiddle runs an execution over several runs of the
// workflow, with the cache of transcripts emptied in between.
func TestContinueAsNewInTheMiddle(t *testing.T) {
	t.Parallel()
	const steps = 40
	s := startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{echo()}})
	ctx, long := within(t), s.named("long")
	begun, err := s.agents.Start(ctx, client.Start{ID: long, Prompt: "go", Definition: scripted(longScript(t, steps, 1), "echo")})
	require.NoError(t, err)
	for event, err := range s.agents.Follow(ctx, long, client.FollowOptions{}) {
		require.NoError(t, err)
		if event.Type == client.EventContinued {
			s.worker.Forget()
		}
	}
	result, err := s.agents.Wait(ctx, long, 1)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status, "%v", result.Error)
	require.Equal(t, steps+1, result.Outcome.Steps)
	require.Equal(t, "All done. echo: call 40", result.Answer)

	status, err := s.agents.Status(ctx, long)
	require.NoError(t, err)
	require.Equal(t, steps+1, status.StepCount)
	require.Equal(t, begun.ExecutionID, status.ExecutionID)
	require.Greater(t, status.History.Runs, 2, "the execution ran over several runs")
	require.Equal(t, int64(12*(steps+1)), status.Usage.TotalTokens)

	all := collect(t, s.agents.Steps(ctx, long, 1))
	require.Len(t, all, steps+1)
	for i, step := range all {
		require.Equal(t, i+1, step.Step.Number)
	}
	messages := collect(t, s.agents.Messages(ctx, long))
	require.Len(t, messages, 2+2*steps)
	for i, m := range messages {
		require.Equal(t, i, m.Index)
	}
	require.Equal(t, "echo: call 7", messages[14].Message.ToolResult.Content)

	// The next execution sees the whole conversation, and the session goes on.
	again, err := s.agents.Send(ctx, long, client.SendOptions{Prompt: "and now?"})
	require.NoError(t, err)
	require.Equal(t, 2, again.Number)
	result, err = s.agents.Wait(ctx, long, 2)
	require.NoError(t, err)
	require.Equal(t, domain.StatusFailed, result.Outcome.Status, "the script has no further turn")
	first, err := s.agents.Result(ctx, long, 1)
	require.NoError(t, err)
	require.Equal(t, "All done. echo: call 40", first.Answer)
}

// TestWithoutStorage carries a small conversation in the input, and fails
// plainly where it has outgrown its carry.
func TestWithoutStorage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		times  int
		status domain.ExecutionStatus
		code   domain.Code
	}{
		{"small", 1, domain.StatusCompleted, ""},
		{"outgrown", 4_000, domain.StatusFailed, domain.CodeContextLost},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{echo()}, Storage: noStorage})
			ctx := within(t)
			begun, err := s.agents.Start(ctx, client.Start{Prompt: "go", Definition: scripted(longScript(t, 30, test.times), "echo")})
			require.NoError(t, err)
			result, err := s.agents.Wait(ctx, begun.ID, 0)
			require.NoError(t, err)
			require.Equal(t, test.status, result.Outcome.Status, "%v", result.Error)
			require.Equal(t, test.code, result.Outcome.Code)
		})
	}
}
