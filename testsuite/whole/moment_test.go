package whole_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	agentaccount "everstep/domain/account"
	"everstep/starter/client"
	"everstep/worker/host"
)

// TestMomentsOfSeveralRuns: after each event of an execution that went over several runs the status has the steps that had
// ended by then, and the transcript the messages, which are the first of those in the end. Iterate yields a state for each step
// while it goes on, and again when all is over.
func TestMomentsOfSeveralRuns(t *testing.T) {
	t.Parallel()
	const steps = 40
	s := overRuns(t)
	ctx, id := within(t), s.named("moments")
	s.starts(t, client.Start{ID: id, Prompt: "go", Definition: scripted(longScript(t, steps, 1), "echo")})
	live := collect(t, s.agents.Iterate(ctx, id, client.IterateOptions{}))
	requireStates(t, live, steps+1)
	afterwards := collect(t, s.agents.Iterate(ctx, id, client.IterateOptions{}))
	requireStates(t, afterwards, steps+1)
	require.Equal(t, live[steps].Messages(), afterwards[steps].Messages())
	require.Len(t, collect(t, s.agents.Iterate(ctx, id, client.IterateOptions{After: steps - 1})), 2)
	state, err := s.agents.State(ctx, id)
	require.NoError(t, err)
	require.Equal(t, "All done. echo: call 40", state.Answer())
	require.Len(t, state.Steps(), steps+1)

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
