package whole_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	agentaccount "everstep/domain/account"
	"everstep/domain/hook"
	"everstep/worker/host"
)

// TestAStepOfManyMegabytes: 128 calls at once with results of 60 KB, which cannot be compressed and are too much for one page of
// the server's. All of it can be asked for, the run hands over what follows, and each call costs the history a bounded piece.
func TestAStepOfManyMegabytes(t *testing.T) {
	t.Parallel()
	const calls, size = 128, 60 << 10
	noise := tool.New("noise", "", domain.ReadOnly, func(context.Context, struct{}) (string, error) {
		text := make([]byte, size)
		for i := range text {
			text[i] = byte('#' + rand.N(90))
		}
		return string(text), nil
	})
	s := startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{noise}})
	begun := s.begin(t, "turns:\n  - text: 'looking'\n    tool_calls:\n"+strings.Repeat("      - {name: noise}\n", calls)+"  - text: 'done'\n", "noise")
	result := s.result(t, begun.ID, 0)
	require.Equal(t, "done", result.Answer, "%v", result.Error)

	steps := s.steps(t, begun.ID, 0)
	require.Len(t, steps, 2)
	require.Len(t, steps[0].Step.ToolExecutions, calls)
	messages := s.messages(t, begun.ID)
	require.Len(t, messages, calls+3)
	require.Len(t, messages[calls].Message.ToolResult.Content, size, "the transcript has all of it")
	for _, run := range []string{begun.RunID, ""} {
		told := s.workersAccount(t, begun.WorkflowID, run, agentaccount.HeadOf, agentaccount.State, agentaccount.Steps)
		require.NotEmpty(t, told.Steps)
		state, err := domain.DecodeAgentState(told.Head.State)
		require.NoError(t, err)
		require.Positive(t, state.StepCount())
	}
	require.LessOrEqual(t, len(s.historyNow(t, begun.WorkflowID, begun.RunID).Events), 6*calls+40)
}

// TestCallsThatAHookMakesLong do not stand still, however little they compress: they go to the server in several requests.
// What no request has room for, since it is recorded in one workflow task, fails the hook.
func TestCallsThatAHookMakesLong(t *testing.T) {
	t.Parallel()
	const calls = 8
	for size, fault := range map[int]string{140_000: "", 600_000: `hook "long" at before_tool_use: its reply takes 1066752 bytes of history, and hooks have recorded 1066752 in this workflow task already`} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			makesLong(t, calls, size, fault)
		})
	}
}

func makesLong(t *testing.T, calls, size int, fault string) {
	t.Helper()
	long := hook.BeforeToolUse("long", func(c hook.ToolUse) (hook.ToolUse, error) {
		noise := make([]byte, size)
		_, _ = rand.NewChaCha8([32]byte{byte(c.At.Position)}).Read(noise)
		c.At.Call.Arguments = fmt.Sprintf(`{"text":%q}`, base64.StdEncoding.EncodeToString(noise))
		return c, nil
	})
	long.Always = true
	type args struct {
		Text string `json:"text"`
	}
	weigh := tool.New("weigh", "Weighs.", domain.Idempotent, func(_ context.Context, a args) (string, error) {
		return fmt.Sprint(len(a.Text)), nil
	})
	s := start(t, host.Config{Tools: []tool.Tool{weigh}, Hooks: []hook.Hook{long}})
	script := "turns:\n  - tool_calls:\n" + strings.Repeat("      - {name: weigh, arguments: {text: short}}\n", calls) + "  - text: 'done'\n"
	begun := s.begin(t, script, "weigh")
	result := s.result(t, begun.ID, 0)
	if fault != "" {
		require.Contains(t, result.Error.Message, fault)
		return
	}
	require.Equal(t, "done", result.Answer, "%v", result.Error)
	for _, call := range s.steps(t, begun.ID, 0)[0].Step.ToolExecutions {
		require.Equal(t, fmt.Sprint(base64.StdEncoding.EncodedLen(size)), call.Value)
	}
}

// workersAccount asks the worker that is up.
func (s *stack) workersAccount(t *testing.T, workflowID, runID string, want ...agentaccount.Part) agentaccount.Account {
	t.Helper()
	all, _, err := agentaccount.ReadRun(agentaccount.Request{Want: want}, func(request agentaccount.Request) (page agentaccount.Page, err error) {
		value, err := s.temporal.QueryWorkflow(within(t), workflowID, runID, string(agentaccount.Query), request)
		if err == nil {
			err = value.Get(&page)
		}
		return page, err
	})
	require.NoError(t, err)
	return all
}
