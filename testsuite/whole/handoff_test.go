package whole_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
)

// A script's entry answers the inference of its number in the conversation, whoever has that.
const (
	deskTriage = `
turns:
  - tool_calls: [{name: transfer_to_billing, arguments: {reason: money}}, {name: echo, arguments: {text: a}}, {name: transfer_to_nobody}]
  - text: unused
  - text: unused
  - tool_calls: [{name: transfer_to_billing}]
`
	deskBilling = `
turns:
  - text: unused
  - tool_calls: [{name: echo, arguments: {text: b}}]
  - tool_calls: [{name: transfer_to_triage}]
  - text: unused
  - text: paid
`
)

// TestAHandoffOutlivesKills of the worker in the middle of the first three answers, before it and after it: the conversation is
// handed to another agent, which hands it back and has it again.
func TestAHandoffOutlivesKills(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	deaths := s.mortals(t)
	triage, billing := scripted(writeScript(t, deskTriage), "echo"), scripted(writeScript(t, deskBilling), "echo")
	triage.Model.Provider, billing.Model.Provider = "mortal", "mortal"
	triage.Handoffs = map[string]domain.Subagent{"billing": {Agent: "billing", Description: "Settles bills."}}
	billing.Handoffs = map[string]domain.Subagent{"triage": {Agent: "triage", Description: "Sorts."}}
	triage.Agents = map[string]domain.Definition{"billing": billing, "triage": triage}
	begun := s.starts(t, client.Start{Prompt: "go", Definition: triage})
	require.Equal(t, "paid", s.completed(t, begun.ID, 0).Answer)
	require.Positive(t, deaths.Load())
	var held []string
	for _, step := range s.steps(t, begun.ID, 0) {
		held = append(held, step.Step.Agent)
	}
	require.Equal(t, []string{"", "billing", "billing", "triage", "billing"}, held)
}
