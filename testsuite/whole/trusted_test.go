package whole_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
)

// whom is a tool that says for whom it is called.
func whom() tool.Tool {
	return tool.New("whom", "Says for whom.", domain.Idempotent, func(ctx context.Context, _ struct{}) (string, error) {
		call, _ := tool.ExecutionOf(ctx)
		var customer int
		if err := call.Trusted.Decode("customer", &customer); err != nil {
			return "", err
		}
		return fmt.Sprintf("%d by %s %s", customer, call.AgentName, call.AgentID), nil
	})
}

// TestTrustedValuesOutliveTheirWorkers: over workers that are killed and over runs of the workflow, every call is for
// the customer for whom the agent was started, and no prompt names it.
func TestTrustedValuesOutliveTheirWorkers(t *testing.T) {
	t.Parallel()
	const steps = 24
	ctx := within(t)
	s := connect(t, "continuing", continuing)
	deaths := s.mortals(t)
	definition := scripted(writeScript(t, "turns:\n"+strings.Repeat("  - {text: a, tool_calls: [{name: whom, arguments: {}}]}\n", steps)+"  - {text: done}\n"), "whom")
	definition.Model.Provider, definition.Guards.Repetition = "mortal", &domain.Repetition{}
	name := s.named("refunds")
	x, err := s.agents.Start(ctx, client.Start{
		ID: name, Prompt: "go", Definition: definition, Trusted: domain.Trusted{"customer": json.RawMessage(`4711`)},
	})
	require.NoError(t, err)
	result, err := s.agents.Wait(ctx, name, 1)
	require.NoError(t, err)
	require.Equal(t, "done", result.Answer, "%v", result.Error)
	require.EqualValues(t, 3, deaths.Load())
	calls := 0
	for _, step := range collect(t, s.agents.Steps(ctx, name, 1)) {
		for _, call := range step.Step.ToolExecutions {
			require.Equal(t, fmt.Sprintf("4711 by %s %s", name, x.AgentID), call.Value)
			calls++
		}
	}
	require.Equal(t, steps, calls)
	status, err := s.agents.Status(ctx, name)
	require.NoError(t, err)
	require.Greater(t, status.History.Runs, 1)
	require.Equal(t, domain.Trusted{"customer": json.RawMessage(`4711`)}, status.Trusted)

	info := s.asDescribed(t, x)
	require.NotContains(t, info, "4711", "neither id, memo nor search attribute has it")
}

// asDescribed is what the server says of an agent's workflow, without its history.
func (s *stack) asDescribed(t *testing.T, of client.Execution) string {
	t.Helper()
	described, err := s.temporal.DescribeWorkflowExecution(within(t), of.WorkflowID, "")
	require.NoError(t, err)
	info := described.GetWorkflowExecutionInfo()
	return info.GetExecution().GetWorkflowId() + info.GetMemo().String() + info.GetSearchAttributes().String()
}
