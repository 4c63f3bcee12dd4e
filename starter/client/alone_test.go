package client

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// updates records an update and its answer.
func (r *fakeRun) updates(name string, request, reply any) {
	accepted := r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateAcceptedEventAttributes{
			WorkflowExecutionUpdateAcceptedEventAttributes: &historypb.WorkflowExecutionUpdateAcceptedEventAttributes{
				AcceptedRequest: &updatepb.Request{Input: &updatepb.Input{Name: name, Args: payloads(request)}},
			},
		},
	})
	r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateCompletedEventAttributes{
			WorkflowExecutionUpdateCompletedEventAttributes: &historypb.WorkflowExecutionUpdateCompletedEventAttributes{
				AcceptedEventId: accepted, Outcome: &updatepb.Outcome{Value: &updatepb.Outcome_Success{Success: payloads(reply)}},
			},
		},
	})
}

// TestPauseAndStopAreSeen by whoever follows, asks and lists, with no worker up.
func TestPauseAndStopAreSeen(t *testing.T) {
	t.Parallel()
	request, reply := contract.PauseRequest{ExecutionID: nth(1)}, contract.PauseReply{ExecutionID: nth(1), Number: 1, Changed: true}
	seen := func(run *fakeRun) (listed Listed) {
		f := newFake(run)
		f.listed = []*workflowpb.WorkflowExecutionInfo{visible("agent/nora", "run-1", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil)}
		for l, err := range f.client().List(t.Context(), ListOptions{}) {
			require.NoError(t, err)
			listed = l
		}
		return listed
	}
	run := newRun("run-1", nil)
	asked := run.infers(1, 1)
	run.updates(string(contract.UpdatePause), request, reply)
	run.updates(string(contract.UpdatePause), request, contract.PauseReply{Number: 1})
	listed := seen(run)
	require.True(t, listed.Paused)
	require.False(t, listed.Stopping)

	run.updates(string(contract.UpdateResume), request, reply)
	run.signals(contract.StopRequest{Mode: contract.AfterStep})
	run.completes(asked, contract.ModelReply{Outcome: contract.Answered, Message: &domain.Message{ToolCalls: []domain.ToolCall{{Name: "read_file"}}}})
	call := run.calls(1, 1, 0, "read_file")
	listed = seen(run)
	require.False(t, listed.Paused)
	require.True(t, listed.Stopping, "also when the step has begun calls since")

	run.completes(call, contract.ToolReply{Content: "text"})
	run.ends(outcomeOf(1, 1))
	listed = seen(run)
	require.False(t, listed.Paused || listed.Stopping)
}

// TestABusyWorkerIsAskedAgain for as long as a question may take, for longer where workers go on asking for work, and one
// that nobody has seen for a while is not waited for.
func TestABusyWorkerIsAskedAgain(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	busy := serviceerror.NewDeadlineExceeded("query timed out before a worker could process it")
	unseen := serviceerror.NewFailedPrecondition("no poller seen for task queue recently, worker may be down")
	for name, tc := range map[string]struct {
		says   []error
		polled func() time.Time
		asked  int
		fails  bool
	}{
		"busy for once":           {[]error{busy, nil}, nil, 2, false},
		"busy for good":           {[]error{busy, busy, busy}, nil, 2, true},
		"busy, and seen long ago": {[]error{busy, busy, busy}, func() time.Time { return time.Unix(1, 0) }, 2, true},
		"busy, and seen":          {[]error{busy, busy, busy, busy, busy, nil}, time.Now, 6, false},
		"busy for good, and seen": {slices.Repeat([]error{busy}, 20), time.Now, 12, true},
		"busy, then gone":         {[]error{busy, unseen}, time.Now, 2, true},
		"gone":                    {[]error{unseen}, time.Now, 1, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, asked := newFake(run), 0
			f.polled = tc.polled
			f.query = func(context.Context, string, string, any) (any, error) {
				asked++
				time.Sleep(readTimeout / 2) // as a server does
				return account.Page{}, tc.says[asked-1]
			}
			_, err := read(t.Context(), f.client(), nora, "run-1", account.Query, account.Request{})
			require.Equal(t, tc.asked, asked, name)
			require.Equal(t, tc.fails, errors.Is(err, errNoWorker), "%s: %v", name, err)
		})
	}
}
