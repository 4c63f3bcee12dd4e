package whole_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	agents "everstep/starter/client"
	"everstep/worker/host"
)

// TestNoWordAfterItsTime: where no worker is up when the time for a call is over, a word that comes later is refused, though
// the worker that comes back looks at it before the end of the wait, and the call is never made.
func TestNoWordAfterItsTime(t *testing.T) {
	t.Parallel()
	paid := make(chan string, 8)
	s := connect(t, "plain", nil)
	first := s.work(t, host.Config{Tools: payTools(paid)})
	definition := scripted(writeScript(t, "turns: [{text: paying, tool_calls: [{name: pay, arguments: {amount: 1}}]}, {text: done}]"), "pay")
	definition.Approvals = &domain.Approvals{Rules: []domain.ApprovalRule{{Tool: "pay", Then: domain.AskFirst, ExpiresAfter: 10 * time.Second}}}
	begun, err := s.agents.Start(within(t), agents.Start{ID: s.named("late"), Prompt: "go", Definition: definition})
	require.NoError(t, err)
	call := s.waitingOf(t, begun.ID, 1)[0]
	first.Stop()
	select {
	case <-time.After(time.Until(call.Expires.Add(time.Second))):
	case <-t.Context().Done():
	}
	said := make(chan error, 1)
	go func(ctx context.Context) {
		_, err := s.agents.Answer(ctx, begun.ID, agents.Word{Verdict: domain.Approved, Call: call.ToolExecutionID, Digest: call.Digest, By: "ann"})
		said <- err
	}(within(t))
	t.Cleanup(s.work(t, host.Config{Tools: payTools(paid)}).Stop)
	late := <-said
	require.ErrorIs(t, late, &agents.Error{Class: agents.Refused})
	require.Regexp(t, "the time for call .* was over at|expired at", late.Error())
	result, err := s.agents.Wait(within(t), begun.ID, 1)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status)
	require.Empty(t, paid)
	for step, err := range s.agents.Steps(within(t), begun.ID, 1) {
		require.NoError(t, err)
		for _, call := range step.Step.ToolExecutions {
			require.Equal(t, domain.Expired, call.Wait(domain.WaitApproval).Verdict())
		}
	}
}
