package client

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
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
	sings := []domain.Approvals{{Rules: []domain.ApprovalRule{{Then: "sing"}}}}
	for want, held := range map[string]account.Execution{
		"constraints: policies[0]: subagent_policy.max_depth": {Constraints: &contract.Constraints{Policies: []domain.SubagentPolicy{{MaxDepth: new(-1)}}}},
		"constraints: approvals[0]: approvals[0].then":        {Constraints: &contract.Constraints{Approvals: sings}},
		"constraints: handed[0]":                              {Constraints: &contract.Constraints{Handed: sings}},
		"definition_budget: max_steps":                        {Budget: domain.ExecutionBudget{MaxSteps: new(int64(-1))}},
	} {
		r := stores.Sample(t, "eve", 1)[0]
		r.Constraints, r.Budget = cmp.Or(held.Constraints, r.Constraints), held.Budget
		require.ErrorContains(t, store.Record(t.Context(), r), want)
	}
}
