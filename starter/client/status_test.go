package client

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"everstep/activities/build"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// TestStatusTellsWhatTheServerKnows beside what the workflow told: what is under way, what waits, and that the server ended it.
func TestStatusTellsWhatTheServerKnows(t *testing.T) {
	t.Parallel()
	beat := contract.Heartbeat{ExecutionID: nth(1), Step: 3, Phase: contract.PhaseStreaming}
	scheduled := &workflowpb.PendingWorkflowTaskInfo{State: enumspb.PENDING_WORKFLOW_TASK_STATE_SCHEDULED}
	untaken := beating("2", 1, contract.Heartbeat{})
	untaken.HeartbeatDetails, untaken.State = nil, enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
	listing := beating("2", 3, contract.Heartbeat{})
	listing.ActivityType.Name, listing.HeartbeatDetails, listing.State = string(contract.ListTools), nil, enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
	listing.NextAttemptScheduleTime, listing.LastFailure = at(9), &failurepb.Failure{Message: "gone"}
	silent := beating("2", 1, contract.Heartbeat{Phase: contract.PhaseWaiting, Progress: &contract.Progress{Tool: "tools", Text: "MCP server s has not answered"}})
	silent.ActivityType.Name = string(contract.ListTools)
	for name, c := range map[string]struct {
		make   func(r *fakeRun)
		source contract.StatusSource
		want   domain.ExecutionStatus
		from   contract.StatusSource
		doing  string
	}{
		"a worker answers":                      {func(*fakeRun) {}, contract.FromWorkflow, domain.StatusInProgress, contract.FromWorkflow, "as the workflow says"},
		"a worker answers while the task waits": {func(r *fakeRun) { r.task = scheduled }, contract.FromWorkflow, domain.StatusInProgress, contract.FromWorkflow, "as the workflow says"},
		"nothing to do":                         {func(*fakeRun) {}, contract.FromHistory, domain.StatusInProgress, contract.FromHistory, "as the workflow says"},
		"a task that waits":                     {func(r *fakeRun) { r.task = scheduled }, contract.FromHistory, domain.StatusInProgress, contract.FromHistory, "it waits for a worker of task queue of nora to go on"},
		"an inference that reported":            {func(r *fakeRun) { r.pending = append(r.pending, beating("2", 1, beat)) }, contract.FromHistory, domain.StatusInProgress, contract.FromHistory, "as the workflow says, streaming"},
		"an inference that did not":             {func(r *fakeRun) { r.pending = append(r.pending, untaken) }, contract.FromHistory, domain.StatusInProgress, contract.FromHistory, "as the workflow says, waits for a worker"},
		"tools that are not listed":             {func(r *fakeRun) { r.pending = append(r.pending, listing) }, contract.FromHistory, domain.StatusInProgress, contract.FromHistory, "as the workflow says, attempt 3 waits until " + at(9).AsTime().Format(time.RFC3339) + ": the worker failed; its log says more"},
		"a server that is silent":               {func(r *fakeRun) { r.pending = append(r.pending, silent) }, contract.FromHistory, domain.StatusInProgress, contract.FromHistory, "as the workflow says, waiting: MCP server s has not answered"},
		"terminated":                            {func(r *fakeRun) { r.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED) }, contract.FromWorkflow, domain.StatusFailed, contract.FromServer, "ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newRun("run-1", nil)
			c.make(run)
			agents := newFake(run).client()
			s := must(agents.describe(t.Context(), "nora"))
			head := account.Head{AgentID: nora.id, Name: "nora", Open: true, Doing: "as the workflow says", Newest: &account.Execution{
				Outcome: contract.Outcome{AgentID: nora.id, ExecutionID: nth(1), Number: 1, Status: domain.StatusInProgress, Steps: 2},
			}}
			if c.want == domain.StatusFailed {
				head.Waits, head.Children = []domain.Wait{{Kind: domain.WaitApproval}, {Kind: domain.WaitOutcome}, {Kind: domain.WaitQuestion}}, []contract.SubagentView{{Subagent: "leaf"}}
			}
			v := agents.status(t.Context(), s, s.endedByServer(account.Account{Head: &head, Server: &account.Server{Source: c.source, Pending: agents.pending(s)}}))
			require.Equal(t, []any{c.want, c.from, c.doing, 2, nth(1)}, []any{v.Status, v.Server.Source, v.Doing, v.Steps, v.ExecutionID})
			require.Equal(t, []any{"run-1", int64(1000)}, []any{v.Run.ID, v.History.Bytes})
			require.Equal(t, c.want == domain.StatusFailed, v.Failure() != nil)
			require.Empty(t, v.Children)
			for _, w := range v.Waits {
				require.Equal(t, domain.WaitOutcome, w.Kind, "nobody is asked for what nothing would take")
			}
			require.Equal(t, domain.StatusInProgress, head.Newest.Status, "what was read stays as it is")
		})
	}
}

// TestAStopThatWaitsForAWorkerIsTold by the status; one that means another execution is not.
func TestAStopThatWaitsForAWorkerIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request contract.StopRequest
		want    []domain.StopSignal
	}{
		"of this execution": {contract.StopRequest{ExecutionID: nth(1), Reason: "lunch"}, []domain.StopSignal{{Reason: domain.UserRequested, Source: "user", Message: "lunch"}}},
		"of any":            {contract.StopRequest{}, []domain.StopSignal{{Reason: domain.UserRequested, Source: "user"}}},
		"of a later one":    {contract.StopRequest{ExecutionID: nth(2)}, []domain.StopSignal{}},
	} {
		run := replayable(build.ID())
		run.signals(c.request)
		f := newFake(run)
		v, err := f.client().Status(t.Context(), nora.name)
		require.NoError(t, err)
		require.Equal(t, c.want, v.Signals, name)
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(newRun("run-1", nil))
		f.down = true
		c := f.client()
		start := time.Now()
		_, err := c.Status(t.Context(), "nora")
		requireClass(t, err, Unreachable)
		_, err = c.Wait(t.Context(), "nora", 0)
		requireClass(t, err, Unreachable)
		require.Less(t, time.Since(start), 10*time.Second)
	})
}

func TestReadingTellsThatTheServerIsMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(newRun("run-1", nil))
		f.query = func(context.Context, string, string, any) (any, error) {
			f.change(func() { f.down = true })
			return nil, errDown
		}
		seen := 0
		for _, err := range f.client().Messages(t.Context(), "nora") {
			requireClass(t, err, Unreachable)
			require.ErrorContains(t, err, "the server does not answer")
			seen++
		}
		require.Equal(t, 1, seen)
	})
}

// TestStatusOfACallThatWaitsBesideOneThatFails says nothing of the one that is so of the other.
func TestStatusOfACallThatWaitsBesideOneThatFails(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	other := beating("2", 4, contract.Heartbeat{})
	other.ActivityType.Name, other.HeartbeatDetails, other.State = string(contract.CallTool), nil, enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
	other.NextAttemptScheduleTime = at(9)
	run.pending = append(run.pending, other)
	agents := newFake(run).client()
	s := must(agents.describe(t.Context(), "nora"))
	head := account.Head{AgentID: nora.id, Name: "nora", Open: true, Doing: "step 3: pay waits for approval", Waits: []domain.Wait{{Kind: domain.WaitApproval}}, Newest: &account.Execution{
		Outcome: contract.Outcome{AgentID: nora.id, ExecutionID: nth(1), Number: 1, Status: domain.StatusInProgress, Steps: 2},
	}}
	v := agents.status(t.Context(), s, account.Account{Head: &head, Server: &account.Server{Source: contract.FromHistory, Pending: agents.pending(s)}})
	require.Equal(t, head.Doing, v.Doing)
}

// TestServerEnd: of a run the server's own words tell whether it has ended that itself.
func TestServerEnd(t *testing.T) {
	t.Parallel()
	ends := []enumspb.WorkflowExecutionStatus{
		enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT,
	}
	for value := range enumspb.WorkflowExecutionStatus_name {
		status := enumspb.WorkflowExecutionStatus(value)
		_, ok := contract.EndedByServer(status.String())
		require.Equal(t, slices.Contains(ends, status), ok, status)
	}
}
