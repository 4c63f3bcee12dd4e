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
	"everstep/domain/contract"
)

// failedOf is the outcome of nora's first execution, which failed with an error.
func failedOf(err *domain.Error, steps int) contract.Outcome {
	o := outcomeOf(1, steps)
	o.Status, o.StopReason, o.Kind, o.Code = domain.StatusFailed, domain.ErrorForbade, err.Kind, err.Code
	return o
}

// extends records an extension that began an execution.
func (r *fakeRun) extends(n int, budget domain.ExecutionBudget) {
	r.updates(string(contract.UpdateExtend), contract.ExtendRequest{Budget: budget}, contract.ExtendReply{ExecutionID: nth(n), Number: n, Began: true, Budget: budget})
}

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
	seen := func(run *fakeRun) (status contract.StatusView, listed Listed) {
		f := newFake(run)
		f.listed = []*workflowpb.WorkflowExecutionInfo{visible("agent/nora", "run-1", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil)}
		synctest.Test(t, func(t *testing.T) {
			var err error
			status, err = f.client().Status(t.Context(), nora.name)
			require.NoError(t, err)
		})
		for l, err := range f.client().List(t.Context(), ListOptions{}) {
			require.NoError(t, err)
			listed = l
		}
		return status, listed
	}
	run := newRun("run-1", nil)
	asked := run.infers(1, 1)
	run.updates(string(contract.UpdatePause), request, reply)
	run.updates(string(contract.UpdatePause), request, contract.PauseReply{Number: 1})
	status, listed := seen(run)
	require.True(t, status.Paused)
	require.True(t, listed.Paused)
	require.False(t, listed.Stopping)

	run.updates(string(contract.UpdateResume), request, reply)
	run.signals(contract.StopRequest{Mode: contract.AfterStep})
	run.completes(asked, contract.ModelReply{Outcome: contract.Answered, Message: &domain.Message{ToolCalls: []domain.ToolCall{{Name: "read_file"}}}})
	call := run.calls(1, 1, 0, "read_file")
	status, listed = seen(run)
	require.False(t, status.Paused)
	require.NotEmpty(t, status.StopSignals)
	require.False(t, listed.Paused)
	require.True(t, listed.Stopping, "also when the step has begun calls since")

	run.completes(call, contract.ToolReply{Content: "text"})
	run.ends(outcomeOf(1, 1))
	types := typesOf(followed(t, newFake(run), FollowOptions{}))
	require.Equal(t, []EventType{EventBegan, EventStep, EventPaused, EventResumed, EventStopAsked}, types[:5])
	require.NotContains(t, types[5:], EventPaused)
	_, listed = seen(run)
	require.False(t, listed.Paused || listed.Stopping)
}

// alone is what is told of nora by history, where no worker answers.
func alone[T any](t *testing.T, run *fakeRun, ask func(*Client, context.Context, string) (T, error)) (told T) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		told, err = ask(newFake(run).client(), t.Context(), nora.name)
		require.NoError(t, err)
	})
	return told
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
				return contract.StepsPage{ExecutionID: nth(1), Number: 1}, tc.says[asked-1]
			}
			_, err := f.client().Priced(t.Context(), nora.name, 0)
			require.Equal(t, tc.asked, asked, name)
			require.Equal(t, tc.fails, errors.Is(err, &Error{Class: Unreachable}), "%s: %v", name, err)
		})
	}
}

// resultOf is Result of the newest execution.
func (c *Client) resultOf(ctx context.Context, id string) (Result, error) {
	return c.Result(ctx, id, 0)
}

// TestWhatFailedIsToldWithoutAWorker: the error itself, and not that there was one.
func TestWhatFailedIsToldWithoutAWorker(t *testing.T) {
	t.Parallel()
	auth := domain.CodedErrorf(domain.Denied, domain.CodeAuth, "the provider refused the key")
	for name, fails := range map[string]func(*fakeRun, *domain.Error){
		"in an inference": func(r *fakeRun, err *domain.Error) {
			r.completes(r.infers(1, 1), contract.ModelReply{Outcome: contract.BilledFailure, Tries: 1, Error: err})
		},
		"in an activity": func(r *fakeRun, err *domain.Error) { r.loses(r.infers(1, 1), err) },
		"before the first step": func(r *fakeRun, err *domain.Error) {
			r.loses(r.schedule(string(contract.ListTools), contract.CatalogRequest{}), err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newRun("run-1", nil)
			fails(run, auth)
			run.ends(failedOf(auth, 0))
			v := explained(t, run, nil)
			require.Equal(t, auth.Message, v.Ending.Error.Message)
			require.Equal(t, "it failed: "+auth.Message, v.Ending.Summary)
			require.NotNil(t, v.Ending.Signal)
			require.Equal(t, auth.Message, v.Ending.Signal.Message)

			r := alone(t, run, (*Client).resultOf)
			require.Equal(t, auth.Message, r.Error.Message)
			require.Equal(t, domain.ErrorForbade, r.Signal.Reason)
			require.Equal(t, auth.Message, r.Signal.Message)
		})
	}
}

// TestWhyItStoppedIsToldWithoutAWorker by result and status as by explain.
func TestWhyItStoppedIsToldWithoutAWorker(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.completes(run.infers(1, 1), used(reply("", domain.ToolCall{Name: "ls"}), usage(10, 1), domain.Usage{}, 1))
	run.signals(contract.StopRequest{Reason: "enough"})
	o := outcomeOf(1, 1)
	o.Status, o.StopReason = domain.StatusStopped, domain.UserRequested
	run.ends(o)
	want := domain.StopSignal{Reason: domain.UserRequested, Message: "enough", Source: "user"}

	v := explained(t, run, nil)
	require.Equal(t, &ExplainSignal{want.Reason, want.Source, want.Message, SignalCounted}, v.Ending.Signal)
	require.Equal(t, &want, alone(t, run, (*Client).resultOf).Signal)
	require.Equal(t, []domain.StopSignal{want}, alone(t, run, (*Client).Status).StopSignals)
}

// TestStatusTellsWhatHistoryHasWithoutAWorker of one that is in progress.
func TestStatusTellsWhatHistoryHasWithoutAWorker(t *testing.T) {
	t.Parallel()
	run := pricedRun()
	run.events[0].GetWorkflowExecutionStartedEventAttributes().Input = payloads(contract.SessionInput{
		AgentID: nora.id, Name: nora.name, Prompt: "go", Budget: domain.ExecutionBudget{MaxSteps: new(int64(3))},
		Definition: domain.Definition{Model: domain.LLMConfig{Provider: "scripted", Model: "x"}},
	})
	run.completes(run.infers(1, 1), used(reply("", domain.ToolCall{Name: "ls"}), usage(100, 10), domain.Usage{}, 1))
	run.calls(1, 1, 0, "ls")
	run.signals(contract.StopRequest{Reason: "enough"})
	v := alone(t, run, (*Client).Status)
	require.Equal(t, domain.StatusInProgress, v.Status)
	require.Equal(t, "scripted/x", v.Model)
	require.Equal(t, usage(100, 10).View(), v.Usage)
	require.Equal(t, domain.USD(200), v.CostUSD)
	require.True(t, v.Priced)
	require.Equal(t, new(int64(3)), v.Budget.MaxSteps)
	require.Equal(t, new(int64(2)), v.BudgetLeft.MaxSteps)
	require.Len(t, v.StopSignals, 1)
	require.Equal(t, int64(1000), v.Window)
	require.Equal(t, int64(110), v.Context)
}

// TestWhatTheOriginUsedIsToldWithoutAWorker: how much an extended execution has
// left follows from how the one before ended.
func TestWhatTheOriginUsedIsToldWithoutAWorker(t *testing.T) {
	t.Parallel()
	run := pricedRun()
	run.answers(1, 1, "", domain.ToolCall{Name: "ls"})
	o := outcomeOf(1, 1)
	o.Status, o.StopReason, o.Usage = domain.StatusStopped, domain.StepsLimitReached, usage(100, 10)
	run.ends(o)
	run.extends(2, domain.ExecutionBudget{MaxSteps: new(int64(4)), MaxTokens: new(int64(1000)), MaxSeconds: new(60.0)})
	run.completes(run.infers(2, 1), used(reply("done"), usage(200, 20), domain.Usage{}, 1))
	run.ends(outcomeOf(2, 1))
	v := explained(t, run, nil)
	require.Equal(t, []int64{4, 1, 1, 2}, []int64{*v.Budget[0].Total, *v.Budget[0].Used, *v.Budget[0].Prior, *v.Budget[0].Left})
	require.Equal(t, []int64{220, 110, 670}, []int64{*v.Budget[1].Used, *v.Budget[1].Prior, *v.Budget[1].Left})
	require.Nil(t, v.Budget[2].Prior, "how long it waited for people nobody knows")
}

// TestTheSignalOfAnEarlierExecutionIsWhole, its message too, which events lack.
func TestTheSignalOfAnEarlierExecutionIsWhole(t *testing.T) {
	t.Parallel()
	run := pricedRun()
	run.answers(1, 1, "", domain.ToolCall{Name: "ls"})
	o := outcomeOf(1, 1)
	o.Status, o.StopReason = domain.StatusStopped, domain.StopRequested
	run.ends(o)
	run.extends(2, domain.ExecutionBudget{})
	run.answers(2, 1, "done")
	run.ends(outcomeOf(2, 1))
	counted := domain.StopSignal{Reason: domain.StopRequested, Message: "a hook has seen enough", Source: "watchdog"}
	k := told(t, domain.ExecutionBudget{}, nil, nil, 0)
	k.page.Signal, k.page.Outcome = &counted, &o
	f := newFake(run)
	f.query = k.answer
	v, err := f.client().Explain(t.Context(), "nora", 1)
	require.NoError(t, err)
	require.Equal(t, &ExplainSignal{counted.Reason, counted.Source, counted.Message, SignalCounted}, v.Ending.Signal)
	require.Empty(t, v.Ending.Others)
}

// TestACompletedExecutionHasASignalToo, so that what reads them has one case.
func TestACompletedExecutionHasASignalToo(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.answers(1, 1, "done")
	run.ends(outcomeOf(1, 1))
	require.Equal(t, &ExplainSignal{Reason: domain.Completed, Fate: SignalCounted}, explained(t, run, nil).Ending.Signal)
	require.Empty(t, alone(t, run, (*Client).Status).StopSignals, "nothing asked it to stop")
	require.Nil(t, alone(t, run, (*Client).resultOf).Signal)
}

// TestEachFailedAttemptIsNamed where history keeps why.
func TestEachFailedAttemptIsNamed(t *testing.T) {
	t.Parallel()
	run := pricedRun()
	first := run.infers(1, 1)
	run.startsAttempt(first, 2, "too many requests")
	run.completes(first, contract.ModelReply{
		Outcome: contract.BilledFailure, Spent: usage(50, 5), Tries: 2, Error: domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "the stream ended early"),
	})
	run.completes(run.infers(1, 1), used(reply("done"), usage(200, 20), domain.Usage{}, 1))
	run.ends(outcomeOf(1, 1))
	step := explained(t, run, nil).Steps[0]
	require.Equal(t, 2, step.FailedAttempts)
	require.Len(t, step.Retries, 2)
	require.Equal(t, []string{"too many requests", "the stream ended early"}, []string{step.Retries[0].Reason, step.Retries[1].Reason})
}
