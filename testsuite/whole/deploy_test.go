package whole_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	agents "everstep/starter/client"
	"everstep/worker/host"
)

// lookup is a tool as it was deployed first, and lookupOf as it is after the next deploy: the same name, one more argument.
func lookup() tool.Tool {
	type arguments struct {
		Order string `json:"order"`
	}
	return tool.New("lookup", "finds an order", domain.ReadOnly, func(_ context.Context, in arguments) (string, error) {
		return "order " + in.Order, nil
	})
}

func lookupOf(name string) tool.Tool {
	type arguments struct {
		Order    string `json:"order"`
		Customer string `json:"customer"`
	}
	return tool.New(name, "finds a customer's order", domain.ReadOnly, func(_ context.Context, in arguments) (string, error) {
		return "order " + in.Order + " of " + in.Customer, nil
	})
}

// deployed is a session of three executions: the second begins as the first did, the third after a deploy.
func (s *stack) deployed(t *testing.T, name string) agents.Execution {
	t.Helper()
	before := s.work(t, host.Config{Tools: []tool.Tool{lookup()}})
	s.answers(t, agents.Start{ID: name, Definition: scripted(writeScript(t, `
turns:
  - {tool_calls: [{name: lookup, arguments: {order: a}}]}
  - {text: one}
  - {text: two}
  - {tool_calls: [{name: lookup, arguments: {order: a}}]}
  - {tool_calls: [{name: lookup, arguments: {order: a, customer: ann}}]}
  - {text: '{{ result "lookup" }}'}
`), "lookup")})
	s.sends(t, name)
	before.Stop()
	s.work(t, host.Config{Tools: []tool.Tool{lookupOf("lookup")}})
	return s.closesAfter(t, s.sends(t, name))
}

// renamed is a session whose tool a deploy renames: an execution fails that begins without it, and goes on once the
// session was updated.
func (s *stack) renamed(t *testing.T, name string) agents.Execution {
	t.Helper()
	before := s.work(t, host.Config{Tools: []tool.Tool{lookup()}})
	s.answers(t, agents.Start{ID: name, Definition: scripted(writeScript(t, `
turns:
  - {text: one}
  - {tool_calls: [{name: find, arguments: {order: a, customer: ann}}]}
  - {text: '{{ result "find" }}'}
`), "lookup")})
	before.Stop()
	find := lookupOf("find")
	s.work(t, host.Config{Tools: []tool.Tool{find}})
	failed := s.sends(t, name)
	result, err := s.agents.Wait(within(t), name, failed.Number)
	require.NoError(t, err)
	require.Equal(t, domain.CodeUnknownTool, result.Error.Code)
	require.Contains(t, result.Error.Message, "lookup")
	updated, err := s.agents.Update(within(t), name, agents.UpdateOptions{
		Definition: domain.Definition{SystemPrompt: "Be brief.", Tools: []string{"find"}}, Fields: []string{"system_prompt", "tools"},
		By: "ann", Reason: "renamed",
	})
	require.NoError(t, err)
	require.Equal(t, []any{name, 3, []string{"system_prompt", "tools"}}, []any{updated.ID, updated.Number, updated.Fields})
	return s.closesAfter(t, s.sends(t, name))
}

// rejoined is a session to which two people give another definition before one execution, after a message has given it
// another model.
func (s *stack) rejoined(t *testing.T, name string) agents.Execution {
	t.Helper()
	const turns = "turns: [{text: one}, {text: two}, {text: three}]"
	own, other := scripted(writeScript(t, turns)), scripted(writeScript(t, turns))
	s.answers(t, agents.Start{ID: name, Definition: own})
	s.sends(t, name, agents.SendOptions{Model: &other.Model})
	for _, update := range []agents.UpdateOptions{
		{Definition: domain.Definition{Model: own.Model}, Fields: []string{"model"}, By: "ann", Reason: "cheaper"},
		{Definition: domain.Definition{SystemPrompt: "Be brief."}, Fields: []string{"system_prompt"}, By: "bob"},
	} {
		_, err := s.agents.Update(within(t), name, update)
		require.NoError(t, err)
	}
	next := s.asked(t, name).Configuration.Next
	require.Equal(t, []string{"ann", "bob"}, []string{next.Updates[0].By, next.Updates[1].By})
	require.ElementsMatch(t, []string{"system_prompt", "model"}, next.Fields)
	last := s.sends(t, name)
	require.Equal(t, own.Model.String(), s.asked(t, name).Configuration.Model)
	return s.closesAfter(t, last)
}

// TestTwoUpdatesBeforeAnExecution both hold, and are told with who gave them, by the workflow and by its history.
func TestTwoUpdatesBeforeAnExecution(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	worker := s.work(t, host.Config{})
	name := s.named("rejoined")
	s.rejoined(t, name)
	told := s.asked(t, name).Configuration.Changes
	change := told[len(told)-1]
	require.Len(t, change.Updates, 2)
	ann, bob := change.Updates[0], change.Updates[1]
	require.Equal(t, []any{"bob", []string{"system_prompt"}}, []any{bob.By, bob.Asked})
	require.Equal(t, []any{"ann", "cheaper", []string{"model"}}, []any{ann.By, ann.Reason, ann.Asked})
	explained, err := s.agents.Explain(within(t), name, 3)
	require.NoError(t, err)
	require.Equal(t, change, explained.Changes[0])
	worker.Stop()
	read, err := s.agents.Status(within(t), name)
	require.NoError(t, err)
	require.NotEqual(t, contract.FromWorkflow, read.Server.Source)
	require.Equal(t, change, read.Configuration.Changes[len(read.Configuration.Changes)-1])
}

// TestADeployThatRenamesATool is taken over by an update, which is told with who gave it.
func TestADeployThatRenamesATool(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	name := s.named("renamed")
	s.renamed(t, name)
	result, err := s.agents.Wait(within(t), name, 3)
	require.NoError(t, err)
	require.Equal(t, "order a of ann", result.Answer)
	explained, err := s.agents.Explain(within(t), name, 3)
	require.NoError(t, err)
	require.Equal(t, "tools + find, - lookup; system_prompt", explained.Changes[0].String())
	require.Equal(t, "ann", explained.Changes[0].Updates[0].By)
}

// TestADeployInTheMiddleOfASession: the next execution has the tool as it is by now, and status and explain say what is
// another.
func TestADeployInTheMiddleOfASession(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	name := s.named("deploy")
	s.deployed(t, name)
	result, err := s.agents.Wait(within(t), name, 3)
	require.NoError(t, err)
	require.Equal(t, "order a of ann", result.Answer)
	steps, err := s.agents.Explain(within(t), name, 3)
	require.NoError(t, err)
	require.Contains(t, steps.Steps[0].Tools[0].Error.Message, "customer", "the first call lacks what the tool asks for by now")
	require.Equal(t, "tools lookup (description, schema)", steps.Changes[0].String())
	second, err := s.agents.Explain(within(t), name, 2)
	require.NoError(t, err)
	require.Empty(t, second.Changes)
	status, err := s.agents.Status(within(t), name)
	require.NoError(t, err)
	require.Len(t, status.Configuration.Changes, 1)
	require.Equal(t, 3, status.Configuration.Changes[0].Number)
}
