package whole_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/starter/client"
	"everstep/worker/host"
)

// lives is a session that is suspended, unsuspended and cleared between its executions, and closes itself.
func (s *stack) lives(t *testing.T, id string) client.Execution {
	t.Helper()
	ctx := within(t)
	definition := scripted(writeScript(t, "turns: [{text: one}, {text: two}, {text: three}]"))
	definition.IdleTimeout = 20 * time.Second
	begun, err := s.agents.Start(ctx, client.Start{ID: id, Prompt: "go", Definition: definition})
	require.NoError(t, err)
	s.ended(t, begun)
	suspended, err := s.agents.Suspend(ctx, id, client.SuspendOptions{Reason: "an audit", By: "ann"})
	require.NoError(t, err)
	require.Equal(t, contract.SuspendReply{Changed: true}, suspended.SuspendReply)
	for _, delivery := range enum.Known[contract.Delivery]() {
		_, err = s.agents.Send(ctx, id, client.SendOptions{Prompt: "more", IfBusy: delivery})
		require.ErrorIs(t, err, &client.Error{Class: client.Refused})
		require.ErrorContains(t, err, "(an audit); unsuspend it first")
	}
	status, err := s.agents.Status(ctx, id)
	require.NoError(t, err)
	require.Equal(t, "ann", status.Suspended.By)
	require.True(t, s.suspendedIn(t, id), "the list says so")
	lifted, err := s.agents.Unsuspend(ctx, id)
	require.NoError(t, err)
	require.True(t, lifted.Changed)
	require.False(t, s.suspendedIn(t, id))
	begun, err = s.agents.Send(ctx, id, client.SendOptions{Prompt: "more"})
	require.NoError(t, err)
	s.ended(t, begun)
	cleared, err := s.agents.Clear(ctx, id)
	require.NoError(t, err)
	require.Equal(t, 4, cleared.Messages)
	begun, err = s.agents.Send(ctx, id, client.SendOptions{Prompt: "anew"})
	require.NoError(t, err)
	return s.ended(t, begun)
}

// TestTheLifeOfASession on a real server: what it takes, what its model sees, and its end.
func TestTheLifeOfASession(t *testing.T) {
	long(t)
	t.Parallel()
	s := start(t, host.Config{})
	id := s.named("life")
	last := s.lives(t, id)
	for step, err := range s.agents.Steps(within(t), id, 3) {
		require.NoError(t, err)
		require.Equal(t, domain.Edits{Cleared: 4, Hidden: 4, TakenBack: []domain.Span{{To: 4, By: 3, Cleared: true}}}, step.Step.Input.Edits)
	}
	require.Equal(t, 3, last.Number)
	edits, err := s.agents.Edits(within(t), id)
	require.NoError(t, err)
	require.Equal(t, 4, edits.CountCleared(), "messages tells which were dropped")
	status, err := s.agents.Status(within(t), id)
	require.NoError(t, err)
	require.Equal(t, 4, status.Position.Edits.CountCleared())
	var cleared []bool
	for _, past := range collect(t, s.agents.Executions(within(t), id)) {
		cleared = append(cleared, past.Cleared)
	}
	require.Equal(t, []bool{true, true, false}, cleared)
	require.Equal(t, []string{"go", "one", "more", "two", "anew", "three"}, s.saidBy(t, id))
	s.closed(t, id)
	_, err = s.agents.Send(within(t), id, client.SendOptions{Prompt: "more", IfBusy: contract.SteerIfBusy})
	require.ErrorIs(t, err, &client.Error{Class: client.Refused})
	require.ErrorContains(t, err, "the session of "+id+" has ended")
}

// suspendedIn reports whether the list has a session among the suspended ones. It is idle where it is not.
func (s *stack) suspendedIn(t *testing.T, id string) bool {
	t.Helper()
	among := func(status client.ListStatus) []client.Listed {
		return collect(t, s.agents.List(within(t), client.ListOptions{ListFilter: client.ListFilter{Agent: id, Statuses: []client.ListStatus{status}}}))
	}
	require.Eventually(t, func() bool { return len(among(client.ListSuspended))+len(among(client.ListIdle)) == 1 }, patience, 50*time.Millisecond)
	return len(among(client.ListSuspended)) == 1
}

// closed waits until a session has closed itself.
func (s *stack) closed(t *testing.T, id string) {
	t.Helper()
	require.Eventually(t, func() bool {
		status, err := s.agents.Status(within(t), id)
		return err == nil && !status.Open
	}, patience, 50*time.Millisecond)
}

// renews gives a session an idle time-out, which holds from its second execution on, and lets it stand suspended for longer
// than that. It closes itself some time after it is unsuspended.
func (s *stack) renews(t *testing.T, id string) client.Execution {
	t.Helper()
	ctx, idle := within(t), 10*time.Second // room for a busy machine to suspend it
	begun, err := s.agents.Start(ctx, client.Start{ID: id, Prompt: "go", Definition: scripted(writeScript(t, oneTwo))})
	require.NoError(t, err)
	s.ended(t, begun)
	updated, err := s.agents.Update(ctx, id, client.UpdateOptions{Definition: domain.Definition{IdleTimeout: idle}, Fields: []string{"idle_timeout"}})
	require.NoError(t, err)
	require.Equal(t, []any{id, 2, []string{"idle_timeout"}}, []any{updated.ID, updated.Number, updated.Fields})
	begun, err = s.agents.Send(ctx, id, client.SendOptions{Prompt: "more"})
	require.NoError(t, err)
	last := s.ended(t, begun)
	_, err = s.agents.Suspend(ctx, id, client.SuspendOptions{Reason: "an audit", By: "ann"})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		status, err := s.agents.Status(ctx, id)
		return err == nil && strings.Contains(status.Doing, "open all the same")
	}, patience, 50*time.Millisecond)
	_, err = s.agents.Unsuspend(ctx, id)
	require.NoError(t, err)
	unsuspended := time.Now()
	s.closed(t, id)
	require.Greater(t, time.Since(unsuspended), idle/2, "its time begins anew")
	return last
}

// TestAnUpdatedIdleTimeoutOnAServer holds from the next execution on, and begins anew as the session is unsuspended.
func TestAnUpdatedIdleTimeoutOnAServer(t *testing.T) {
	long(t)
	t.Parallel()
	s := start(t, host.Config{})
	s.renews(t, s.named("renewed"))
}
