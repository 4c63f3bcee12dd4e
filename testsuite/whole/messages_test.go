package whole_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// saidBy are the texts of an agent's messages, in order.
func (s *stack) saidBy(t *testing.T, id string) (texts []string) {
	t.Helper()
	for entry, err := range s.agents.Messages(within(t), id) {
		require.NoError(t, err)
		texts = append(texts, entry.Message.Text())
	}
	return texts
}

// TestMessagesOutliveTheirWorker: what was sent while a step was in progress is read once and in order, although the
// worker that took it is killed before the step ends.
func TestMessagesOutliveTheirWorker(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	s := connect(t, "plain", nil)
	deaths := s.mortals(t)
	id := s.named("steered")
	_, err := s.agents.Start(ctx, client.Start{ID: id, Prompt: "go", Definition: scripted(writeScript(t, `
turns:
  - {text: I look, delay: 12s, tool_calls: [{name: die, arguments: {}}]}
  - {text: one}
  - {text: two}
`), "die")})
	require.NoError(t, err)
	s.doing(t, id, "waiting for the model")
	first, err := s.agents.Send(ctx, id, client.SendOptions{Prompt: "and that", IfBusy: contract.SteerIfBusy})
	require.NoError(t, err)
	require.False(t, first.Waits.IsZero())
	_, err = s.agents.Send(ctx, id, client.SendOptions{Prompt: "and this", IfBusy: contract.SteerIfBusy})
	require.NoError(t, err)
	own, err := s.agents.Send(ctx, id, client.SendOptions{Prompt: "then that", IfBusy: contract.QueueIfBusy})
	require.NoError(t, err)
	back, err := s.agents.Send(ctx, id, client.SendOptions{Prompt: "never", IfBusy: contract.QueueIfBusy})
	require.NoError(t, err)
	unsent, err := s.agents.Unsend(ctx, id, back.Waits.String()[:13])
	require.NoError(t, err)
	require.Equal(t, 3, unsent.Left)
	_, err = s.agents.Send(ctx, id, client.SendOptions{Prompt: "more"})
	require.ErrorIs(t, err, &client.Error{Class: client.Refused})
	_, err = s.agents.Send(ctx, id, client.SendOptions{Prompt: "more", IfBusy: contract.SteerIfBusy, Model: new(scripted("/x").Model)})
	require.ErrorIs(t, err, &client.Error{Class: client.Refused})
	require.ErrorContains(t, err, "model: execution 1 is in progress")
	status, err := s.agents.Status(ctx, id)
	require.NoError(t, err)
	require.Len(t, status.Unread, 3)

	read, err := s.agents.Reads(ctx, own)
	require.NoError(t, err)
	require.Equal(t, 2, read.Number)
	result, err := s.agents.Wait(ctx, id, 2)
	require.NoError(t, err)
	require.Equal(t, "two", result.Answer)
	require.EqualValues(t, 2, deaths.Load())
	said := s.saidBy(t, id)
	require.Equal(t, []string{"go", "I look"}, said[:2])
	require.Equal(t, []string{"and that", "and this", "one", "then that", "two"}, said[len(said)-5:])

	var told []domain.EventType
	for event, err := range s.agents.Follow(ctx, id, client.FollowOptions{Number: 1}) {
		require.NoError(t, err)
		if event.Message != nil {
			told = append(told, event.Type)
		}
	}
	waits, gone, reads := domain.EventMessageWaiting, domain.EventMessageUnsent, domain.EventMessageReceived
	require.Equal(t, []domain.EventType{waits, waits, waits, waits, gone, reads, reads}, told)
	view, err := s.agents.Explain(ctx, id, 1)
	require.NoError(t, err)
	require.Equal(t, 2, view.Messages)
}

// TestAMessageThatAStopLeftUnread begins the next execution, and an agent without a name says what it never read.
func TestAMessageThatAStopLeftUnread(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	for _, name := range []string{"stopped", ""} {
		shop := newWorkshop()
		s := start(t, host.Config{Tools: []tool.Tool{shop.tool(domain.Idempotent)}})
		id := name
		if name != "" {
			id = s.named(name)
		}
		x, err := s.agents.Start(ctx, client.Start{ID: id, Prompt: "go", Definition: scripted(writeScript(t, toolScript), "work")})
		require.NoError(t, err)
		<-shop.began
		_, err = s.agents.Send(ctx, x.ID, client.SendOptions{Prompt: "more", IfBusy: contract.SteerIfBusy})
		require.NoError(t, err)
		_, err = s.agents.Stop(ctx, x.ID, client.StopOptions{Mode: contract.StopNow})
		require.NoError(t, err)
		result, err := s.agents.Wait(ctx, x.ID, 1)
		require.NoError(t, err)
		require.Equal(t, []any{domain.StatusStopped, 1}, []any{result.Outcome.Status, result.Outcome.Unread})
		if id != "" {
			result, err := s.agents.Wait(ctx, x.ID, 2)
			require.NoError(t, err)
			require.Equal(t, domain.StatusCompleted, result.Outcome.Status)
			require.Equal(t, 1, count(s.saidBy(t, x.ID), "more"))
			continue
		}
		_, err = s.agents.Send(ctx, x.ID, client.SendOptions{Prompt: "more", IfBusy: contract.SteerIfBusy})
		require.ErrorIs(t, err, &client.Error{Class: client.Refused})
		require.ErrorContains(t, err, "has ended")
		status, err := s.agents.Status(ctx, x.ID)
		require.NoError(t, err)
		require.Len(t, status.Unread, 1)
	}
}

func count(all []string, one string) int {
	return len(all) - len(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == one }))
}
