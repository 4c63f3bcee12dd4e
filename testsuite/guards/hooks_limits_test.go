package guards_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/hook"
	"everstep/testsuite"
)

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

// TestHooksWaitInAPause: those before a step run when it is over.
func TestHooksWaitInAPause(t *testing.T) {
	t.Parallel()
	var ran []time.Time
	look := testsuite.NewFake(domain.ToolSpec{Name: "look"}, testsuite.After(10*time.Second, testsuite.Returns("sunny")))
	run := testsuite.New(t, testsuite.Config{
		Turns: []testsuite.Turn{calls("look", 1), {Text: "done"}}, Tools: toolsOf(look),
		Hooks: []hook.Hook{forAll(hook.BeforeStep("h", func(c hook.Point) (hook.Point, error) {
			ran = append(ran, c.Now)
			return c, nil
		}))},
	}).Run("go", testsuite.PauseAt(5*time.Second), testsuite.ResumeAt(time.Hour))
	require.Equal(t, domain.Completed, run.Outcome.StopReason)
	require.Len(t, ran, 2)
	require.GreaterOrEqual(t, ran[1].Sub(ran[0]), time.Hour-time.Second)
}
