package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/testsuite/stores"
)

// TestARecordTellsTheSessionsBudget: what was left of it before the execution, and after.
func TestARecordTellsTheSessionsBudget(t *testing.T) {
	t.Parallel()
	r := stores.Sample(t, "ann", 1)[0]
	told := func() account.Account {
		all, err := r.Account()
		require.NoError(t, err)
		all.Head, all.Server = recordedHead(r, all.Executions[0]), &account.Server{Source: contract.FromRecords}
		return all
	}
	explain := func() ExplainView {
		e, err := newExplanation(snapshot{agent: must(agentOf("ann"))}, told(), r.Number)
		require.NoError(t, err)
		return e.view()
	}
	require.Empty(t, explain().SessionBudget, "it has none")

	now, state := r.StartedAt, domain.NewAgentState(r.AgentID, domain.AgentID{}, r.StartedAt, domain.LLMConfig{Provider: "scripted", Model: "/x"})
	state, err := state.WithSessionBudget(domain.ExecutionBudget{MaxSteps: new(int64(5))}, now)
	require.NoError(t, err)
	for number := 1; number <= 2; number++ {
		execution := r.AgentID.Execution("first-run", number)
		state, err = state.BeginExecution(execution, domain.ExecutionBudget{}, now)
		require.NoError(t, err)
		for k := 1; k <= number; k++ {
			state, err = state.WithStepStarted(execution.Step(k), now)
			require.NoError(t, err)
			state, err = state.WithCurrentStepCompleted(now)
			require.NoError(t, err)
		}
		state, err = state.WithExecutionCompleted(now.Add(time.Second))
		require.NoError(t, err)
	}
	r.FinalState, r.CompletedAt = state.WithStepsFolded(0), now.Add(time.Second)
	session, _ := state.Session()
	require.EqualValues(t, 3, session.Spent.Steps)
	r.Outcome.SessionSpent = &session.Spent
	v := explain()
	require.Len(t, v.SessionBudget, 1)
	l := v.SessionBudget[0]
	require.Equal(t, []int64{5, 1, 2, 2}, []int64{*l.Total, *l.Prior, *l.Used, *l.Left})
	whole := told().Head.Ledger.Session
	require.Equal(t, []int64{5, 2}, []int64{*whole.Limit.MaxSteps, *whole.Left.MaxSteps})
}
