package whole_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	agents "everstep/starter/client"
	"everstep/worker/host"
)

const standingScript = `
turns:
  - tool_calls: [{name: pay, arguments: {amount: 1}}]
  - text: paid
  - tool_calls: [{name: pay, arguments: {amount: 1}}, {name: pay, arguments: {amount: 2}}]
  - text: paid again
  - tool_calls: [{name: pay, arguments: {amount: 1}}]
  - text: not paid
`

// standing plays three executions of a session: in the first a call is approved always, the second makes it without
// asking, beside one that is asked about, and before the third that was revoked. It returns the last.
func (s *stack) standing(t *testing.T, id string) agents.Execution {
	t.Helper()
	definition := scripted(writeScript(t, standingScript), "pay")
	definition.Approvals = domain.DefaultApprovals()
	begun, err := s.agents.Start(within(t), agents.Start{ID: id, Prompt: "go", Definition: definition})
	require.NoError(t, err)
	call := s.waitingOf(t, id, 1)[0]
	approved, err := s.agents.Answer(within(t), id, agents.Word{Verdict: domain.Approved,
		Call: call.ToolExecutionID, Digest: call.Digest, By: "ann", Reason: "as agreed", Always: true,
	})
	require.NoError(t, err)
	require.Equal(t, call.ToolExecutionID, approved.Standing.ID)
	s.ended(t, begun)
	begun, err = s.agents.Send(within(t), id, agents.SendOptions{Prompt: "again"})
	require.NoError(t, err)
	other := s.waitingOf(t, id, 1)[0]
	require.Equal(t, `{"amount":2}`, other.Arguments)
	_, err = s.agents.Answer(within(t), id, agents.Word{Verdict: domain.WasDenied, Call: other.ToolExecutionID, By: "bob"})
	require.NoError(t, err)
	s.ended(t, begun)
	revoked, err := s.agents.Revoke(within(t), id, agents.RevokeOptions{Rule: call.ToolExecutionID.String()[:8], By: "bob", Reason: "enough"})
	require.NoError(t, err)
	require.Equal(t, "bob", revoked.Standing.Revocation.By)
	begun, err = s.agents.Send(within(t), id, agents.SendOptions{Prompt: "once more"})
	require.NoError(t, err)
	_, err = s.agents.Answer(within(t), id, agents.Word{Verdict: domain.WasDenied, Call: s.waitingOf(t, id, 1)[0].ToolExecutionID, By: "bob"})
	require.NoError(t, err)
	return s.ended(t, begun)
}

// TestStandingApprovals over the executions of a session: what runs, what is told of it with a worker and without, and
// what is refused.
func TestStandingApprovals(t *testing.T) {
	t.Parallel()
	paid := make(chan string, 8)
	s := start(t, host.Config{Tools: payTools(paid)})
	id := s.named("standing")
	s.standing(t, id)
	close(paid)
	var all []string
	for amount := range paid {
		all = append(all, amount)
	}
	require.Equal(t, []string{"€", "€"}, all, "once approved, once by the standing approval")
	ctx := within(t)
	status, err := s.agents.Status(ctx, id)
	require.NoError(t, err)
	require.Len(t, status.AlwaysAllowed, 1)
	require.Equal(t, "enough", status.AlwaysAllowed[0].Revocation.Reason)
	view, err := s.agents.Explain(ctx, id, 2)
	require.NoError(t, err)
	approval := view.Steps[0].Tools[0].Waits[0].Answer
	require.Equal(t, "approved ann as agreed", strings.Join([]string{string(approval.Verdict), approval.By, approval.Reason}, " "))
	require.Equal(t, status.AlwaysAllowed[0].ID, approval.Always)
	_, err = s.agents.Revoke(ctx, id, agents.RevokeOptions{Rule: "ffff"})
	require.ErrorIs(t, err, &agents.Error{Class: agents.Refused})
	require.ErrorContains(t, err, "no standing approval of this session holds")
	s.worker.Stop()
	alone, err := s.agents.Status(within(t), id)
	require.NoError(t, err)
	require.NotEqual(t, contract.FromWorkflow, alone.Server.Source)
	require.Equal(t, status.AlwaysAllowed, alone.AlwaysAllowed, "history tells the same")
}
