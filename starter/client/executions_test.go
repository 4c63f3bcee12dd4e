package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"everstep/domain"
)

// TestFind: the name itself wins; a beginning is enough where no other id has it.
func TestFind(t *testing.T) {
	t.Parallel()
	f := newFake(newRun("run-1", nil))
	id, err := f.client().Find(t.Context(), "no")
	require.NoError(t, err)
	require.Equal(t, "no", id, "the fake knows every name")
	f.deleted["run-1"] = true
	one := outcomeOf(1, 1)
	list := func(ids ...string) {
		f.listed = nil
		for _, id := range ids {
			f.listed = append(f.listed, visible("agent/"+id, "run-1", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, &one))
		}
	}
	for _, c := range []struct {
		text   string
		listed []string
		want   string
		fault  string
	}{
		{"nor", []string{"nora", "nora"}, "nora", ""},
		{"3f0a", []string{"3f0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a11"}, "3f0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a11", ""},
		{"nor", nil, "nor", ""},
		{"n", []string{"nora"}, "n", ""},
		{"nora@3f0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a11", []string{"nora"}, "nora@3f0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a11", ""},
		{"nor", []string{"nora", "norbert"}, "", `id: no agent is called "nor", and several ids begin so: nora, norbert; write more of the one that is meant`},
		{"nor", []string{"nora", "nor1", "nor2", "nor3", "nor4", "nor5"}, "", "nor4 and others;"},
		{"no'r", nil, "", "id: has '\\''"},
	} {
		list(c.listed...)
		id, err := f.client().Find(t.Context(), c.text)
		if c.fault != "" {
			requireClass(t, err, Invalid)
			require.ErrorContains(t, err, c.fault)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, id, c.text)
	}
	f.down = true
	_, err = f.client().Find(t.Context(), "nora")
	requireClass(t, err, Unreachable)
}

// TestListFilters leave out what does not fit all of them.
func TestListFilters(t *testing.T) {
	t.Parallel()
	f := newFake(newRun("run-1", nil))
	one, cut, broken := outcomeOf(1, 4), outcomeOf(1, 2), outcomeOf(1, 3)
	cut.Status, cut.StopReason = domain.StatusStopped, domain.CostLimitReached
	broken.Status, broken.StopReason, broken.Code = domain.StatusFailed, domain.ErrorForbade, domain.CodeAuth
	const done = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	other := visible("agent/of-others", "run-9", done, &one)
	other.Type = &commonpb.WorkflowType{Name: "another.Workflow"}
	f.listed = []*workflowpb.WorkflowExecutionInfo{
		visible("agent/shop-1", "run-1", done, &one), visible("agent/shop-2", "run-2", done, &cut), visible("agent/desk", "run-3", done, &broken),
		visible("agent/3f0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a11", "run-4", done, &cut), visible("X", "run-6", enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, nil), other,
	}
	for name, c := range map[string]struct {
		o    ListOptions
		want []string
	}{
		"all":          {ListOptions{}, []string{"shop-1", "shop-2", "desk", "3f0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a11", "X"}},
		"a status":     {ListOptions{ListFilter: ListFilter{Statuses: []ListStatus{ListFailed}}}, []string{"desk"}},
		"two statuses": {ListOptions{ListFilter: ListFilter{Statuses: []ListStatus{ListFailed, ListCompleted}}}, []string{"shop-1", "desk"}},
		"none is idle": {ListOptions{ListFilter: ListFilter{Statuses: []ListStatus{ListIdle, ListPaused, ListStopping}}}, nil},
		"a reason":     {ListOptions{ListFilter: ListFilter{Reasons: []string{"cost_limit"}}}, []string{"shop-2", "3f0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a11"}},
		"a code":       {ListOptions{ListFilter: ListFilter{Reasons: []string{"auth", "nothing"}}}, []string{"desk"}},
		"names":        {ListOptions{ListFilter: ListFilter{Agent: "shop-*"}}, []string{"shop-1", "shop-2"}},
		"a limit":      {ListOptions{Limit: 1, ListFilter: ListFilter{Reasons: []string{"cost_limit"}}}, []string{"shop-2"}},
	} {
		var got []string
		for l, err := range f.client().List(t.Context(), c.o) {
			require.NoError(t, err, name)
			got = append(got, l.ID)
		}
		require.Equal(t, c.want, got, name)
	}
	for _, wrong := range []ListFilter{{Agent: "[a"}, {Agent: "a?"}, {Statuses: []ListStatus{"odd"}}} {
		for _, err := range f.client().List(t.Context(), ListOptions{ListFilter: wrong}) {
			requireClass(t, err, Invalid)
		}
	}
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	require.Equal(t, "WorkflowType = 'agent.Execute' AND ExecutionStatus = 'Running' AND WorkflowId = 'agent/desk' AND StartTime >= '2026-01-02T03:04:05Z' AND (x OR y)",
		ListFilter{Agent: "desk", Since: since, Query: "x OR y"}.query(true))
}

// TestExecutionsAreMarkedAsTheirMessagesAre: with the execution that goes on without one, and from which step on.
func TestExecutionsAreMarkedAsTheirMessagesAre(t *testing.T) {
	t.Parallel()
	edits := domain.Edits{TakenBack: []domain.Span{{To: 4, By: 3, Cleared: true}, {From: 6, To: 12, By: 5, AfterStep: 1}}}
	for name, test := range map[string]struct {
		from, to int
		steps    *int
		cleared  bool
		back     *TakenBack
	}{
		"cleared":                          {from: 0, to: 4, steps: new(2), cleared: true},
		"on the present path":              {from: 4, to: 6, steps: new(2)},
		"its last steps":                   {from: 4, to: 8, steps: new(2), back: &TakenBack{By: 5, AfterStep: 1}},
		"its last steps, of so many":       {from: 4, to: 8, back: &TakenBack{By: 5, AfterStep: 1}},
		"what it heard after its only one": {from: 4, to: 8, steps: new(1)},
		"all of it":                        {from: 8, to: 12, steps: new(2), back: &TakenBack{By: 5}},
		"since then":                       {from: 12, to: 14, steps: new(2)},
		"without messages":                 {from: 12, to: 12, steps: new(0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			past := Past{Ending: Ending{Steps: test.steps}}
			past.markTaken(edits, test.from, test.to)
			require.Equal(t, test.cleared, past.Cleared)
			require.Equal(t, test.back, past.TakenBack)
		})
	}
}
