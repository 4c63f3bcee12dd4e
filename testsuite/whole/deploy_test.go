package whole_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
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
