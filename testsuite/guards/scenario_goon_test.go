package guards_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/testsuite"
)

// TestWhatGoesOnSeesWhatWasDone: by current_trace the model is shown the traces of the
// execution that it goes on from, and of no other.
func TestWhatGoesOnSeesWhatWasDone(t *testing.T) {
	t.Parallel()
	look := testsuite.NewFake(domain.ToolSpec{Name: "look"}, testsuite.Returns("sunny"))
	run := testsuite.New(t, testsuite.Config{
		Definition: domain.Definition{Compiler: domain.CurrentTrace},
		Turns:      []testsuite.Turn{calls("look", 1), calls("look", 2), {Text: "done"}, {Text: "again"}},
		Tools:      toolsOf(look),
		Budget:     domain.ExecutionBudget{MaxSteps: new(int64(1))},
	}).Run("go", testsuite.GoOnAt(time.Minute, domain.ExecutionBudget{MaxSteps: new(int64(2))}),
		testsuite.GoOnAt(2*time.Minute, domain.ExecutionBudget{MaxSteps: new(int64(9))}),
		testsuite.SendAt(time.Hour, "and now?"))
	checkEvents(t, run)
	require.Len(t, run.Executions, 4)
	var shown []int
	for _, call := range run.Asked {
		shown = append(shown, len(call.Messages))
	}
	// The prompt; with a call and its result; with two more and their results;
	// after the answer a new message, without any of the traces.
	require.Equal(t, []int{1, 3, 6, 3}, shown)
	for i, reason := range []domain.StopReason{domain.StepsLimitReached, domain.StepsLimitReached, domain.Completed, domain.Completed} {
		require.Equal(t, reason, run.Executions[i].Outcome.StopReason)
		require.Equal(t, 1, run.Executions[i].Outcome.Steps)
	}
	started := run.Executions[1].Events[0].Data.(domain.AgentExecutionStarted)
	require.Equal(t, run.Executions[0].Outcome.ExecutionID, started.Origin)
	require.Equal(t, 1, run.Executions[1].Steps[0].Step.Number)
	require.True(t, run.Executions[3].Events[0].Data.(domain.AgentExecutionStarted).Origin.IsZero())
}
