package whole_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	agents "everstep/starter/client"
	"everstep/worker/host"
)

// edited begins an execution of which two calls wait: of one the first edits are refused, and the last is taken.
func (s *stack) edited(t *testing.T, id string, hooks ...string) (agents.Execution, agents.Answered) {
	t.Helper()
	definition := scripted(writeScript(t, `turns: [{tool_calls: [{name: pay, arguments: {amount: 7}}, {name: pay, arguments: {amount: 8}}]}, {text: paid}]`), "pay")
	definition.Approvals, definition.Hooks, definition.Budget.MaxSeconds = domain.DefaultApprovals(), hooks, new(3600.0)
	definition.Approvals.Rules = []domain.ApprovalRule{{Tool: "pay", Arguments: map[string]json.RawMessage{"amount": json.RawMessage(`{"at_least":100}`)}, Then: domain.Deny}}
	begun, err := s.agents.Start(within(t), agents.Start{ID: id, Prompt: "go", Definition: definition})
	require.NoError(t, err)
	calls := s.waitingOf(t, begun.ID, 2)
	word := agents.Word{Verdict: domain.Approved, Call: calls[0].ToolExecutionID, Digest: calls[0].Digest, By: "ann", Reason: "less"}
	for edit, says := range map[string]string{
		`{"amount": "five"}`: `arguments: do not fit pay, so the call waits as it was: at /amount: must be of type integer`,
		`{"amonut": 5}`:      `amonut`,
		`{"amount": 500}`:    "the rules of this agent do not allow the call with them",
	} {
		word.Edit = edit
		_, err = s.agents.Answer(within(t), begun.ID, word)
		require.ErrorIs(t, err, &agents.Error{Class: agents.Invalid})
		require.ErrorContains(t, err, says)
	}
	word.Edit = `{"amount":  5}`
	decided, err := s.agents.Answer(within(t), begun.ID, word)
	require.NoError(t, err)
	_, err = s.agents.Answer(within(t), begun.ID, word)
	require.ErrorContains(t, err, "was approved already")
	_, err = s.agents.Answer(within(t), begun.ID, agents.Word{Verdict: domain.WasDenied, By: "bob"})
	require.NoError(t, err)
	return begun, decided
}

// TestEditedCall: what a person gave runs once, and all tell it, with a worker and without.
func TestEditedCall(t *testing.T) {
	t.Parallel()
	paid := make(chan string, 8)
	s := start(t, host.Config{Tools: payTools(paid)})
	begun, decided := s.edited(t, s.named("edited"))
	_, err := s.agents.Wait(within(t), begun.ID, 1)
	require.NoError(t, err)
	require.Equal(t, "€€€€€", <-paid)
	require.Empty(t, paid, "it ran once")
	require.Equal(t, `{"amount":7}`, decided.Wait.Arguments)
	require.Equal(t, domain.CallDigest("pay", `{"amount":  5}`), decided.Wait.Answer.Edited)
	var results []string
	for entry, err := range s.agents.Messages(within(t), begun.ID) {
		require.NoError(t, err)
		if entry.Message.ToolResult != nil {
			results = append(results, entry.Message.ToolResult.Content)
		}
	}
	require.Equal(t, domain.EditedNote(`{"amount":  5}`)+"paid", results[0])
	s.worker.Stop()
	view, err := s.agents.Explain(within(t), begun.ID, 1)
	require.NoError(t, err)
	require.Equal(t, `{"amount":  5}`, view.Steps[0].Tools[0].Arguments)
	require.Equal(t, []domain.Wait{decided.Wait.Recorded()}, view.Steps[0].Tools[0].Waits)
}
