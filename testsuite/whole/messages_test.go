package whole_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
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
}
