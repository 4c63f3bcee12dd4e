package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/process"
)

func visible(workflowID, runID string, status enumspb.WorkflowExecutionStatus, outcome *contract.Outcome) *workflowpb.WorkflowExecutionInfo {
	info := &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID}, Status: status, StartTime: at(1),
	}
	if outcome != nil {
		info.Memo = memoOf(*outcome)
	}
	return info
}

// TestListJoinsBothStatuses: what was started past all clients is told too, each
// time that it was.
func TestListJoinsBothStatuses(t *testing.T) {
	t.Parallel()
	f := newFake(newRun("run-1", nil))
	one, busy := outcomeOf(1, 4), newRun("run-1", nil)
	busy.ends(one)
	busy.notes(contract.MemoHead, contract.HeadMemo{Number: 2, Paused: true, Stopping: true})
	suspended := newRun("run-8", nil)
	suspended.notes(contract.MemoHead, contract.HeadMemo{Number: 1, Suspended: true, Paused: true})
	suspended.ends(one)
	f.listed = []*workflowpb.WorkflowExecutionInfo{
		visible("agent/nora", "run-1", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, &one),
		visible("agent/otto", "run-2", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil),
		visible("agent/3f0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a11", "run-3", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, &one),
		visible("agent/peer", "run-4", enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, nil),
		visible("agent/nora", "run-0", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, &one),
		visible("somebody else's", "run-5", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil),
		visible("X", "run-6", enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, nil),
		visible("X", "run-7", enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, nil),
		visible("agent/ruth", "run-8", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil),
	}
	f.listed[0].Memo, f.listed[8].Memo = busy.memo, suspended.memo
	var got []Listed
	for l, err := range f.client().List(t.Context(), ListOptions{}) {
		require.NoError(t, err)
		got = append(got, l)
	}
	require.Len(t, got, 8)
	require.Zero(t, f.described, "no agent is asked about")
	for i, want := range []Listed{
		{Execution: Execution{ID: "nora", Name: "nora", Number: 2}, Ending: Ending{Status: domain.StatusInProgress}, Paused: true, Stopping: true, Open: true, ServerStatus: "running"},
		{Execution: Execution{ID: "otto", Name: "otto", Number: 1}, Ending: Ending{Status: domain.StatusInProgress}, Open: true, ServerStatus: "running"},
		{Execution: Execution{ID: "3f0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a11", Number: 1}, Ending: Ending{Status: domain.StatusCompleted, Steps: new(4), StopReason: domain.Completed}, ServerStatus: "completed"},
		{Execution: Execution{ID: "peer", Name: "peer", Number: 1}, Ending: Ending{Status: domain.StatusFailed, StopReason: domain.ErrorForbade, Code: domain.CodeTerminated}, ServerStatus: "terminated"},
		{Execution: Execution{ID: "somebody else's", Number: 1}, Ending: Ending{Status: domain.StatusInProgress}, Foreign: true, Open: true, ServerStatus: "running"},
		{Execution: Execution{ID: "X", Number: 1}, Ending: Ending{Status: domain.StatusFailed, StopReason: domain.ErrorForbade}, Foreign: true, ServerStatus: "failed"},
		{Execution: Execution{ID: "X", Number: 1}, Ending: Ending{Status: domain.StatusFailed, StopReason: domain.ErrorForbade}, Foreign: true, ServerStatus: "failed"},
		{Execution: Execution{ID: "ruth", Name: "ruth", Number: 1}, Ending: Ending{Status: domain.StatusCompleted, Steps: new(4), StopReason: domain.Completed}, Suspended: true, Open: true, ServerStatus: "running"},
	} {
		if want.Steps != nil {
			want.TotalTokens, want.CostNanoUSD = new(int64(0)), new(int64(0))
		}
		want.AgentID, want.WorkflowID, want.RunID, want.StartedAt = got[i].AgentID, got[i].WorkflowID, got[i].RunID, got[i].StartedAt
		require.Equal(t, want, got[i])
	}

	limited := 0
	for range f.client().List(t.Context(), ListOptions{Limit: 2}) {
		limited++
	}
	require.Equal(t, 2, limited)
}

// A lateServer takes its time for a page of its list.
type lateServer struct {
	*fakeServer
	takes time.Duration
}

func (s *lateServer) ListWorkflow(ctx context.Context, request *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	if err := process.Pause(ctx, s.takes); err != nil {
		return nil, serviceerror.NewDeadlineExceeded(err.Error())
	}
	return s.fakeServer.ListWorkflow(ctx, request)
}

// TestListWaitsForASlowServer: it is there, so it is given time, and says so; there is an end to that.
func TestListWaitsForASlowServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes, took time.Duration
		answers     bool
	}{
		"slow":  {20 * time.Second, 28 * time.Second, true},
		"stuck": {time.Hour, 38 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				late := &lateServer{newFake(newRun("run-1", nil)), c.takes}
				late.listed = append(late.listed, visible("agent/nora", "run-1", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil))
				var told []string
				agents := New(late, Config{Loopback: true, Progress: func(what string) { told = append(told, what) }})
				began, listed := time.Now(), 0
				for _, err := range agents.List(t.Context(), ListOptions{}) {
					if !c.answers {
						require.ErrorIs(t, err, &Error{Class: Unreachable})
						continue
					}
					require.NoError(t, err)
					listed++
				}
				require.Equal(t, c.answers, listed == 1)
				require.Equal(t, c.took, time.Since(began))
				require.Equal(t, []string{"the server is slow to list the agents; waiting for it"}, told, "the agents have their own time")
			})
		})
	}
}

// TestAnEarlierSessionOfANameIsRead under the id that the list gives it, and nothing else is done with it.
func TestAnEarlierSessionOfANameIsRead(t *testing.T) {
	t.Parallel()
	const life = "3f0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a11"
	earlier, newest := newRun(life, nil), newRun("run-2", nil)
	earlier.first, newest.first = "run-1", "run-2"
	earlier.answers(1, 1, "the earlier answer")
	earlier.ends(outcomeOf(1, 1))
	earlier.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED)
	newest.infers(1, 1)
	f := newFake(earlier, newest)
	done := outcomeOf(1, 1)
	f.listed = []*workflowpb.WorkflowExecutionInfo{
		visible("agent/nora", "run-2", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil),
		visible("agent/nora", life, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, &done),
		visible("agent/"+life, "run-9", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, &done),
		visible("agent/"+life, "run-8", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, &done),
	}
	agents := f.client()
	for all, want := range map[bool][]string{false: {"nora", life}, true: {"nora", "nora@" + life, life}} {
		var got []string
		for l, err := range agents.List(t.Context(), ListOptions{All: all}) {
			require.NoError(t, err)
			got = append(got, l.ID)
		}
		require.Equal(t, want, got)
	}

	id := "nora@" + life
	var asked []string
	a := told(domain.ExecutionBudget{}, nil, nil, 0)
	a.Executions[0].Ended = &contract.End{Answer: "the earlier answer"}
	f.query = func(ctx context.Context, runID, query string, in any) (any, error) {
		asked = append(asked, runID)
		return answersAccount(a)(ctx, runID, query, in)
	}
	result, err := agents.Wait(t.Context(), id, 0)
	require.NoError(t, err)
	require.Equal(t, "the earlier answer", result.Answer)
	require.Equal(t, id, result.ID)
	require.Equal(t, "nora", result.Name)
	view, err := agents.Explain(t.Context(), id, 0)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, view.Status)
	status, err := agents.Status(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, life, status.Run.ID)
	for _, runID := range asked {
		require.Equal(t, life, runID)
	}

	_, err = agents.Start(t.Context(), Start{ID: id, Prompt: "more", Definition: domain.Definition{Model: domain.LLMConfig{Provider: "scripted", Model: "/x"}}})
	requireClass(t, err, Invalid)
	_, err = agents.Send(t.Context(), id, SendOptions{Prompt: "more"})
	requireClass(t, err, Refused)
	_, err = agents.Stop(t.Context(), id, StopOptions{})
	requireClass(t, err, Refused)
	_, err = agents.Extend(t.Context(), id, ExtendOptions{})
	requireClass(t, err, Refused)
	_, err = agents.Close(t.Context(), id)
	requireClass(t, err, Refused)
	for _, wrong := range []string{"nora@", "nora@2", "@" + life, life + "@" + life, "nora@" + life + "@" + life} {
		require.Error(t, CheckID(wrong), wrong)
	}
}
