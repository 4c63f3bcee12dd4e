package whole_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	agents "everstep/starter/client"
	"everstep/worker/host"
)

// waitsBelow starts an agent with a limit of time, both of whose sub-agents wait for a person for longer than that, and
// lets them go on.
func (s *stack) waitsBelow(t *testing.T) agents.Execution {
	t.Helper()
	const used = "usage: {input_tokens: 10, output_tokens: 5}"
	root := scripted(writeScript(t, "turns:\n  - {tool_calls: [{name: spawn_subagent, arguments: {subagent: leaf, prompt: a}}, "+
		"{name: spawn_subagent, arguments: {subagent: leaf, prompt: b}}], "+used+"}\n  - {text: done, "+used+"}\n"), "pay")
	root.Subagents = map[string]domain.Subagent{"leaf": {Agent: "leaf", InheritsTools: true}}
	root.Agents = map[string]domain.Definition{
		"leaf": {Model: scripted(writeScript(t, "turns:\n  - {tool_calls: [{name: pay, arguments: {amount: 1}}], "+used+"}\n  - {text: found, "+used+"}\n")).Model},
	}
	root.Approvals = domain.ApprovalsOf("writes")
	const limit = 20 * time.Second // several times what the agents work, also on a busy machine
	begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: root, Budget: domain.ExecutionBudget{MaxSeconds: new(limit.Seconds())}})
	require.NoError(t, err)
	var waiting []agents.WaitingCall
	leaves := children(begun.ExecutionID, 2)
	for _, id := range leaves {
		waiting = append(waiting, s.waitingOf(t, id, 1)...)
	}
	over := time.Now().Add(limit + time.Second) // the limit itself is what is waited for
	require.Eventually(t, func() bool { return time.Now().After(over) }, patience, 100*time.Millisecond)
	for i, id := range leaves {
		_, err := s.agents.Answer(within(t), id, agents.Word{Verdict: domain.Approved, Call: waiting[i].ToolExecutionID, Digest: waiting[i].Digest})
		require.NoError(t, err)
	}
	return begun
}

// TestTheTimeOfATreeOnAServer stands still while its sub-agents wait for a person.
func TestTheTimeOfATreeOnAServer(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: payTools(make(chan string, 8))})
	begun := s.waitsBelow(t)
	s.ended(t, begun)
	result, err := s.agents.Wait(within(t), begun.ID, 1)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status, result.Signal)
}
