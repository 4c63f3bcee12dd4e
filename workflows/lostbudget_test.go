package workflows_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// budgetMemos are what a run writes of its session's budget, in their order.
func budgetMemos(env *testsuite.TestWorkflowEnvironment) *[]contract.SessionMemo {
	var all []contract.SessionMemo
	env.OnUpsertMemo(mock.Anything).Return(nil).Run(func(args mock.Arguments) {
		if memo, ok := args.Get(0).(map[string]any)[contract.MemoSessionBudget].(contract.SessionMemo); ok {
			all = append(all, memo)
		}
	})
	return &all
}

// withoutBudget is a run's input as a worker hands it on that knows of no budget over a session.
func withoutBudget(t *testing.T, in contract.SessionInput) contract.SessionInput {
	t.Helper()
	in.Definition.SessionBudget = domain.ExecutionBudget{}
	if in.Carry.Resolved != nil {
		in.Carry.Resolved.Definition.SessionBudget = domain.ExecutionBudget{}
	}
	if in.Carry.Next != nil {
		in.Carry.Next.Definition.SessionBudget = domain.ExecutionBudget{}
	}
	var state map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(in.Carry.State, &state))
	delete(state, "session_account")
	var err error
	in.Carry.State, err = json.Marshal(state)
	require.NoError(t, err)
	return in
}

func accountOf(steps int64, spent domain.Spent) *domain.SessionAccount {
	return &domain.SessionAccount{Budget: stepsOf(steps), Spent: spent}
}

// TestASessionsBudgetThatAnOlderWorkerLost holds again by the memo, with all that is known to be spent of it; where nobody
// knows that, nothing is left until somebody extends it.
func TestASessionsBudgetThatAnOlderWorkerLost(t *testing.T) {
	t.Parallel()
	steps := func(n int64) domain.Spent { return domain.Spent{Steps: n, Tokens: 15 * n} }
	for name, test := range map[string]struct {
		memo  any
		spent int64 // zero: there is no budget
		limit int64
		done  int
	}{
		"in this execution":              {contract.SessionMemo{Account: accountOf(5, domain.Spent{})}, 5, 5, 5},
		"with what was spent before":     {contract.SessionMemo{Account: accountOf(9, steps(4))}, 9, 9, 5},
		"it is all counted already":      {contract.SessionMemo{Account: accountOf(9, steps(4)), Executions: 1}, 9, 9, 5},
		"an update's, adopted":           {contract.SessionMemo{Account: accountOf(50, steps(4)), Next: new(stepsOf(9))}, 9, 9, 5},
		"an update's, the first":         {contract.SessionMemo{Next: new(stepsOf(5))}, 5, 5, 5},
		"nobody knows what was spent":    {contract.SessionMemo{Account: accountOf(50, domain.Spent{}), Executions: -1}, 3, 0, 3},
		"nobody can read it":             {"what?", 3, 0, 3},
		"it makes no sense":              {contract.SessionMemo{Account: &domain.SessionAccount{Budget: domain.ExecutionBudget{MaxSeconds: new(9.0)}}}, 3, 0, 3},
		"an update took it away":         {contract.SessionMemo{Account: accountOf(5, domain.Spent{}), Next: &domain.ExecutionBudget{}}, 0, 0, 9},
		"there was none":                 {nil, 0, 0, 9},
		"there was none, and it is told": {contract.SessionMemo{Executions: 1}, 0, 0, 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := steady(8, false)
			env := w.environment(t)
			outgrows(env, 3)
			env.ExecuteWorkflow(string(contract.Execute), input(t, "", ofSession(stepsOf(100))))
			next, ok := handedOn(t, env)
			require.True(t, ok)

			env = w.environment(t)
			if test.memo != nil {
				require.NoError(t, env.SetMemoOnStart(map[string]any{contract.MemoSessionBudget: test.memo}))
			}
			env.ExecuteWorkflow(string(contract.Execute), withoutBudget(t, next))
			out := outcome(t, env)
			require.Equal(t, test.done, out.Steps)
			if test.spent == 0 {
				require.Nil(t, out.SessionSpent)
				require.Equal(t, domain.StatusCompleted, out.Status)
				return
			}
			require.Equal(t, test.spent, out.SessionSpent.Steps)
			require.True(t, out.SessionLimit)
			require.Equal(t, test.limit, *status(t, env).SessionBudget.MaxSteps)
		})
	}
}

// TestALostBudgetIsExtended: an older worker has run executions that nobody has counted. Nothing begins, until somebody
// gives the session a higher total.
func TestALostBudgetIsExtended(t *testing.T) {
	t.Parallel()
	w := pairs()
	env := w.environment(t)
	for at, id := range []string{"u1", "u2"} {
		sends(env, time.Duration(at+1)*time.Hour, id, contract.SendRequest{Prompt: "more"})
	}
	env.RegisterDelayedCallback(func() { env.SetContinueAsNewSuggested(true) }, 150*time.Minute)
	sends(env, 3*time.Hour, "u3", contract.SendRequest{Prompt: "more"})
	env.ExecuteWorkflow(string(contract.Execute), input(t, "ann"))
	next, ok := handedOn(t, env)
	require.True(t, ok)

	env = w.environment(t)
	require.NoError(t, env.SetMemoOnStart(map[string]any{contract.MemoSessionBudget: contract.SessionMemo{Account: accountOf(30, domain.Spent{})}}))
	memos := budgetMemos(env)
	refused := sends(env, 24*time.Hour, "u4", contract.SendRequest{Prompt: "more"})
	extendsSession(env, 25*time.Hour, "u5", stepsOf(32))
	went := sends(env, 26*time.Hour, "u6", contract.SendRequest{Prompt: "more"})
	closes(env, 27*time.Hour, "u7")
	env.ExecuteWorkflow(string(contract.Execute), next)
	require.ErrorContains(t, refused.rejected, "nothing is left of the session's budget: the session's max_steps is 30 and 30 are done")
	require.NoError(t, went.rejected)
	require.Equal(t, int64(32), outcome(t, env).SessionSpent.Steps)
	require.Equal(t, int64(30), (*memos)[0].Account.Spent.Steps, "it is told as it holds again")
	require.Equal(t, int64(32), *(*memos)[1].Account.Budget.MaxSteps)
}

// TestAnUpdatesBudgetThatAnOlderWorkerLost before the execution that it waits for.
func TestAnUpdatesBudgetThatAnOlderWorkerLost(t *testing.T) {
	t.Parallel()
	w := pairs()
	env := w.environment(t)
	memos := budgetMemos(env)
	redefines(env, time.Hour, "u1", contract.RedefineRequest{Definition: domain.Definition{SessionBudget: stepsOf(1)}, Fields: []string{"session_budget"}})
	env.RegisterDelayedCallback(func() { env.SetContinueAsNewSuggested(true) }, 90*time.Minute)
	updates(env, 2*time.Hour, contract.UpdateClear, "u2", contract.ClearRequest{})
	env.ExecuteWorkflow(string(contract.Execute), input(t, "ann"))
	next, ok := handedOn(t, env)
	require.True(t, ok)
	require.Equal(t, []contract.SessionMemo{{Executions: 1, Next: new(stepsOf(1))}}, *memos)

	env = w.environment(t)
	require.NoError(t, env.SetMemoOnStart(map[string]any{contract.MemoSessionBudget: (*memos)[0]}))
	sends(env, 24*time.Hour, "u3", contract.SendRequest{Prompt: "more"})
	closes(env, 27*time.Hour, "u4")
	env.ExecuteWorkflow(string(contract.Execute), withoutBudget(t, next))
	require.Equal(t, []any{true, int64(1)}, []any{outcome(t, env).SessionLimit, outcome(t, env).SessionSpent.Steps})
}

// TestASessionThatBeganOnAnOlderWorker is bounded from the first step on that a newer one begins, in the same run.
func TestASessionThatBeganOnAnOlderWorker(t *testing.T) {
	t.Parallel()
	w := steady(8, false)
	env := w.environment(t)
	for _, older := range []string{"session-budget", "kept-session-budget", "kept-session-budget/1.1", "kept-session-budget/1.2"} {
		env.OnGetVersion(older, workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion)
	}
	env.OnGetVersion(mock.Anything, workflow.DefaultVersion, workflow.Version(1)).Return(workflow.Version(1))
	env.ExecuteWorkflow(string(contract.Execute), input(t, "", ofSession(stepsOf(5))))
	require.Equal(t, []any{5, true, int64(5)}, []any{outcome(t, env).Steps, outcome(t, env).SessionLimit, outcome(t, env).SessionSpent.Steps})
}

// TestWhatTheMemoTellsOfASessionsBudget: it is told wherever it changes, and at each end with what was spent.
func TestWhatTheMemoTellsOfASessionsBudget(t *testing.T) {
	t.Parallel()
	spent := domain.Spent{Steps: 2, Tokens: 30, ToolCalls: 1}
	for name, started := range map[string]bool{"as a client begins it": true, "as others begin it": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pairs()
			env := w.environment(t)
			var want []contract.SessionMemo
			if began := (contract.SessionMemo{Account: accountOf(9, domain.Spent{})}); started {
				require.NoError(t, env.SetMemoOnStart(map[string]any{contract.MemoSessionBudget: began}))
			} else {
				want = append(want, began)
			}
			memos := budgetMemos(env)
			extendsSession(env, time.Hour, "u1", stepsOf(8))
			redefines(env, 2*time.Hour, "u2", contract.RedefineRequest{Definition: domain.Definition{SessionBudget: stepsOf(7)}, Fields: []string{"session_budget"}})
			sends(env, 3*time.Hour, "u3", contract.SendRequest{Prompt: "more"})
			closes(env, 4*time.Hour, "u4")
			env.ExecuteWorkflow(string(contract.Execute), input(t, "ann", ofSession(stepsOf(9))))
			require.Equal(t, append(want,
				contract.SessionMemo{Account: accountOf(9, spent), Executions: 1},
				contract.SessionMemo{Account: accountOf(8, spent), Executions: 1},
				contract.SessionMemo{Account: accountOf(8, spent), Executions: 1, Next: new(stepsOf(7))},
				contract.SessionMemo{Account: accountOf(7, spent), Executions: 1},
				contract.SessionMemo{Account: accountOf(7, spent.Add(spent)), Executions: 2},
			), *memos)
		})
	}
}
