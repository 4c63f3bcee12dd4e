package workflows_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// unlike is a tool whose results are never the same.
func unlike() func(contract.ToolRequest) (contract.ToolReply, error) {
	var mu sync.Mutex
	n := 0
	return func(contract.ToolRequest) (contract.ToolReply, error) {
		mu.Lock()
		defer mu.Unlock()
		n++
		return contract.ToolReply{Content: fmt.Sprint("seen ", n)}, nil
	}
}

// TestASubagentAsksForMore than its share, once another has left some.
func TestASubagentAsksForMore(t *testing.T) {
	t.Parallel()
	price := &domain.Price{Input: 1_000_000_000, Output: 1_000_000_000}
	for limit, budget := range map[domain.Limit]domain.ExecutionBudget{
		domain.LimitSteps: {MaxSteps: number(13)}, domain.LimitTokens: {MaxTokens: number(600)},
		domain.LimitCost: {MaxCostNanoUSD: number(600_000)}, domain.LimitToolCalls: {MaxToolCalls: number(13)},
	} {
		t.Run(string(limit), func(t *testing.T) {
			t.Parallel()
			var quick domain.ExecutionID
			w := family(spawnsOnce("leaf", "quick", "long"), nil)
			w.tool = unlike()
			root := w.model
			w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
				if r.Resolved != leafDigest {
					return root(r)
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				if quick.IsZero() {
					quick = r.ExecutionID
				}
				if r.ExecutionID == quick || r.Step == 9 {
					return says("found"), nil
				}
				return looksOn(r)
			}
			env := w.environment(t)
			reachesRoot(env)
			execute(env, input(t, "", withLeaf, func(in *contract.SessionInput) {
				in.Budget, in.Definition.Model.Price = budget, price
				in.Definition.Agents = map[string]domain.Definition{"leaf.yaml": {SystemPrompt: "leaf", Model: in.Definition.Model}}
			}))
			out := outcome(t, env)
			require.Equal(t, domain.StatusCompleted, out.Status, out.StopReason)
			steps := stepsIn(t, env, 0)
			for _, call := range steps[0].Step.ToolExecutions {
				require.JSONEq(t, `{"status":"completed","stop_reason":"completed","answer":"found","effects":[]}`, call.Value)
			}
			require.NotEmpty(t, dataOf[domain.SubagentGranted](t, env, 0))
			for _, grant := range dataOf[domain.SubagentGranted](t, env, 0) {
				require.Equal(t, limit, grant.Limit)
			}
			left := status(t, env).Ledger.Own().Left
			require.False(t, exhausted(left, domain.Spent{}, time.Time{}) && limit != domain.LimitSteps)
		})
	}
}

// TestAllThatAskAreRefusedInTurn where nobody has anything to give back: each ends, and leaves what it has to the next.
func TestAllThatAskAreRefusedInTurn(t *testing.T) {
	t.Parallel()
	w := family(spawnsOnce("leaf", "a", "b", "c"), looksOn)
	w.tool = unlike()
	env := w.environment(t)
	reachesRoot(env)
	began := env.Now()
	execute(env, input(t, "", withLeaf, budgeted(stepsOf(11))))
	out := outcome(t, env)
	require.Equal(t, domain.StatusCompleted, out.Status, out.StopReason)
	require.Less(t, env.Now().Sub(began), time.Minute, "nobody waits in vain")
	for _, call := range executions(t, env) {
		require.JSONEq(t, `{"status":"stopped","stop_reason":"steps_limit","answer":"I look","effects":[]}`, call.Value)
	}
}

func looks(contract.ModelRequest) contract.ModelReply {
	return says("I look", look())
}

// TestAPauseHoldsASubagentThatAskedInVain: what comes while it waits for an answer holds for the inference after it, too.
func TestAPauseHoldsASubagentThatAskedInVain(t *testing.T) {
	t.Parallel()
	asked, before := 0, 0
	w := family(spawnsOnce("leaf", "long"), func(r contract.ModelRequest) (contract.ModelReply, error) {
		asked++
		reply := looks(r)
		reply.Response.Usage = domain.Usage{InputTokens: 1, OutputTokens: min(r.MaxOutputTokens, 600)}
		return reply, nil
	})
	w.tool = unlike()
	env := w.environment(t)
	env.OnSignalExternalWorkflow(mock.Anything, "agent/"+unnamed, mock.Anything, mock.Anything, mock.Anything).Return(nil) // nobody answers
	paused := &verdict{}
	env.RegisterDelayedCallback(func() {
		before = asked
		for _, event := range dataOf[domain.SubagentSpawning](t, env, 0) {
			require.NoError(t, env.UpdateWorkflowByID(domain.WorkflowID(event.ChildID.String()), string(contract.UpdatePause), "p", paused, contract.PauseRequest{}))
		}
	}, 5*time.Minute)
	during := 0
	env.RegisterDelayedCallback(func() {
		during = asked
		signalStop(env, contract.StopRequest{Mode: contract.StopNow})
	}, time.Hour)
	execute(env, input(t, "", withLeaf, budgeted(tokensOf(3000))))
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, paused.rejected)
	require.Positive(t, before)
	require.Equal(t, before, during, "no model is asked while it is paused")
}

// TestNobodyAsksForOneThatIsOver: an agent that has handed a request on does not wait for the answer once the sub-agent
// that has made it is stopped.
func TestNobodyAsksForOneThatIsOver(t *testing.T) {
	t.Parallel()
	w := family(nil, nil)
	w.tool = unlike()
	var below []string // the root comes first
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		switch {
		case r.Resolved == leafDigest:
			return looks(r), nil
		case r.Step > 1:
			return says("done"), nil
		}
		below = append(below, []string{"branch", "leaf"}[len(below)])
		return spawning(below[len(below)-1], "go on"), nil
	}
	env := w.environment(t)
	asked := 0
	env.OnSignalExternalWorkflow(mock.Anything, "agent/"+unnamed, mock.Anything, mock.Anything, mock.Anything).Return(
		func(_, _, _, _ string, _ any) error { asked++; return nil }) // nobody answers
	began := env.Now()
	var leaf string // the one that begins last
	env.SetOnChildWorkflowStartedListener(func(info *workflow.Info, _ workflow.Context, _ converter.EncodedValues) {
		leaf = info.WorkflowExecution.ID
	})
	env.RegisterDelayedCallback(func() {
		require.NoError(t, env.SignalWorkflowByID(leaf, string(contract.SignalStop), contract.StopRequest{Mode: contract.StopNow}))
	}, time.Minute)
	execute(env, input(t, "", func(in *contract.SessionInput) {
		in.Budget, in.Definition.SystemPrompt = stepsOf(9), "root"
		in.Definition.Subagents = map[string]domain.Subagent{"branch": {Agent: "branch", InheritsTools: true}}
		in.Definition.Agents = map[string]domain.Definition{
			"branch": {SystemPrompt: "branch", Model: in.Definition.Model, Subagents: map[string]domain.Subagent{"leaf": {Agent: "leaf", InheritsTools: true}}},
			"leaf":   {SystemPrompt: "leaf", Model: in.Definition.Model},
		}
	}))
	completes(t, env)
	require.Equal(t, 1, asked)
	require.Less(t, env.Now().Sub(began), 2*time.Minute)
}

// TestAGrantThatNobodyGaveIsNone: whoever may signal a sub-agent grants it nothing of what its parent does not have.
func TestAGrantThatNobodyGaveIsNone(t *testing.T) {
	t.Parallel()
	inferences := 0
	w := family(spawnsOnce("leaf", "long"), func(r contract.ModelRequest) (contract.ModelReply, error) {
		inferences++
		return looks(r), nil
	})
	w.tool = unlike()
	env := w.environment(t)
	reachesRoot(env)
	env.SetOnChildWorkflowStartedListener(func(info *workflow.Info, _ workflow.Context, _ converter.EncodedValues) {
		leaf := info.WorkflowExecution.ID
		env.RegisterDelayedCallback(func() {
			for seq := range 3 {
				require.NoError(t, env.SignalWorkflowByID(leaf, string(contract.SignalGrant), contract.Grant{
					Seq: seq, Grant: domain.ExecutionBudget{MaxSteps: number(1000), MaxTokens: number(1_000_000_000)},
				}))
			}
		}, 0)
	})
	execute(env, input(t, "", withLeaf, func(in *contract.SessionInput) {
		in.Budget.MaxSteps, in.Budget.MaxTokens = number(6), number(50_000)
	}))
	out := outcome(t, env)
	require.Equal(t, domain.StatusCompleted, out.Status, out.StopReason)
	require.Equal(t, 4, inferences, "a step each is the root's before and after")
	left := status(t, env).Ledger.Own().Left
	require.Zero(t, *left.MaxSteps)
}

// TestWhatWasSpentBeyondAGrantIsTold, and counts: the agent does no more than its own budget still allows.
func TestWhatWasSpentBeyondAGrantIsTold(t *testing.T) {
	t.Parallel()
	w := family(spawnsOnce("leaf", "long"), func(contract.ModelRequest) (contract.ModelReply, error) {
		reply := says("found")
		reply.Response.Usage = domain.Usage{InputTokens: 1_000_000}
		return reply, nil
	})
	env := w.executed(t, input(t, "", withLeaf, func(in *contract.SessionInput) {
		in.Budget.MaxSteps, in.Budget.MaxTokens = number(6), number(50_000)
	}))
	out := outcome(t, env)
	require.Equal(t, domain.TokenLimitReached, out.StopReason)
	require.Equal(t, 1, out.Steps)
	completed := dataOf[domain.SubagentCompleted](t, env, 0)
	require.Len(t, completed, 1)
	require.Equal(t, domain.LimitTokens, completed[0].Beyond)
}

// exhausted reports whether a limit of a budget is used up.
func exhausted(budget domain.ExecutionBudget, used domain.Spent, now time.Time) bool {
	_, reached := domain.Ledger{Execution: domain.Holder{Budget: budget, Spent: used}}.Reached(now)
	return reached
}
