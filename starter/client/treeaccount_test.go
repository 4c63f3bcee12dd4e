package client

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// wood is nora with sub-agents as accounts tell of them, each with what it has used: its own is 50 tokens.
type wood struct {
	forest
	root account.Account
	// estimated says that what she has used in all is, in part, an estimate.
	estimated bool
}

// plant has nora start a sub-agent, whose account is there where it has used anything.
func (w *wood) plant(position int, ended *domain.SubagentCompleted, status domain.ExecutionStatus, tokens int64) domain.AgentID {
	call := nth(1).Step(1).Tool(position)
	head := domain.EventHeader{AgentID: nora.id, ExecutionID: nth(1), Step: 1, Time: at(2).AsTime()}
	grant := domain.ExecutionBudget{MaxTokens: new(int64(500))}
	w.root.Events = append(w.root.Events, domain.Event{Type: domain.EventSubagentSpawning, EventHeader: head, Data: domain.SubagentSpawning{Subagent: "leaf", ChildID: call.Subagent(), ToolExecutionID: call, Grant: grant}})
	if ended != nil {
		ended.ChildID = call.Subagent()
		w.root.Events = append(w.root.Events, domain.Event{Type: domain.EventSubagentCompleted, EventHeader: head, Data: *ended})
	}
	if tokens > 0 {
		child := underWay()
		e := account.Execution{Outcome: contract.Outcome{AgentID: call.Subagent(), ExecutionID: call.Subagent().Execution("run-1", 1), Number: 1, Status: status, Steps: 1, Usage: usage(tokens, 0), Priced: true}}
		child.Executions, child.Steps = []account.Execution{e}, nil
		child.Head.AgentID, child.Head.Name, child.Head.Newest, child.Head.State = call.Subagent(), "", &e, nil
		f := newFake(newRun("run-1", nil))
		f.query = answersAccount(child)
		w.by[domain.WorkflowID(call.Subagent().String())] = f
	}
	return call.Subagent()
}

// tree reads nora's, who has used so many tokens in all by her own account.
func (w *wood) tree(t *testing.T, tokens int64) Tree {
	t.Helper()
	w.root.Executions[0].Usage = usage(tokens, 0)
	w.root.Executions[0].Usage.Estimated = w.estimated
	w.root.Head.Newest = &w.root.Executions[0]
	f := newFake(newRun("run-1", nil))
	f.query = answersAccount(w.root)
	w.by["agent/nora"] = f
	tree, err := New(&w.forest, Config{Loopback: true}).Tree(t.Context(), "nora", 0)
	require.NoError(t, err)
	return tree
}

func newWood() *wood { return &wood{forest: forest{by: map[string]*fakeServer{}}, root: underWay()} }

// TestTree: each agent is told with what it used itself and in all. What is gone is told by the agent that started it.
func TestTree(t *testing.T) {
	t.Parallel()
	w := newWood()
	done := &domain.SubagentCompleted{Status: domain.StatusCompleted, StopReason: domain.Completed, Usage: usage(100, 0), Steps: 1}
	w.plant(0, done, domain.StatusCompleted, 100)
	gone := &domain.SubagentCompleted{Status: domain.StatusStopped, StopReason: domain.StepsLimitReached, Usage: usage(200, 0), Steps: 2}
	w.plant(1, gone, "", 0)
	w.plant(2, nil, domain.StatusInProgress, 7)
	w.plant(3, nil, "", 0)
	w.root.Executions[0].Priced = true
	tree := w.tree(t, 350)
	require.Equal(t, []bool{true, false}, []bool{tree.Own.CostNanoUSD != nil, tree.Total.CostNanoUSD != nil}, "nobody knows what the one that is gone has cost")
	require.Equal(t, []int64{50, 357}, []int64{tree.Own.Usage.TotalTokens(), tree.Total.Usage.TotalTokens()})
	var status []domain.ExecutionStatus
	var tokens []int64
	for _, child := range tree.Children {
		status, tokens = append(status, child.Status), append(tokens, child.Total.Usage.TotalTokens())
		require.Equal(t, []any{nora.id, "leaf", 1, 1}, []any{child.ParentAgentID, child.Subagent, child.Depth, child.Step})
	}
	require.Equal(t, []domain.ExecutionStatus{domain.StatusCompleted, domain.StatusStopped, domain.StatusInProgress, domain.StatusInProgress}, status)
	require.Equal(t, []int64{100, 200, 7, 0}, tokens)
	require.Equal(t, 2, *tree.Children[1].Steps)
	require.Contains(t, tree.Children[1].Gone, "has been deleted")
	require.Empty(t, tree.Children[3].Gone, "it is not there yet")
}

// TestWhatAnAgentHasEstimatedIsMarked as its own, also where a sub-agent's use is an estimate too.
func TestWhatAnAgentHasEstimatedIsMarked(t *testing.T) {
	t.Parallel()
	for own, want := range map[bool]bool{true: true, false: false} {
		w := newWood()
		estimate := usage(100, 0)
		estimate.Estimated = true
		w.plant(0, &domain.SubagentCompleted{Status: domain.StatusFailed, Code: domain.CodeTerminated, Lost: true, Usage: estimate}, "", 0)
		reply := domain.InferenceResponseReceived{Usage: domain.Usage{InputTokens: 50, Estimated: own}}
		w.root.Events = append(w.root.Events, domain.Event{Type: domain.EventInferenceReceived, EventHeader: domain.EventHeader{ExecutionID: nth(1), Step: 1}, Data: reply})
		w.estimated = true
		tree := w.tree(t, 150)
		require.Equal(t, int64(50), tree.Own.Usage.TotalTokens())
		require.Equal(t, want, tree.Own.Usage.Estimated)
		require.True(t, tree.Total.Usage.Estimated)
	}
}

// TestATreeAfterAReset: the sub-agent that has completed before its parent was reset was not started again, and is told as it
// is. What it used the parent has not counted.
func TestATreeAfterAReset(t *testing.T) {
	t.Parallel()
	w := newWood()
	w.plant(0, &domain.SubagentCompleted{Status: domain.StatusFailed, Code: domain.CodeNotRun, Lost: true, Unstarted: true}, domain.StatusCompleted, 70)
	w.plant(1, &domain.SubagentCompleted{Status: domain.StatusFailed, Code: domain.CodeNotRun, Lost: true, Unstarted: true}, "", 0)
	w.root.Executions[0].Priced = true
	tree := w.tree(t, 50)
	require.NotNil(t, tree.Total.CostNanoUSD)
	require.Equal(t, domain.StatusCompleted, tree.Children[0].Status)
	require.Empty(t, tree.Children[0].Code)
	require.Equal(t, int64(70), tree.Children[0].Total.Usage.TotalTokens())
	require.Equal(t, []int64{50, 120}, []int64{tree.Own.Usage.TotalTokens(), tree.Total.Usage.TotalTokens()})
	require.Equal(t, []any{domain.StatusFailed, domain.CodeNotRun, ""}, []any{tree.Children[1].Status, tree.Children[1].Code, tree.Children[1].Gone}, "it never ran")
}

// TestWhatSubagentsWaitFor is told with what the agent itself waits for.
func TestWhatSubagentsWaitFor(t *testing.T) {
	t.Parallel()
	w := newWood()
	child := w.plant(0, nil, domain.StatusInProgress, 7)
	w.root.Head.Children = []contract.SubagentView{{AgentID: child, Subagent: "leaf"}}
	f := w.by[domain.WorkflowID(child.String())]
	told := f.query
	f.query = func(ctx context.Context, run, query string, in any) (any, error) {
		answer, err := told(ctx, run, query, in)
		page := answer.(account.Page)
		head := *page.Head
		head.Waits = []domain.Wait{{Kind: domain.WaitApproval, Tool: "pay"}}
		page.Head = &head
		return page, err
	}
	w.tree(t, 50)
	waits := collected(t, New(&w.forest, Config{Loopback: true}).WaitingBelow(t.Context(), "nora"))
	require.Len(t, waits, 1)
	require.Equal(t, []string{child.String(), "pay"}, []string{waits[0].ID, waits[0].Tool})
}
