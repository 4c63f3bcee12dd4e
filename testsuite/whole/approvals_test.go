package whole_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	agents "everstep/starter/client"
	"everstep/worker/host"
)

const approvalScript = `
turns:
  - text: paying
    tool_calls: [{name: pay, arguments: {amount: 1}}, {name: look}, {name: pay, arguments: {amount: 2}}, {name: pay, arguments: {amount: 3}}]
  - text: paid
`

// payTools count what they did.
func payTools(paid chan string) []tool.Tool {
	type amount struct {
		Amount int `json:"amount"`
	}
	return []tool.Tool{
		tool.New("pay", "pays", domain.AtMostOnce, func(_ context.Context, a amount) (string, error) {
			paid <- strings.Repeat("€", a.Amount)
			return "paid", nil
		}),
		tool.New("look", "looks", domain.ReadOnly, func(context.Context, struct{}) (string, error) { return "seen", nil }),
	}
}

func (s *stack) waitingOf(t *testing.T, id string, n int) []agents.WaitingCall {
	t.Helper()
	var calls []agents.WaitingCall
	require.Eventually(t, func() bool {
		calls = nil
		for call, err := range s.agents.AllWaiting(within(t), id) {
			if err != nil {
				return false
			}
			calls = append(calls, call)
		}
		return len(calls) == n
	}, patience, 50*time.Millisecond)
	return calls
}

// startApprovals begins an execution of which three calls wait for people.
func (s *stack) startApprovals(t *testing.T, id string) (agents.Execution, []agents.WaitingCall) {
	t.Helper()
	definition := scripted(writeScript(t, approvalScript), "pay", "look")
	definition.Approvals = &domain.Approvals{Rules: []domain.ApprovalRule{{
		Tool: "pay", Arguments: map[string]json.RawMessage{"amount": json.RawMessage("3")}, Then: domain.AskFirst, ExpiresAfter: 2 * time.Second,
	}}}
	begun, err := s.agents.Start(within(t), agents.Start{ID: id, Prompt: "go", Definition: definition})
	require.NoError(t, err)
	return begun, s.waitingOf(t, begun.ID, 2) // the third has expired
}

// TestApprovals has calls of one step approved, denied and expired, and tells the same of them with a worker and
// without.
func TestApprovals(t *testing.T) {
	t.Parallel()
	paid := make(chan string, 8)
	s := start(t, host.Config{Tools: payTools(paid)})
	begun, calls := s.startApprovals(t, s.named("approvals"))
	require.Equal(t, `{"amount":1}`, calls[0].Arguments)
	ctx := within(t)
	require.Eventually(t, func() bool { // what the server lists may be a moment old
		for l, err := range s.agents.List(ctx, agents.ListOptions{Waiting: true}) {
			if err == nil && l.ID == begun.ID {
				return l.Waiting == 2
			}
		}
		return false
	}, patience, 50*time.Millisecond)
	status, err := s.agents.Status(ctx, begun.ID)
	require.NoError(t, err)
	require.Equal(t, "step 1: 2 calls wait for approval", status.Doing)

	_, err = s.agents.Answer(ctx, begun.ID, agents.Word{Verdict: domain.Approved, Call: calls[0].ToolExecutionID, Digest: calls[1].Digest})
	require.ErrorIs(t, err, &agents.Error{Class: agents.Refused})
	require.ErrorContains(t, err, "waits with something else")
	decided, err := s.agents.Answer(ctx, begun.ID, agents.Word{Verdict: domain.Approved, Call: calls[0].ToolExecutionID, Digest: calls[0].Digest, By: "ann", Reason: "checked"})
	require.NoError(t, err)
	require.Equal(t, "pay", decided.Wait.Tool)
	_, err = s.agents.Answer(ctx, begun.ID, agents.Word{Verdict: domain.WasDenied, Call: calls[0].ToolExecutionID})
	require.ErrorContains(t, err, "was approved already")
	require.ErrorContains(t, err, "by ann", "who is second is told who was first")
	_, err = s.agents.Answer(ctx, begun.ID, agents.Word{Verdict: domain.WasDenied, By: "bob", Reason: "too much"})
	require.NoError(t, err, "the one that is left need not be named")
	result, err := s.agents.Wait(ctx, begun.ID, 1)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status)
	require.Equal(t, "€", <-paid)
	require.Empty(t, paid, "it ran once")
	_, err = s.agents.Answer(ctx, begun.ID, agents.Word{Verdict: domain.Approved, Digest: calls[0].Digest})
	require.ErrorIs(t, err, &agents.Error{Class: agents.Refused})
	view, err := s.agents.Explain(ctx, begun.ID, 1)
	require.NoError(t, err)
	var said []string
	for _, call := range view.Steps[0].Tools {
		for _, w := range call.Waits {
			said = append(said, strings.TrimSpace(string(w.Verdict())+" "+w.Answer.By+" "+w.Answer.Reason))
		}
	}
	require.Equal(t, []string{"approved ann checked", "denied bob too much", "expired"}, said)
}
