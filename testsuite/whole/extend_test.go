package whole_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// steps is a budget of so many steps.
func steps(n int64) domain.ExecutionBudget { return domain.ExecutionBudget{MaxSteps: &n} }

// TestExtendOfAnEndedAgent goes on with an agent without a name, twice, and
// reads all three executions afterwards.
func TestExtendOfAnEndedAgent(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"plain", "continuing"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			s := startOn(t, server, map[string]map[string]string{"continuing": continuing}[server], host.Config{Tools: []tool.Tool{echo()}})
			ctx, id := within(t), uuid.NewString()
			s.starts(t, client.Start{ID: id, Prompt: "go", Definition: scripted(longScript(t, 30, 1), "echo"), Budget: steps(10)})
			first := s.result(t, id, 0)
			require.Equal(t, domain.StepsLimitReached, first.Outcome.StopReason)

			request := uuid.NewString()
			second := s.extends(t, id, client.ExtendOptions{Budget: steps(25), RequestID: request})
			require.True(t, second.Began)
			require.Equal(t, 2, second.Number)
			require.Equal(t, int64(25), *second.Budget.MaxSteps)
			result := s.result(t, id, 2)
			require.Equal(t, domain.StepsLimitReached, result.Outcome.StopReason, "%v", result.Error)
			require.Equal(t, 15, result.Outcome.Steps, "what the first used counts")
			require.Equal(t, second.ExecutionID, result.ExecutionID)

			again := s.extends(t, id, client.ExtendOptions{Budget: steps(25), RequestID: request})
			require.Equal(t, second.ExecutionID, again.ExecutionID, "the same request begins nothing again")

			third := s.extends(t, id, client.ExtendOptions{Lift: []domain.Limit{domain.LimitSteps}})
			require.Equal(t, 3, third.Number)
			result = s.completed(t, id, 0)
			require.Equal(t, "All done. echo: call 30", result.Answer)
			_, err := s.agents.Extend(ctx, id, client.ExtendOptions{})
			requireRefused(t, err, "`run`")

			requireAllThree(t, s, id, []int{10, 15, 6})
			messages := s.messages(t, id)
			roles := map[domain.Role]int{}
			for i, m := range messages {
				require.Equal(t, i, m.Index)
				roles[m.Message.Role]++
			}
			require.Equal(t, 31, roles[domain.RoleAssistant])
			require.Equal(t, 30, roles[domain.RoleTool])
			status := s.status(t, id)
			require.Equal(t, second.ExecutionID, status.Origin.ExecutionID)
			require.Equal(t, int64(25), status.Prior.Steps)
		})
	}
}

// requireAllThree reads the executions of an agent that went on.
func requireAllThree(t *testing.T, s *stack, id string, counts []int) {
	t.Helper()
	ctx := within(t)
	for i, count := range counts {
		result := s.result(t, id, i+1)
		require.Equal(t, count, result.Outcome.Steps)
		held := s.steps(t, id, i+1)
		require.Len(t, held, count)
		require.Equal(t, 1, held[0].Step.Number)
		events := collect(t, s.agents.Events(ctx, id, client.FollowOptions{Number: i + 1}))
		started := events[0].Data.(domain.AgentExecutionStarted)
		require.Equal(t, i+1, started.Number)
		require.Equal(t, result.ExecutionID, events[0].ExecutionID)
		var types []domain.EventType
		for event, err := range s.agents.Follow(ctx, id, client.FollowOptions{Number: i + 1}) {
			require.NoError(t, err)
			types = append(types, event.Type)
		}
		require.Equal(t, domain.EventExecutionStarted, types[0])
		require.Contains(t, []domain.EventType{domain.EventExecutionCompleted, domain.EventExecutionFailed}, types[len(types)-1])
	}
}

// requireRefused requires the class of an error, and how it says to go on.
func requireRefused(t *testing.T, err error, next string) {
	t.Helper()
	refused, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, client.Refused, refused.Class, "%v", err)
	require.Contains(t, refused.Next, next)
}
