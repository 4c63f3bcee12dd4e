package whole_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

const (
	treeRoot = `
turns:
  - tool_calls:
    - {name: spawn_subagent, arguments: {subagent: branch, prompt: one}}
    - {name: spawn_subagent, arguments: {subagent: branch, prompt: two}}
    - {name: spawn_subagent, arguments: {subagent: branch, prompt: three}}
    usage: {input_tokens: 10, output_tokens: 5}
  - text: done
    usage: {input_tokens: 10, output_tokens: 5}
`
	quickLeaf = `
turns:
  - tool_calls: [{name: echo, arguments: {text: x}}]
    usage: {input_tokens: 10, output_tokens: 5}
  - text: found
    usage: {input_tokens: 10, output_tokens: 5}
`
	slowLeaf = "turns: [{text: 'so much to say', delay: 10m}]"
)

// tree is an agent with three below it, of which each has three below it.
func tree(t *testing.T, leaf string) domain.Definition {
	t.Helper()
	branch := strings.ReplaceAll(treeRoot, "subagent: branch", "subagent: leaf")
	root := scripted(writeScript(t, treeRoot), "echo")
	root.Subagents = map[string]domain.Subagent{"branch": {Agent: "branch", InheritsTools: true}}
	root.Agents = map[string]domain.Definition{
		"branch": {
			Model:     scripted(writeScript(t, branch)).Model,
			Subagents: map[string]domain.Subagent{"leaf": {Agent: "leaf", InheritsTools: true}},
		},
		"leaf": {Model: scripted(writeScript(t, leaf)).Model},
	}
	return root
}

// children are the ids of the sub-agents of an agent's first step.
func children(execution domain.ExecutionID, n int) (ids []string) {
	for i := range n {
		ids = append(ids, execution.Step(1).Tool(i).Subagent().String())
	}
	return ids
}

// below are the ids of all below the root of a tree, in two levels.
func (s *stack) below(t *testing.T, root domain.ExecutionID) (branches, leaves []string) {
	t.Helper()
	branches = children(root, 3)
	for _, id := range branches {
		require.Eventually(t, func() bool {
			status, err := s.agents.Status(within(t), id)
			if err != nil || status.ExecutionID.IsZero() {
				return false
			}
			leaves = append(leaves, children(status.ExecutionID, 3)...)
			return true
		}, patience, 20*time.Millisecond)
	}
	return branches, leaves
}

func (s *stack) running(ctx context.Context, id string) bool {
	described, err := s.temporal.DescribeWorkflowExecution(ctx, domain.WorkflowID(id), "")
	return err == nil && described.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
}

// TestATreeDrawsFromOneBudget: what all of it used counts in the root's, and history tells the same of each agent.
func TestATreeDrawsFromOneBudget(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	begun := s.starts(t, client.Start{Prompt: "go", Definition: tree(t, quickLeaf), Budget: domain.ExecutionBudget{
		MaxTokens: new(int64(1_000_000)), MaxSteps: new(int64(100)), MaxToolCalls: new(int64(100)),
	}})
	result := s.completed(t, begun.ID, 0)
	require.Equal(t, int64(13*2*15), result.Outcome.Usage.TotalTokens())
	status := s.status(t, begun.ID)
	require.Equal(t, int64(100-26), *status.Ledger.Own().Left.MaxSteps)
	require.Equal(t, int64(100-3-9-9), *status.Ledger.Own().Left.MaxToolCalls)
	branches, leaves := s.below(t, begun.ExecutionID)
	s.seen(t, begun, branches, leaves)
}

// seen looks at a tree from its root, also when the server has deleted the history of the first leaf.
func (s *stack) seen(t *testing.T, root client.Execution, branches, leaves []string) {
	t.Helper()
	all := append(append([]string{root.ID}, branches...), leaves...)
	look := func() (tree client.Tree, ids []string) {
		tree, err := s.agents.Tree(within(t), root.ID, 0)
		require.NoError(t, err)
		var own int64
		for one := range tree.All() {
			ids, own = append(ids, one.ID), own+one.Own.Usage.TotalTokens()
			require.Equal(t, int64(2*15), one.Own.Usage.TotalTokens(), one.Gone)
			require.Equal(t, domain.StatusCompleted, one.Status)
			require.Equal(t, 2, *one.Steps)
		}
		require.Equal(t, int64(13*2*15), own)
		require.Equal(t, own, tree.Total.Usage.TotalTokens())
		require.ElementsMatch(t, all, ids)
		return tree, ids
	}
	look()
	require.Eventually(t, func() bool { return len(s.listed(t, client.ListFilter{Parent: branches[0]})) == 3 }, patience, 50*time.Millisecond)
	for _, l := range s.listed(t, client.ListFilter{Parent: branches[0]}) {
		require.Contains(t, leaves[:3], l.ID)
		require.Equal(t, branches[0], l.ParentID)
	}
	for _, l := range s.listed(t, client.ListFilter{Roots: true}) {
		require.NotContains(t, all[1:], l.ID)
	}
	steps := func() (told map[string]int, gone []string) {
		told = map[string]int{}
		for at, err := range s.agents.TreeSteps(within(t), root.ID, 0) {
			switch {
			case errors.Is(err, &client.Error{Class: client.Gone}):
				gone = append(gone, err.Error())
			case err != nil:
				require.NoError(t, err)
			case at.Step != nil:
				told[at.Agent.ID]++
			}
		}
		return told, gone
	}
	told, gone := steps()
	require.Len(t, told, 13)
	require.Empty(t, gone)
	ends := map[string]int{}
	for e, err := range s.agents.Follow(within(t), root.ID, client.FollowOptions{Tree: true}) {
		require.NoError(t, err)
		require.NotEqual(t, client.EventGone, e.Type)
		if e.Ended != nil {
			ends[e.Ended.AgentID.String()]++
		}
	}
	require.Len(t, ends, 13)
	s.forgets(t, leaves[0])
	tree, _ := look()
	require.NotEmpty(t, tree.Children[0].Children[0].Gone, "it is told as gone, and not left out")
	told, gone = steps()
	require.Len(t, told, 12)
	require.Len(t, gone, 1)
	require.Contains(t, gone[0], leaves[0])
}

func (s *stack) listed(t *testing.T, filter client.ListFilter) (all []client.Listed) {
	t.Helper()
	for l, err := range s.agents.List(within(t), client.ListOptions{ListFilter: filter}) {
		require.NoError(t, err)
		all = append(all, l)
	}
	return all
}

// TestAStopNowEndsATree of thirteen agents, wherever they are.
func TestAStopNowEndsATree(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	begun := s.starts(t, client.Start{Prompt: "go", Definition: tree(t, slowLeaf)})
	branches, leaves := s.below(t, begun.ExecutionID)
	for _, id := range leaves {
		require.Eventually(t, func() bool {
			status, err := s.agents.Status(within(t), id)
			return err == nil && strings.Contains(status.Doing, "waiting for the model")
		}, patience, 20*time.Millisecond)
	}
	asked := time.Now()
	s.stops(t, begun.ID, client.StopOptions{Mode: contract.StopNow, Reason: "enough"})
	result := s.result(t, begun.ID, 0)
	took := time.Since(asked)
	t.Logf("a stop now ended 13 agents in %s", took)
	require.Equal(t, domain.StatusStopped, result.Outcome.Status)
	require.Less(t, took, 55*time.Second, "2 s on a machine with nothing else to do; whoever is given up has a minute")
	for _, id := range append(branches, leaves...) {
		require.False(t, s.running(within(t), id), "it is over before the one that started it")
		status := s.status(t, id)
		require.Equal(t, domain.UserRequested, status.StopReason)
	}
}

// TestNoSubagentOutlivesItsAgent that the server's own tools have terminated: nothing of the tree runs, and what reads it says so
// of each agent.
func TestNoSubagentOutlivesItsAgent(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	begun := s.starts(t, client.Start{Prompt: "go", Definition: tree(t, slowLeaf)})
	branches, leaves := s.below(t, begun.ExecutionID)
	for _, leaf := range leaves {
		s.doing(t, leaf, "waiting for the model")
	}
	require.NoError(t, s.temporal.TerminateWorkflow(within(t), begun.WorkflowID, "", "by force"))
	s.nothingRuns(t)
	for _, id := range append(append([]string{begun.ID}, branches...), leaves...) {
		status := s.status(t, id)
		require.Equal(t, []any{domain.StatusFailed, false}, []any{status.Status, status.Open}, id)
		require.Equal(t, domain.CodeTerminated, status.Failure().Code)
		_, err := s.agents.Send(within(t), id, client.SendOptions{Prompt: "more", IfBusy: contract.SteerIfBusy})
		require.ErrorIs(t, err, &client.Error{Class: client.Refused})
	}
}

// TestASubagentTerminatedFromOutside is an error of its call, and has spent what it was granted.
func TestASubagentTerminatedFromOutside(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	definition := tree(t, slowLeaf)
	definition.Subagents["branch"] = domain.Subagent{Agent: "leaf"}
	begun := s.starts(t, client.Start{Prompt: "go", Definition: definition, Budget: domain.ExecutionBudget{MaxSteps: new(int64(10))}})
	for _, id := range children(begun.ExecutionID, 3) {
		require.Eventually(t, func() bool { return s.running(within(t), id) }, patience, 20*time.Millisecond)
		require.NoError(t, s.temporal.TerminateWorkflow(within(t), domain.WorkflowID(id), "", "by force"))
	}
	s.completed(t, begun.ID, 0)
	status := s.status(t, begun.ID)
	require.Zero(t, *status.Ledger.Own().Left.MaxSteps, "all else counts as spent")
	for _, step := range s.steps(t, begun.ID, 0) {
		for _, call := range step.Step.ToolExecutions {
			require.Equal(t, domain.CodeTerminated, call.Error.Code)
		}
	}
}
