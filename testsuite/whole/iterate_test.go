package whole_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// TestIterate yields a state for each step, also over several runs, and again
// when all is over.
func TestIterate(t *testing.T) {
	t.Parallel()
	const calls = 40
	s := overRuns(t)
	ctx, id := within(t), s.named("iterated")
	s.starts(t, client.Start{ID: id, Prompt: "go", Definition: scripted(longScript(t, calls, 1), "echo")})
	live := collect(t, s.agents.Iterate(ctx, id, client.IterateOptions{}))
	requireStates(t, live, calls+1)
	status := s.status(t, id)
	require.Greater(t, status.History.Runs, 2, "the execution ran over several runs")

	afterwards := collect(t, s.agents.Iterate(ctx, id, client.IterateOptions{}))
	requireStates(t, afterwards, calls+1)
	require.Equal(t, live[len(live)-1].Messages(), afterwards[len(afterwards)-1].Messages())
	require.Len(t, collect(t, s.agents.Iterate(ctx, id, client.IterateOptions{After: calls - 1})), 2)
	state, err := s.agents.State(ctx, id)
	require.NoError(t, err)
	require.Equal(t, "All done. echo: call 40", state.Answer())
	require.Len(t, state.Steps(), calls+1)
}

// requireStates checks that each state is the one after its step.
func requireStates(t *testing.T, states []domain.AgentState, n int) {
	t.Helper()
	require.Equal(t, n, len(states))
	for i, state := range states {
		require.Equal(t, i+1, state.StepCount())
		require.Len(t, state.Steps(), i+1)
		require.Equal(t, int64(12*(i+1)), state.Usage().TotalTokens())
		require.Equal(t, i == n-1, state.Status().Terminal())
		want := 1 + 2*(i+1)
		if i == n-1 {
			want--
		}
		require.Equal(t, want, len(state.Messages()), "after step %d", i+1)
	}
}

// TestExecute runs to the end and returns the final state, a failure's too.
func TestExecute(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	ctx := within(t)
	state, err := s.agents.Execute(ctx, client.Start{Prompt: "go", Definition: scripted(writeScript(t, hello))})
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, state.Status())
	require.Equal(t, "Hello.", state.Answer())
	require.Len(t, state.Messages(), 2)
	state, err = s.agents.Execute(ctx, client.Start{Prompt: "go", Definition: scripted("/nowhere.yaml")})
	require.NoError(t, err)
	require.Equal(t, domain.StatusFailed, state.Status())
	require.NotEmpty(t, state.Errors())
}
