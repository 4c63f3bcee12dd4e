package whole_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// TestPauseAndResume holds an execution between a tool call and the next
// inference.
func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	w := newWorkshop()
	s := start(t, host.Config{Tools: []tool.Tool{w.tool(domain.Idempotent)}})
	ctx, id := within(t), s.named("paused")
	_, err := s.agents.Start(ctx, client.Start{ID: id, Prompt: "go", Definition: scripted(writeScript(t, toolScript), "work")})
	require.NoError(t, err)
	<-w.began
	paused, err := s.agents.Pause(ctx, id)
	require.NoError(t, err)
	require.True(t, paused.Changed)
	require.Equal(t, 1, paused.Number)
	paused, err = s.agents.Pause(ctx, id)
	require.NoError(t, err)
	require.False(t, paused.Changed, "it was paused already")
	close(w.release)
	for event, err := range s.agents.Events(ctx, id, client.FollowOptions{}) {
		require.NoError(t, err)
		if event.Type == domain.EventStepCompleted {
			break
		}
	}
	status, err := s.agents.Status(ctx, id)
	require.NoError(t, err)
	require.True(t, status.Paused)
	require.Equal(t, domain.StatusInProgress, status.Status)
	require.Equal(t, 1, status.Steps)
	require.Equal(t, "paused", status.Doing)

	resumed, err := s.agents.Resume(ctx, id)
	require.NoError(t, err)
	require.True(t, resumed.Changed)
	result, err := s.agents.Wait(ctx, id, 1)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status)
	_, err = s.agents.Pause(ctx, id)
	require.ErrorIs(t, err, &client.Error{Class: client.Refused})
	require.ErrorContains(t, err, "idle")
}

// TestStopOfAPausedExecution ends it where it is.
func TestStopOfAPausedExecution(t *testing.T) {
	t.Parallel()
	w := newWorkshop()
	s := start(t, host.Config{Tools: []tool.Tool{w.tool(domain.Idempotent)}})
	ctx := within(t)
	begun, err := s.agents.Start(ctx, client.Start{Prompt: "go", Definition: scripted(writeScript(t, toolScript), "work")})
	require.NoError(t, err)
	<-w.began
	_, err = s.agents.Pause(ctx, begun.ID)
	require.NoError(t, err)
	close(w.release)
	_, err = s.agents.Stop(ctx, begun.ID, client.StopOptions{})
	require.NoError(t, err)
	result, err := s.agents.Wait(ctx, begun.ID, 1)
	require.NoError(t, err)
	require.Equal(t, domain.UserRequested, result.Outcome.StopReason)
	require.Equal(t, 1, result.Outcome.Steps)
}
