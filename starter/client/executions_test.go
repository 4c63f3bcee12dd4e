package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// pastOf reads nora's executions, and what is gone of them.
func pastOf(t *testing.T, f *fakeServer) (past []Past, lost []string) {
	t.Helper()
	for one, err := range f.client().Executions(t.Context(), "nora") {
		if err != nil {
			requireClass(t, err, Gone)
			lost = append(lost, err.Error())
			continue
		}
		past = append(past, one)
	}
	return past, lost
}

// TestExecutionsOfASession: those of all runs in order, each with its times, and what is in progress.
func TestExecutionsOfASession(t *testing.T) {
	t.Parallel()
	stopped := outcomeOf(2, 5)
	stopped.Status, stopped.StopReason, stopped.CostNanoUSD = domain.StatusStopped, domain.StepsLimitReached, 2_000_000_000
	stopped.Usage = domain.Usage{InputTokens: 40, OutputTokens: 2}
	first := newRun("run-1", nil)
	first.answers(1, 1, "one")
	first.ends(outcomeOf(1, 1))
	first.sent(2)
	first.handsOn("run-2")
	second := newRun("run-2", inMidst(2, 3)).continues("run-1")
	second.ends(stopped)
	second.sent(3)
	second.infers(3, 1)
	second.infers(3, 2)
	f := newFake(first, second)
	past, lost := pastOf(t, f)
	require.Empty(t, lost)
	require.Len(t, past, 3)
	for i, x := range past {
		require.Equal(t, i+1, x.Number)
		require.Equal(t, nth(i+1), x.ExecutionID)
		require.Equal(t, "nora", x.ID)
	}
	require.Equal(t, at(1).AsTime(), past[0].StartedAt)
	require.Equal(t, domain.StatusCompleted, past[0].Status)
	require.False(t, past[0].EndedAt.IsZero())
	require.Equal(t, domain.StatusStopped, past[1].Status)
	require.Equal(t, domain.StepsLimitReached, past[1].StopReason)
	require.Equal(t, []any{5, int64(42), "2"}, []any{*past[1].Steps, *past[1].TotalTokens, *past[1].CostUSD})
	require.Equal(t, domain.StatusInProgress, past[2].Status)
	require.Equal(t, 1, *past[2].Steps)
	require.Nil(t, past[2].TotalTokens)
	require.True(t, past[2].EndedAt.IsZero())

	f.deleted["run-1"] = true
	past, lost = pastOf(t, f)
	require.Len(t, past, 2, "what the newest run took over tells of the second")
	require.Equal(t, 2, past[0].Number)
	require.Equal(t, []string{"execution 1 of nora can no longer be read: the server has deleted the run in which it was"}, lost)

	carry := inMidst(4, 2)
	carry.Outcome = new(outcomeOf(3, 2))
	third := newRun("run-3", carry).continues("run-2")
	second.handsOn("run-3")
	third.infers(4, 3)
	f.change(func() { f.runs = append(f.runs, third); f.deleted["run-2"] = true })
	past, lost = pastOf(t, f)
	require.Len(t, past, 2)
	require.Equal(t, []int{3, 4}, []int{past[0].Number, past[1].Number})
	require.Equal(t, []string{"executions 1 to 2 of nora can no longer be read: the server has deleted the runs in which they were"}, lost)
}

// TestAQueuedExecutionHasTimes, though nobody's call has begun it: from the first work that it asked for on.
func TestAQueuedExecutionHasTimes(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.answers(1, 1, "one")
	run.ends(outcomeOf(1, 1))
	second := run.infers(2, 1)
	run.infers(2, 2)
	run.ends(outcomeOf(2, 2))
	third := run.infers(3, 1)
	past, lost := pastOf(t, newFake(run))
	require.Empty(t, lost)
	require.Len(t, past, 3)
	require.Equal(t, at(int(second)).AsTime(), past[1].StartedAt)
	require.True(t, past[1].EndedAt.After(past[1].StartedAt))
	require.Equal(t, at(int(third)).AsTime(), past[2].StartedAt)
}

// TestExecutionsThatTheServerEnded have the server's word.
func TestExecutionsThatTheServerEnded(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.infers(1, 1)
	run.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
	past, lost := pastOf(t, newFake(run))
	require.Empty(t, lost)
	require.Len(t, past, 1)
	require.Equal(t, domain.StatusFailed, past[0].Status)
	require.Equal(t, domain.CodeTerminated, past[0].Code)
	require.Nil(t, past[0].Steps)
	f := newFake(run)
	f.deleted["run-1"] = true
	for _, err := range f.client().Executions(t.Context(), "nora") {
		requireClass(t, err, NotFound)
	}
}

// TestWhatAClearDropped: all before it, unless a rewind to before has brought it back.
func TestWhatAClearDropped(t *testing.T) {
	t.Parallel()
	clear, to := func(after int) emptying { return emptying{after: after} }, func(number int) emptying { return emptying{to: number, after: 9} }
	for name, c := range map[string]struct {
		newestFirst []emptying
		want        int
	}{
		"nothing":                  {nil, 0},
		"a clear":                  {[]emptying{clear(2)}, 2},
		"the newest counts":        {[]emptying{clear(5), clear(2)}, 5},
		"back to before it":        {[]emptying{to(2), clear(2)}, 0},
		"back to after it":         {[]emptying{to(3), clear(2)}, 2},
		"back to between two":      {[]emptying{to(3), clear(5), clear(2)}, 2},
		"cleared once more":        {[]emptying{clear(7), to(1), clear(2)}, 7},
		"a rewind before it":       {[]emptying{clear(4), to(1)}, 4},
		"two rewinds, the last on": {[]emptying{to(4), to(1), clear(2)}, 0},
	} {
		scan := pastScan{position: position{number: 9}, emptied: c.newestFirst}
		require.Equal(t, c.want, scan.cleared(), name)
	}
}

// TestASuspensionIsFound by the newest that a run tells of it.
func TestASuspensionIsFound(t *testing.T) {
	t.Parallel()
	sent := progress.Sent{Reply: contract.SendReply{ExecutionID: domain.AgentID{}.Execution("c", 1)}}
	on, off := progress.Suspended{Suspension: &contract.Suspension{}}, progress.Suspended{}
	nora, err := domain.AgentIDOf("nora")
	require.NoError(t, err)
	taken := contract.SessionInput{AgentID: nora, Carry: &contract.Carry{Suspended: &contract.Suspension{}}}
	for name, c := range map[string]struct {
		newestFirst []progress.Fact
		want        bool
	}{
		"suspended":      {[]progress.Fact{progress.TaskDone{}, progress.Sent{}, on, sent}, true},
		"lifted":         {[]progress.Fact{off, on}, false},
		"since taken":    {[]progress.Fact{sent, on}, false},
		"taken over":     {[]progress.Fact{progress.TaskDone{}, progress.RunBegan{Input: taken}}, true},
		"never was":      {[]progress.Fact{progress.TaskDone{}, progress.RunBegan{Input: contract.SessionInput{AgentID: nora}}}, false},
		"too long since": {append(make([]progress.Fact, mostLooked+1), on), false},
	} {
		scan := suspensionScan{}
		for _, fact := range c.newestFirst {
			if scan.take(fact) {
				break
			}
		}
		require.Equal(t, c.want, scan.suspended, name)
	}
}

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
