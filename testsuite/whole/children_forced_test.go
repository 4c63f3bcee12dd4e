package whole_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// TestATreeTerminatedByForce, from its root: nothing of it runs, and what reads it says so of each agent.
func TestATreeTerminatedByForce(t *testing.T) {
	long(t)
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	begun, err := s.agents.Start(within(t), client.Start{Prompt: "go", Definition: tree(t, slowLeaf)})
	require.NoError(t, err)
	branches, leaves := s.below(t, begun.ExecutionID)
	for _, leaf := range leaves {
		s.doing(t, leaf, "waiting for the model")
	}
	require.NoError(t, s.temporal.TerminateWorkflow(within(t), begun.WorkflowID, "", "by force"))
	s.nothingRuns(t)
	listed := map[string]client.Listed{}
	for one, err := range s.agents.List(within(t), client.ListOptions{}) {
		require.NoError(t, err)
		listed[one.ID] = one
	}
	for _, id := range append(append([]string{begun.ID}, branches...), leaves...) {
		status, err := s.agents.Status(within(t), id)
		require.NoError(t, err)
		require.Equal(t, []any{domain.StatusFailed, false}, []any{status.Status, status.Open}, id)
		require.NotNil(t, status.Failure())
		require.Equal(t, domain.CodeTerminated, status.Failure().Code)
		require.Empty(t, status.Waits)
		require.Equal(t, domain.StatusFailed, listed[id].Status)
		for step, err := range s.agents.Steps(within(t), id, 0) {
			require.NoError(t, err, "%v", step)
		}
		result, err := s.agents.Result(within(t), id, 0)
		require.NoError(t, err)
		require.Equal(t, domain.StatusFailed, result.Outcome.Status)
		_, err = s.agents.Send(within(t), id, client.SendOptions{Prompt: "more", IfBusy: contract.SteerIfBusy})
		require.ErrorIs(t, err, &client.Error{Class: client.Refused})
	}
}

// TestAHundredSubagentsAtOnce: some wait for their turns, each is asked once, and nothing is left of them.
func TestAHundredSubagentsAtOnce(t *testing.T) {
	long(t)
	t.Parallel()
	s := start(t, host.Config{})
	const all = 100
	calls := strings.Repeat("{name: spawn_subagent, arguments: {subagent: leaf, prompt: look}}, ", all)
	root := scripted(writeScript(t, "turns: [{tool_calls: ["+calls+"], usage: {input_tokens: 10, output_tokens: 5}}, {text: done, usage: {input_tokens: 10, output_tokens: 5}}]"))
	root.Subagents = map[string]domain.Subagent{"leaf": {Agent: "leaf"}}
	root.Agents = map[string]domain.Definition{"leaf": {Model: scripted(writeScript(t, "turns: [{text: found, usage: {input_tokens: 10, output_tokens: 5}}]")).Model}}
	begun, err := s.agents.Start(within(t), client.Start{Prompt: "go", Definition: root, Budget: domain.ExecutionBudget{MaxSteps: new(int64(200))}})
	require.NoError(t, err)
	result, err := s.waits(within(t), begun.ID, 0)
	require.NoError(t, err)
	require.Equal(t, "done", result.Answer, "%v", result.Error)
	steps := collect(t, s.agents.Steps(within(t), begun.ID, 0))
	require.Len(t, steps[0].Step.ToolExecutions, all)
	for _, call := range steps[0].Step.ToolExecutions {
		require.JSONEq(t, `{"status":"completed","stop_reason":"completed","answer":"found","effects":[]}`, call.Value)
	}
	require.Equal(t, int64(15*(all+2)), result.Outcome.Usage.TotalTokens())
	s.nothingRuns(t)
}

// TestARingOfSubagents ends at its depth: two agents that start each other, and one that starts itself.
func TestARingOfSubagents(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	starts := func(name string) string {
		return "turns: [{tool_calls: [{name: spawn_subagent, arguments: {subagent: " + name + ", prompt: look}}]}, {text: done}]"
	}
	agent := func(other string) domain.Definition {
		d := scripted(writeScript(t, starts(other)))
		d.Subagents = map[string]domain.Subagent{other: {Agent: other}}
		return d
	}
	for name, root := range map[string]domain.Definition{"two": agent("a"), "itself": agent("self")} {
		root.Agents = map[string]domain.Definition{"a": agent("b"), "b": agent("a")}
		if name == "itself" {
			root.Agents = map[string]domain.Definition{"self": agent("self")}
		}
		begun, err := s.agents.Start(within(t), client.Start{Prompt: "go", Definition: root})
		require.NoError(t, err, name)
		result, err := s.waits(within(t), begun.ID, 0)
		require.NoError(t, err)
		require.Equal(t, []any{domain.StatusCompleted, "done"}, []any{result.Outcome.Status, result.Answer}, name)
		// Those at the deepest level are not offered the tool, so their call is an error.
		id, depth := begun.ExecutionID, 0
		for ; ; depth++ {
			child := children(id, 1)[0]
			status, err := s.agents.Status(within(t), child)
			if err != nil {
				require.ErrorIs(t, err, &client.Error{Class: client.NotFound})
				break
			}
			id = status.ExecutionID
		}
		require.Equal(t, domain.DefaultMaxDepth, depth, name)
	}
	s.nothingRuns(t)
}
