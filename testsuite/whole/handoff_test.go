package whole_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// A script's entry answers the inference of its number in the conversation, whoever has that.
const (
	deskTriage = `
turns:
  - tool_calls: [{name: transfer_to_billing, arguments: {reason: money}}, {name: echo, arguments: {text: a}}, {name: transfer_to_nobody}]
    usage: {input_tokens: 10, output_tokens: 5}
  - text: unused
  - text: unused
  - tool_calls: [{name: transfer_to_billing}]
    usage: {input_tokens: 10, output_tokens: 5}
`
	deskBilling = `
turns:
  - text: unused
  - tool_calls: [{name: echo, arguments: {text: b}}]
    usage: {input_tokens: 10, output_tokens: 5}
  - tool_calls: [{name: transfer_to_triage}]
    usage: {input_tokens: 10, output_tokens: 5}
  - text: unused
  - text: paid
    usage: {input_tokens: 10, output_tokens: 5}
  - text: paid again
    usage: {input_tokens: 10, output_tokens: 5}
`
)

// handsOver begins an agent that hands its conversation to another, which hands it back and has it again.
func (s *stack) handsOver(t *testing.T, id, provider string) client.Execution {
	t.Helper()
	triage := scripted(writeScript(t, deskTriage), "echo")
	triage.Model.Provider, triage.SystemPrompt = provider, "You sort."
	triage.Handoffs = map[string]domain.Subagent{"billing": {Agent: "billing", Description: "Settles bills."}}
	billing := scripted(writeScript(t, deskBilling), "echo")
	billing.Model.Provider, billing.SystemPrompt = provider, "You bill."
	billing.Handoffs = map[string]domain.Subagent{"triage": {Agent: "triage", Description: "Sorts."}}
	own := triage
	triage.Agents = map[string]domain.Definition{"billing": billing, "triage": own}
	begun, err := s.agents.Start(within(t), client.Start{ID: id, Prompt: "go", Definition: triage, Budget: domain.ExecutionBudget{MaxSteps: new(int64(20))}})
	require.NoError(t, err)
	return begun
}

// holders are the agents that took the steps of an execution.
func (s *stack) holders(t *testing.T, id string) (held []string) {
	t.Helper()
	for step, err := range s.agents.Steps(within(t), id, 0) {
		require.NoError(t, err)
		held = append(held, step.Step.Agent)
	}
	return held
}

// TestAHandoffGoesThroughRuns of the workflow: the next one knows who has the conversation.
func TestAHandoffGoesThroughRuns(t *testing.T) {
	t.Parallel()
	s := startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{echo()}})
	triage := scripted(writeScript(t, deskTriage), "echo")
	triage.Handoffs = map[string]domain.Subagent{"billing": {Agent: "billing", Description: "Settles bills."}}
	billing := scripted(longScript(t, 15, 1), "echo")
	triage.Agents = map[string]domain.Definition{"billing": billing}
	begun, err := s.agents.Start(within(t), client.Start{Prompt: "go", Definition: triage})
	require.NoError(t, err)
	result, err := s.agents.Wait(within(t), begun.ID, 0)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status, "%v", result.Error)
	status, err := s.agents.Status(within(t), begun.ID)
	require.NoError(t, err)
	require.Greater(t, status.History.Runs, 1)
	require.Equal(t, "billing", status.Configuration.Agent)
	for i, agent := range s.holders(t, begun.ID) {
		require.Equal(t, i > 0, agent == "billing", i)
	}
}

// TestAHandoffOutlivesKills of the worker in the middle of the first three answers, before it and after it.
func TestAHandoffOutlivesKills(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	deaths := s.mortals(t)
	begun := s.handsOver(t, "", "mortal")
	result, err := s.agents.Wait(within(t), begun.ID, 0)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status, "%v", result.Error)
	require.Equal(t, "paid", result.Answer)
	require.Positive(t, deaths.Load())
	require.Equal(t, []string{"", "billing", "billing", "triage", "billing"}, s.holders(t, begun.ID))
}
