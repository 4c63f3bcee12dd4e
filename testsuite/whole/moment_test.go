package whole_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	agentaccount "everstep/domain/account"
	"everstep/starter/client"
)

// TestMomentsOfSeveralRuns: after each event of an execution that went over several runs the status has the steps that had
// ended by then, and the transcript the messages, which are the first of those in the end.
func TestMomentsOfSeveralRuns(t *testing.T) {
	t.Parallel()
	const steps = 40
	s := overRuns(t)
	ctx, id := within(t), s.named("moments")
	s.starts(t, client.Start{ID: id, Prompt: "go", Definition: scripted(longScript(t, steps, 1), "echo")})
	s.result(t, id, 1)

	completed, last, runs := map[int]int{}, 0, map[string]bool{}
	told, err := s.agents.Account(ctx, id, agentaccount.Events)
	require.NoError(t, err)
	for _, event := range told.Events {
		n := int(event.Sequence)
		if completed[n] = completed[last]; event.Type == domain.EventStepCompleted {
			completed[n]++
		}
		last = n
	}
	require.Equal(t, steps+1, completed[last])
	whole := s.messages(t, id)
	before := 0
	for n := 1; n <= last; n += 7 {
		at := client.Moment{Execution: 1, Event: n}
		status, when, err := s.agents.StatusAt(ctx, id, at)
		require.NoError(t, err, n)
		require.GreaterOrEqual(t, status.Steps, completed[n], "event %d", n)
		require.LessOrEqual(t, status.Steps, completed[n]+1, "event %d: a task may end one step and begin the next", n)
		require.False(t, when.IsZero())
		runs[status.Run.ID] = true
		messages, _, err := s.agents.MessagesAt(ctx, id, at)
		require.NoError(t, err, n)
		said := collect(t, messages)
		require.GreaterOrEqual(t, len(said), before)
		require.Equal(t, whole[:len(said)], said, "event %d", n)
		before = len(said)
	}
	require.Greater(t, len(runs), 1)
	status, _, err := s.agents.StatusAt(ctx, id, client.Moment{Event: last})
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, status.Status)
	require.Equal(t, steps+1, status.Steps)
	_, _, err = s.agents.StatusAt(ctx, id, client.Moment{Event: last + 1})
	require.ErrorIs(t, err, &client.Error{Class: client.NotFound})
	require.ErrorContains(t, err, "it has those from 1 to")
}
