package whole_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
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

// overRuns is a stack whose executions go on in another run after a few steps, with the tool echo.
func overRuns(t testing.TB) *stack {
	t.Helper()
	return startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{echo()}})
}

// TestContinueAsNewInTheMiddle runs an execution over several runs of the workflow, with the cache of transcripts emptied in
// between. What was followed meanwhile is read again when it has ended.
func TestContinueAsNewInTheMiddle(t *testing.T) {
	t.Parallel()
	const steps = 40
	s := overRuns(t)
	ctx, long := within(t), s.named("long")
	begun := s.starts(t, client.Start{ID: long, Prompt: "go", Definition: scripted(longScript(t, steps, 1), "echo")})
	var followed []domain.Event
	for event, err := range s.agents.Follow(ctx, long, client.FollowOptions{}) {
		require.NoError(t, err)
		switch {
		case event.Recorded.Type != "":
			followed = append(followed, event.Recorded)
		case event.Type == client.EventContinued:
			s.worker.Forget()
		}
	}
	for i, event := range followed {
		require.Equal(t, int64(i+1), event.Sequence)
	}
	require.Equal(t, domain.EventExecutionStarted, followed[0].Type)
	require.Equal(t, domain.EventExecutionCompleted, followed[len(followed)-1].Type)
	result := s.completed(t, long, 1)
	require.Equal(t, steps+1, result.Outcome.Steps)
	require.Equal(t, "All done. echo: call 40", result.Answer)

	status := s.status(t, long)
	require.Equal(t, steps+1, status.Steps)
	require.Equal(t, begun.ExecutionID, status.ExecutionID)
	require.Greater(t, status.History.Runs, 2, "the execution ran over several runs")
	require.Equal(t, int64(12*(steps+1)), status.Usage.TotalTokens())

	all := s.steps(t, long, 1)
	require.Len(t, all, steps+1)
	for i, step := range all {
		require.Equal(t, i+1, step.Step.Number)
	}
	messages := s.messages(t, long)
	require.Len(t, messages, 2+2*steps)
	for i, m := range messages {
		require.Equal(t, i, m.Index)
	}
	require.Equal(t, "echo: call 7", messages[14].Message.ToolResult.Content)

	// The next execution sees the whole conversation, and the session goes on.
	again := s.sent(t, long, client.SendOptions{Prompt: "and now?"})
	require.Equal(t, 2, again.Number)
	result = s.result(t, long, 2)
	require.Equal(t, domain.StatusFailed, result.Outcome.Status, "the script has no further turn")
	first := s.result(t, long, 1)
	require.Equal(t, "All done. echo: call 40", first.Answer)

	require.Equal(t, followed, collect(t, s.agents.Events(ctx, long, client.FollowOptions{Number: 1})))
	require.Equal(t, followed[50:], collect(t, s.agents.Events(ctx, long, client.FollowOptions{Number: 1, After: 50})))
	require.Empty(t, collect(t, s.agents.Events(ctx, long, client.FollowOptions{Number: 1, After: int64(len(followed))})))
	s.closes(t, long)
	s.worker.Forget()
	require.Equal(t, followed, collect(t, s.agents.Events(ctx, long, client.FollowOptions{Number: 1})), "also of closed runs")
}

// asked is a status as the workflow tells it; a busy worker may take longer than others are waited for.
func (s *stack) asked(t *testing.T, id string) (status account.Status) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		status, err = s.agents.Status(within(t), id)
		return err == nil && status.Server.Source == contract.FromWorkflow
	}, patience, 50*time.Millisecond)
	return status
}
