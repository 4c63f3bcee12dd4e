package whole_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
)

// steps is a budget of so many steps.
func steps(n int64) domain.ExecutionBudget { return domain.ExecutionBudget{MaxSteps: &n} }

// TestExtendOfAnEndedAgent goes on with an agent without a name, over several runs, and reads its executions, of which each
// has a workflow of its own.
func TestExtendOfAnEndedAgent(t *testing.T) {
	t.Parallel()
	s, id := overRuns(t), uuid.NewString()
	s.answers(t, client.Start{ID: id, Definition: scripted(longScript(t, 30, 1), "echo"), Budget: steps(10)})
	request := client.ExtendOptions{Budget: steps(25), RequestID: uuid.NewString()}
	second := s.extends(t, id, request)
	require.Equal(t, domain.StepsLimitReached, s.result(t, id, 2).Outcome.StopReason)
	require.Equal(t, second.ExecutionID, s.extends(t, id, request).ExecutionID, "the same request begins nothing again")
	s.extends(t, id, client.ExtendOptions{Lift: []domain.Limit{domain.LimitSteps}})
	require.Equal(t, "All done. echo: call 30", s.completed(t, id, 3).Answer)
	for i, count := range []int{10, 15, 6} { // what the first used counts
		require.Equal(t, count, s.result(t, id, i+1).Outcome.Steps)
		require.Len(t, s.steps(t, id, i+1), count)
		events := collect(t, s.agents.Events(within(t), id, client.FollowOptions{Number: i + 1}))
		require.Equal(t, i+1, events[0].Data.(domain.AgentExecutionStarted).Number)
	}
	require.Len(t, s.messages(t, id), 1+31+30)
	require.Equal(t, second.ExecutionID, s.status(t, id).Origin.ExecutionID)
}
