package contract_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestNeeds: which agents take a command, by what it needs, and in which words the others refuse it.
func TestNeeds(t *testing.T) {
	t.Parallel()
	busy := func(a contract.Availability) contract.Availability {
		a.Busy, a.InProgress = true, true
		return a
	}
	idle, unnamed := contract.Availability{ID: "ann", Named: true, Open: true, Number: 2}, contract.Availability{ID: "7d44", Open: true, Number: 1}
	over, closed, begins := idle, busy(idle), idle
	over.Open, closed.Closed, begins.Busy = false, true, true
	needs := []contract.Need{contract.OpenAgent, contract.InProgress, contract.OpenSession, contract.IdleSession}
	for name, test := range map[string]struct {
		agent contract.Availability
		says  [4]string
	}{
		"idle":          {idle, [4]string{"", "no execution is in progress", "", ""}},
		"about to work": {begins, [4]string{"", "no execution is in progress", "", "execution 2 is in progress; wait for it or stop it"}},
		"working":       {busy(idle), [4]string{"", "", "", "execution 2 is in progress; wait for it or stop it"}},
		"closing":       {closed, [4]string{"", "", "the session has ended", "the session has ended"}},
		"over":          {over, [4]string{"the session has ended", "the session has ended", "the session has ended", "the session has ended"}},
		"without a name": {busy(unnamed), [4]string{
			"", "", "the agent has no name, so it has no session and takes one prompt; start another with a name, or fork this one",
			"the agent has no name, so it has no session and takes one prompt; start another with a name, or fork this one",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, need := range needs {
				err := need.Check("nudge", test.agent)
				if test.says[i] == "" {
					require.NoError(t, err)
					continue
				}
				require.EqualError(t, err, "nudge "+test.agent.ID+": "+test.says[i])
			}
		})
	}
	require.Error(t, contract.UpdateAwait.Needs().Check("await", idle), "it is no command")
	require.Equal(t, domain.Internal, domain.AsError(contract.UpdateAwait.Needs().Check("await", idle)).Kind)
}

// TestFormIsCheckedByTheRequest, the same for clients and the workflow.
func TestFormIsCheckedByTheRequest(t *testing.T) {
	t.Parallel()
	long := string(make([]byte, domain.MaxReason+1))
	for says, request := range map[string]any{
		"reason":        contract.SuspendRequest{Reason: long},
		"by":            contract.RevokeRequest{By: long},
		"prompt":        contract.SendRequest{},
		"if_busy":       contract.SendRequest{Prompt: "go", IfBusy: "shout"},
		"mode":          contract.StopRequest{Mode: "soon"},
		"within":        contract.StopRequest{Within: contract.AtOnce - 1},
		"model, budget": contract.RewindRequest{Model: &domain.LLMConfig{Provider: "scripted", Model: "x"}},
		"lift":          contract.ExtendRequest{Lift: []domain.Limit{"patience"}},
		"no limit of a": contract.ExtendSessionRequest{Lift: []domain.Limit{domain.LimitDeadline}},
		"fields":        contract.UpdateRequest{Fields: []string{"mood"}},
		"verdict":       contract.AnswerRequest{},
	} {
		err := contract.CheckForm(request)
		require.ErrorContains(t, err, says)
		require.Contains(t, []domain.Kind{domain.Invalid, domain.TooLarge}, domain.AsError(err).Kind, says)
	}
	for _, request := range []any{contract.PauseRequest{}, contract.ClearRequest{}, contract.SuspendRequest{}, contract.RewindRequest{}, contract.ExtendRequest{}} {
		require.NoError(t, contract.CheckForm(request))
	}
}
