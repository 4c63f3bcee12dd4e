package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/testsuite/stores"
)

// TestAForkOfARecordHasItsBudgets and nothing else of a definition that is not recorded.
func TestAForkOfARecordHasItsBudgets(t *testing.T) {
	t.Parallel()
	r := stores.Sample(t, "ann", 1)[0]
	var err error
	r.FinalState, err = r.FinalState.WithSessionBudget(domain.ExecutionBudget{MaxSteps: new(int64(9))}, time.Now())
	require.NoError(t, err)
	d := definitionOf(r.FinalState, domain.ExecutionBudget{MaxSteps: new(int64(3))})
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
		r := stores.Sample(t, "eve", 1)[0]
		r.HeldTo = held
		require.ErrorContains(t, store.Record(t.Context(), r), want)
	}
}
