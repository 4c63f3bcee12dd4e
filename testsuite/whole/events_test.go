package whole_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
)

// TestEventsAcrossRuns follows an execution over several runs, and reads the
// same events when it has ended.
func TestEventsAcrossRuns(t *testing.T) {
	t.Parallel()
	s := overRuns(t)
	ctx, id := within(t), s.named("events")
	s.starts(t, client.Start{ID: id, Prompt: "go", Definition: scripted(longScript(t, 40, 1), "echo")})
	followed := collect(t, s.agents.Events(ctx, id, client.FollowOptions{}))
	status := s.status(t, id)
	require.Greater(t, status.History.Runs, 2, "the execution ran over several runs")
	for i, event := range followed {
		require.Equal(t, int64(i+1), event.Sequence)
	}
	require.Equal(t, domain.EventExecutionStarted, followed[0].Type)
	require.Equal(t, domain.EventExecutionCompleted, followed[len(followed)-1].Type)

	require.Equal(t, followed, collect(t, s.agents.Events(ctx, id, client.FollowOptions{Number: 1})))
	require.Equal(t, followed[50:], collect(t, s.agents.Events(ctx, id, client.FollowOptions{After: 50})))
	require.Empty(t, collect(t, s.agents.Events(ctx, id, client.FollowOptions{After: int64(len(followed))})))
	s.closes(t, id)
	s.worker.Forget()
	require.Equal(t, followed, collect(t, s.agents.Events(ctx, id, client.FollowOptions{})), "also of closed runs")
}
