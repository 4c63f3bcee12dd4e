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

// uneven is an agent with two below it: one that answers at once, and one that takes ten steps, in parts of which it starts
// a leaf.
func uneven(t *testing.T) domain.Definition {
	t.Helper()
	const (
		used  = "usage: {input_tokens: 10, output_tokens: 5}"
		look  = "  - {tool_calls: [{name: echo, arguments: {text: x}}], " + used + "}\n"
		spawn = "  - {tool_calls: [{name: spawn_subagent, arguments: {subagent: leaf, prompt: look}}], " + used + "}\n"
		found = "  - {text: found, " + used + "}\n"
	)
	root := scripted(writeScript(t, "turns:\n  - {tool_calls: [{name: spawn_subagent, arguments: {subagent: quick, prompt: a}}, "+
		"{name: spawn_subagent, arguments: {subagent: long, prompt: b}}], "+used+"}\n  - {text: done, "+used+"}\n"), "echo")
	root.Subagents = map[string]domain.Subagent{"quick": {Agent: "leaf", InheritsTools: true}, "long": {Agent: "long", InheritsTools: true}}
	root.Agents = map[string]domain.Definition{
		"leaf": {Model: scripted(writeScript(t, "turns:\n"+found)).Model},
		"long": {
			Model:     scripted(writeScript(t, "turns:\n"+strings.Repeat(look, 3)+spawn+strings.Repeat(look, 4)+found)).Model,
			Subagents: map[string]domain.Subagent{"leaf": {Agent: "leaf", InheritsTools: true}},
		},
	}
	return root
}

// TestASubagentAsksForMoreOfTheBudget, on a server: it gets what another has left, history tells the same of both, and who
// reads the tree sees it.
func TestASubagentAsksForMoreOfTheBudget(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	begun := s.starts(t, client.Start{Prompt: "go", Definition: uneven(t), Budget: domain.ExecutionBudget{MaxSteps: new(int64(16))}})
	s.completed(t, begun.ID, 0)
	long := children(begun.ExecutionID, 2)[1]
	for _, step := range s.steps(t, begun.ID, 0) {
		for i, call := range step.Step.ToolExecutions {
			effects := []string{`[]`, `[{"tool":"echo","done":7,"unknown":0}]`}[i]
			require.JSONEq(t, `{"status":"completed","stop_reason":"completed","answer":"found","effects":`+effects+`}`, call.Value)
		}
	}
	tree, err := s.agents.Tree(within(t), begun.ID, 0)
	require.NoError(t, err)
	require.Zero(t, tree.Children[0].MoreGranted)
	require.Positive(t, tree.Children[1].MoreGranted)
	require.GreaterOrEqual(t, *tree.Children[1].Grant.MaxSteps, int64(10))
	require.Len(t, tree.Children[0].Grants, 1)
	grants := tree.Children[1].Grants
	require.Greater(t, len(grants), 1)
	require.Equal(t, domain.LimitSteps, grants[1].Asked.Limit)
	require.Equal(t, tree.Children[1].Grant, &grants[len(grants)-1].Grant)
	v := s.explains(t, long, 0)
	require.Equal(t, *tree.Children[1].Grant.MaxSteps, *v.Budget[0].Total, "the sub-agent's history tells it, too")
	status := s.status(t, begun.ID)
	require.Equal(t, int64(16-2-1-9-1), *status.Ledger.Own().Left.MaxSteps)
}

// TestATreeOverKillsKeepsToItsBudget: workers die in the middle of inferences, agents go on in other runs and ask for more.
func TestATreeOverKillsKeepsToItsBudget(t *testing.T) {
	t.Parallel()
	s := connect(t, "continuing", continuing)
	deaths := s.mortals(t)
	runs := 0
	for _, steps := range []int64{16, 13} {
		definition := uneven(t)
		for _, name := range []string{"leaf", "long"} {
			agent := definition.Agents[name]
			agent.Model.Provider = "mortal"
			definition.Agents[name] = agent
		}
		begun := s.starts(t, client.Start{Prompt: "go", Definition: definition, Budget: domain.ExecutionBudget{
			MaxSteps: &steps, MaxTokens: new(int64(6000)),
		}})
		result := s.completed(t, begun.ID, 0)
		require.LessOrEqual(t, result.Outcome.Usage.TotalTokens(), int64(6000))
		tree, err := s.agents.Tree(within(t), begun.ID, 0)
		require.NoError(t, err)
		var used, made int64
		for agent := range tree.All() {
			used, made = used+agent.Own.Usage.TotalTokens(), made+int64(*agent.Steps)
		}
		require.Equal(t, result.Outcome.Usage.TotalTokens(), used, "by the account of each agent")
		require.LessOrEqual(t, made, steps)
		long := s.status(t, children(begun.ExecutionID, 2)[1])
		runs = max(runs, long.History.Runs)
	}
	require.Positive(t, deaths.Load())
	require.Greater(t, runs, 1, "it has gone on in another run")
}

// TestAStopReachesThoseThatAsk for more, and wait for that.
func TestAStopReachesThoseThatAsk(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	definition := uneven(t)
	quick := definition.Agents["leaf"]
	quick.Model = scripted(writeScript(t, slowLeaf)).Model
	definition.Agents["leaf"] = quick
	begun := s.starts(t, client.Start{Prompt: "go", Definition: definition, Budget: domain.ExecutionBudget{MaxSteps: new(int64(8))}})
	long := children(begun.ExecutionID, 2)[1]
	s.doing(t, long, "asking for more of max_steps")
	s.stops(t, begun.ID, client.StopOptions{Mode: contract.StopNow, Reason: "enough"})
	require.Equal(t, domain.UserRequested, s.result(t, begun.ID, 0).Outcome.StopReason)
	require.Equal(t, domain.UserRequested, s.status(t, long).StopReason)
	for _, event := range s.historyNow(t, domain.WorkflowID(long), "").Events {
		require.NotEqual(t, string(contract.SignalGrant), event.GetWorkflowExecutionSignaledEventAttributes().GetSignalName(), "it could come before the stop")
	}
}
