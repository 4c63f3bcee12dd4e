package guards_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/hook"
	"everstep/testsuite"
)

// TestAHookThatMakesTooMuch has failed: what it made could neither be read back
// nor handed to the next run.
func TestAHookThatMakesTooMuch(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 600_000)
	for name, h := range map[string]hook.Hook{
		"to say": hook.BeforeStep("doer", func(c hook.Point) (hook.Point, error) { return c.Say(domain.RoleUser, long), nil }),
		"of an answer": hook.AfterInference("doer", func(c hook.Reply) (hook.Reply, error) {
			c.At.Message = saying(long)
			return c, nil
		}),
		"of arguments": hook.BeforeToolUse("doer", func(c hook.ToolUse) (hook.ToolUse, error) {
			c.At.Call.Arguments = `{"a":"` + long + `"}`
			return c, nil
		}),
		"of a result": hook.AfterToolUse("doer", func(c hook.ToolResult) (hook.ToolResult, error) {
			c.At.Execution.Value = long
			return c, nil
		}),
		"of a prompt": hook.BeforeExecution("doer", func(c hook.Point) (hook.Point, error) {
			c.State = c.State.WithSystemPrompt(long, c.Now)
			return c, nil
		}),
		"to note": hook.BeforeStep("doer", func(c hook.Point) (hook.Point, error) { return c.Note("k", long) }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := meets(t, h.Trigger(), nil, h)
			require.Equal(t, domain.StatusFailed, m.Outcome.Status)
			require.Equal(t, domain.CodeHookFailed, m.Error.Code)
			require.Contains(t, m.Error.Message, "doer")
		})
	}
}

// TestHooksKnowWhatAPauseLeaves: time spent waiting for people is not spent, while
// they are waited for and after.
func TestHooksKnowWhatAPauseLeaves(t *testing.T) {
	t.Parallel()
	var left []float64
	look := hook.AfterStep("look", func(c hook.Point) (hook.Point, error) {
		b, _ := c.State.BudgetLeft(c.Now)
		require.Equal(t, b, c.State.Debug(c.Now).BudgetLeft)
		left = append(left, *b.MaxSeconds)
		return c, nil
	})
	look.Always = true
	fake := testsuite.NewFake(domain.ToolSpec{Name: "look"}, testsuite.Returns("sunny"))
	slow := []testsuite.Turn{{Delay: 10 * time.Second, Calls: []testsuite.Call{{Name: "look"}}}, {Delay: 10 * time.Second, Text: "done"}}
	run := testsuite.New(t, testsuite.Config{
		Turns: slow, Tools: []tool.Tool{fake.Tool()}, Hooks: []hook.Hook{look}, Budget: domain.ExecutionBudget{MaxSeconds: new(100.0)},
	}).Run("go", testsuite.PauseAt(5*time.Second), testsuite.ResumeAt(time.Hour))
	require.Equal(t, domain.Completed, run.Outcome.StopReason)
	require.Len(t, left, 2)
	for _, seconds := range left {
		require.InDelta(t, 90, seconds, 10, "of the hour next to nothing is spent")
	}
}
