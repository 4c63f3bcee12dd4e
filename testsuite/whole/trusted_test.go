package whole_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
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

// TestCLITrustsTheStarter: a value is the session's, for a message more are taken and none is changed; status, with no
// worker too, and explain show them; agents are found by those that may be indexed.
func TestCLITrustsTheStarter(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{whom()}})
	c := newCLI(t).at(s)
	model := c.script("a.yaml", `turns: [{tool_calls: [{name: whom, arguments: {}}]}, {text: '{{ result "whom" }}'}, {text: two}]`)
	id := s.named("shop")
	indexing := c.on("EVERSTEP_INDEX_TRUSTED=customer")
	customer := fmt.Sprintf("--with=customer:=%d", hexOf(s.queue))
	said := indexing.ok("run", "--id", id, "--model", model, "--tool", "whom", customer, "--with", "tier=gold", "For whom?")
	require.Contains(t, said, fmt.Sprint(hexOf(s.queue), " by ", id))
	require.Eventually(t, func() bool { return len(listed(t, indexing.ok("list", "--json", customer))) == 1 }, patience, 100*time.Millisecond)
	require.Equal(t, []string{id}, listed(t, indexing.ok("list", "--json", customer)))
	require.Empty(t, listed(t, indexing.ok("list", "--json", "--with", "customer:=1")))
	refused := c.do("list", customer)
	require.Equal(t, 2, refused.code)
	require.Contains(t, refused.err, "trusted.customer: agents are not found by it")

	other := c.do("send", id, "--with", "tier=lead", "More?")
	require.Equal(t, 6, other.code, other.err)
	require.Contains(t, other.err, "trusted.tier: has another value already, which stays as it is")
	require.Equal(t, "two\n", c.ok("send", id, "--with", "order=A-7", "--wait", "More?"))
	want := map[string]any{"customer": float64(hexOf(s.queue)), "tier": "gold", "order": "A-7"}
	shown := func() map[string]any {
		var status struct {
			Trusted map[string]any `json:"trusted"`
		}
		require.NoError(t, json.Unmarshal([]byte(c.ok("status", id, "--json")), &status))
		return status.Trusted
	}
	require.Equal(t, want, shown())
	require.Contains(t, c.ok("explain", id), `order="A-7", tier="gold"`)
	s.worker.Stop()
	require.Equal(t, want, shown(), "history tells it too")
}

// hexOf is a number that no other test's queue has.
func hexOf(queue string) (n int) {
	_, _ = fmt.Sscanf(queue[len(queue)-6:], "%x", &n)
	return n
}

// listed are the ids of a list.
func listed(t *testing.T, text string) (ids []string) {
	t.Helper()
	var all []struct {
		ID string `json:"id"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &all))
	for _, one := range all {
		ids = append(ids, one.ID)
	}
	return ids
}
