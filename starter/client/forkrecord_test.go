package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/activities/record/conformance"
	"everstep/domain"
	"everstep/domain/contract"
)

// TestOldRecordsDoNotTellWhatBoundAnAgent where something may have, and what they leave open is not taken for nothing.
func TestOldRecordsDoNotTellWhatBoundAnAgent(t *testing.T) {
	t.Parallel()
	old := func(change func(all []record.Record)) keptPoint {
		all := conformance.Sample(t, "ann", 2)
		for i := range all {
			all[i].HeldTo = nil
		}
		change(all)
		return keptPoint{Record: all[1], session: all, newest: all[1]}
	}
	require.Empty(t, untold(old(func([]record.Record) {})), "nothing was above it")
	other, err := domain.AgentIDOf("bob")
	require.NoError(t, err)
	forked := func(all []record.Record) { all[0].Origin = &domain.Origin{AgentID: other} }
	require.Equal(t, "was forked from another agent", untold(old(forked)))
	require.Equal(t, "was forked from another agent", untold(old(func(all []record.Record) {
		all[1].Origin = &domain.Origin{AgentID: all[1].AgentID, Origin: &domain.Origin{AgentID: other}}
	})))
	require.Empty(t, untold(old(func(all []record.Record) { all[1].Origin = &domain.Origin{AgentID: all[1].AgentID} })), "it was rewound")
	require.Equal(t, "was handed over by another agent", untold(old(func(all []record.Record) { all[0].Steps[0].Step.Agent = "sales" })))
	require.Equal(t, "was a sub-agent", untold(old(func(all []record.Record) {
		all[1].FinalState = domain.NewAgentState(all[1].AgentID, other, time.Now(), domain.LLMConfig{})
	})))
	require.Empty(t, untold(old(func(all []record.Record) {
		forked(all)
		all[1].HeldTo = new(contract.HeldTo)
	})), "it tells")
}

// TestAForkOfARecordHasItsBudgets and nothing else of a definition that is not recorded.
func TestAForkOfARecordHasItsBudgets(t *testing.T) {
	t.Parallel()
	r := conformance.Sample(t, "ann", 1)[0]
	var err error
	r.FinalState, err = r.FinalState.WithSessionBudget(domain.ExecutionBudget{MaxSteps: new(int64(9))}, time.Now())
	require.NoError(t, err)
	d := definitionOf(r, domain.ExecutionBudget{MaxSteps: new(int64(3))})
	require.Equal(t, []any{"scripted//x", int64(3), int64(9)}, []any{d.Model.String(), *d.Budget.MaxSteps, *d.SessionBudget.MaxSteps})
	require.Equal(t, domain.Definition{Model: d.Model, Budget: d.Budget, SessionBudget: d.SessionBudget}, d)
}

// TestAForgedBoundIsNoRecord: it would break the workflow of a fork.
func TestAForgedBoundIsNoRecord(t *testing.T) {
	t.Parallel()
	store := imported(t)
	for want, held := range map[string]contract.HeldTo{
		"held_to: policies[0]: subagent_policy.max_depth": {Above: contract.Above{Policies: []domain.SubagentPolicy{{MaxDepth: new(-1)}}}},
		"held_to: approvals[0]: approvals[0].then":        {Above: contract.Above{Approvals: []domain.Approvals{{Rules: []domain.ApprovalRule{{Then: "sing"}}}}}},
		"held_to: handed.approvals[0]":                    {Handed: &contract.Handed{Approvals: []domain.Approvals{{Rules: []domain.ApprovalRule{{Then: "sing"}}}}}},
		"held_to: handed.times":                           {Handed: &contract.Handed{Times: -1}},
		"held_to: budget.max_steps":                       {Budget: domain.ExecutionBudget{MaxSteps: new(int64(-1))}},
	} {
		r := conformance.Sample(t, "eve", 1)[0]
		r.HeldTo = &held
		require.ErrorContains(t, store.Record(t.Context(), r), want)
	}
}
