package whole_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// TestEventsAcrossRuns follows an execution over several runs, and reads the
// same events when it has ended.
func TestEventsAcrossRuns(t *testing.T) {
	t.Parallel()
	s := startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{echo()}})
	ctx, id := within(t), s.named("events")
	_, err := s.agents.Start(ctx, client.Start{ID: id, Prompt: "go", Definition: scripted(longScript(t, 40, 1), "echo")})
	require.NoError(t, err)
	followed := collect(t, s.agents.Events(ctx, id, client.FollowOptions{}))
	status, err := s.agents.Status(ctx, id)
	require.NoError(t, err)
	require.Greater(t, status.History.Runs, 2, "the execution ran over several runs")
	for i, event := range followed {
		require.Equal(t, int64(i+1), event.Sequence)
	}
	require.Equal(t, domain.EventExecutionStarted, followed[0].Type)
	require.Equal(t, domain.EventExecutionCompleted, followed[len(followed)-1].Type)

	require.Equal(t, followed, collect(t, s.agents.Events(ctx, id, client.FollowOptions{Number: 1})))
	require.Equal(t, followed[50:], collect(t, s.agents.Events(ctx, id, client.FollowOptions{After: 50})))
	require.Empty(t, collect(t, s.agents.Events(ctx, id, client.FollowOptions{After: int64(len(followed))})))
	_, err = s.agents.Close(ctx, id)
	require.NoError(t, err)
	s.worker.Forget()
	require.Equal(t, followed, collect(t, s.agents.Events(ctx, id, client.FollowOptions{})), "also of closed runs")
}

// TestEventsAsTheyHappen gets an event while what it tells of is going on, and
// leaves the execution as it is.
func TestEventsAsTheyHappen(t *testing.T) {
	t.Parallel()
	w := newWorkshop()
	s := start(t, host.Config{Tools: []tool.Tool{w.tool(domain.Idempotent)}})
	ctx := within(t)
	begun, err := s.agents.Start(ctx, client.Start{Prompt: "go", Definition: scripted(writeScript(t, toolScript), "work")})
	require.NoError(t, err)
	for event, err := range s.agents.Events(ctx, begun.ID, client.FollowOptions{}) {
		require.NoError(t, err)
		if event.Type == domain.EventToolCallStarted {
			break
		}
	}
	status, err := s.agents.Status(ctx, begun.ID)
	require.NoError(t, err)
	require.Equal(t, domain.StatusInProgress, status.Status)
	leaving, leave := context.WithCancel(ctx)
	defer leave()
	var last error
	for _, err := range s.agents.Events(leaving, begun.ID, client.FollowOptions{}) {
		last = err
		leave()
	}
	require.ErrorIs(t, last, &client.Error{Class: client.Cancelled})
	close(w.release)
	result, err := s.agents.Wait(ctx, begun.ID, 1)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status)
}

// TestEventsWithoutAWorker waits for one.
func TestEventsWithoutAWorker(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	ctx := within(t)
	begun, err := s.agents.Start(ctx, client.Start{Prompt: "go", Definition: scripted(writeScript(t, hello))})
	require.NoError(t, err)
	got := make(chan []domain.Event)
	go func() {
		var events []domain.Event
		for event, err := range s.agents.Events(ctx, begun.ID, client.FollowOptions{}) {
			if err == nil {
				events = append(events, event)
			}
		}
		got <- events
	}()
	worker := s.work(t, host.Config{})
	t.Cleanup(worker.Stop)
	events := <-got
	require.NotEmpty(t, events)
	require.Equal(t, domain.EventExecutionCompleted, events[len(events)-1].Type)
}
