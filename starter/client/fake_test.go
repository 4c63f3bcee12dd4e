package client

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	updatepb "go.temporal.io/api/update/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"everstep/domain/contract"
)

// A fakeServer answers as Temporal does for one workflow of ours, from
// histories made by the test. What it does not have it panics on.
type fakeServer struct {
	sdk.Client
	mu      sync.Mutex
	changed chan struct{}
	// runs are the workflow's, the oldest first; the newest is described.
	runs    []*fakeRun
	deleted map[string]bool
	// down makes every call fail until it is cleared.
	down bool
	// slow is how many descriptions fail for want of time.
	slow  int
	polls int
	// described and awaited count the descriptions, and the requests for an end.
	described, awaited int
	// awaits answers those: nil where nothing is to be told yet. Where there is none no worker is up.
	awaits func(number int) *contract.AwaitReply
	// read counts the events that readers of histories were given.
	read  int
	query func(ctx context.Context, runID, query string, in any) (any, error)
	// paged changes a page of a history, which begins behind so many events, or refuses it; nil: it is given as it is.
	paged func(from int, page *workflowservice.GetWorkflowExecutionHistoryResponse) error
	// update answers updates, start and signal see what is sent.
	update func(id string, in any) (any, error)
	start  func(o sdk.StartWorkflowOptions, in contract.SessionInput) error
	signal func(in contract.StopRequest) error
	listed []*workflowpb.WorkflowExecutionInfo
	// polled says when a worker has asked for work last; nil: none is known.
	polled func() time.Time
	// build is that of this worker.
	build string
}

// A fakeRun is one run with its history.
type fakeRun struct {
	id      string
	events  []*historypb.HistoryEvent
	status  enumspb.WorkflowExecutionStatus
	pending []*workflowpb.PendingActivityInfo
	task    *workflowpb.PendingWorkflowTaskInfo
	// reset is when somebody reset the workflow last; nil: nobody did.
	reset *timestamppb.Timestamp
	memo  *commonpb.Memo
	// first is the run with which its chain began; empty: the fake's oldest.
	first string
}

var errDown = serviceerror.NewUnavailable("the fake server is down")

func newFake(runs ...*fakeRun) *fakeServer {
	return &fakeServer{runs: runs, changed: make(chan struct{}), deleted: map[string]bool{}}
}

func (f *fakeServer) client() *Client { return New(f, Config{Loopback: true}) }

// change makes a change and wakes those who wait for one.
func (f *fakeServer) change(how func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	how()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeServer) newest() *fakeRun { return f.runs[len(f.runs)-1] }

func (f *fakeServer) run(id string) (*fakeRun, error) {
	if f.down {
		return nil, errDown
	}
	for _, r := range f.runs {
		if (r.id == id || id == "" && r == f.newest()) && !f.deleted[r.id] {
			return r, nil
		}
	}
	return nil, serviceerror.NewNotFound("workflow not found")
}

func (f *fakeServer) DescribeWorkflowExecution(_ context.Context, _, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.described++
	if f.slow > 0 {
		f.slow--
		return nil, context.DeadlineExceeded
	}
	r, err := f.run(runID)
	if err != nil {
		return nil, err
	}
	first := r.first
	if first == "" {
		first = f.runs[0].id
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
			Execution: &commonpb.WorkflowExecution{RunId: r.id}, FirstRunId: first, Status: r.status,
			Memo: r.memo, HistoryLength: int64(len(r.events)), HistorySizeBytes: 1000,
		},
		PendingActivities: r.pending, PendingWorkflowTask: r.task,
		WorkflowExtendedInfo: &workflowpb.WorkflowExecutionExtendedInfo{LastResetTime: r.reset},
		ExecutionConfig:      &workflowpb.WorkflowExecutionConfig{TaskQueue: &taskqueuepb.TaskQueue{Name: "of nora"}},
	}, nil
}

func (f *fakeServer) WorkflowService() workflowservice.WorkflowServiceClient {
	return fakeHistory{fake: f}
}

// A fakeHistory is the part of the service that reads histories.
type fakeHistory struct {
	workflowservice.WorkflowServiceClient
	fake *fakeServer
}

// DescribeWorkflowExecution is the fake's own.
func (h fakeHistory) DescribeWorkflowExecution(ctx context.Context, in *workflowservice.DescribeWorkflowExecutionRequest, _ ...grpc.CallOption) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return h.fake.DescribeWorkflowExecution(ctx, in.GetExecution().GetWorkflowId(), in.GetExecution().GetRunId())
}

// DescribeTaskQueue lists one worker, which was seen when polled says.
func (h fakeHistory) DescribeTaskQueue(context.Context, *workflowservice.DescribeTaskQueueRequest, ...grpc.CallOption) (*workflowservice.DescribeTaskQueueResponse, error) {
	if h.fake.polled == nil {
		return &workflowservice.DescribeTaskQueueResponse{}, nil
	}
	return &workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueuepb.PollerInfo{{
		LastAccessTime: timestamppb.New(h.fake.polled()), WorkerVersionCapabilities: &commonpb.WorkerVersionCapabilities{BuildId: h.fake.build},
	}}}, nil
}

func (h fakeHistory) GetWorkflowExecutionHistory(ctx context.Context, r *workflowservice.GetWorkflowExecutionHistoryRequest, _ ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	f := h.fake
	f.mu.Lock()
	f.polls++
	f.mu.Unlock()
	from := 0
	if len(r.NextPageToken) > 0 {
		from = int(r.NextPageToken[0])
	}
	for {
		f.mu.Lock()
		run, err := f.run(r.Execution.RunId)
		changed := f.changed
		var events []*historypb.HistoryEvent
		if err == nil {
			events = append(events, run.events[from:]...)
			if r.HistoryEventFilterType == enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT {
				if run.status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
					events = nil
				}
				events = events[max(len(events)-1, 0):]
			}
		}
		f.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case len(events) > 0 || !r.WaitNewEvent:
			if n := int(r.MaximumPageSize); n > 0 {
				events = events[:n]
			}
			f.mu.Lock()
			f.read += len(events)
			f.mu.Unlock()
			page := &workflowservice.GetWorkflowExecutionHistoryResponse{
				History: &historypb.History{Events: events}, NextPageToken: []byte{byte(from + len(events))},
			}
			if f.paged != nil {
				err = f.paged(from, page)
			}
			return page, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// UpdateWorkflowExecution takes requests for an end, for 20 s each, or until a worker takes one where that is asked. While no
// worker does a workflow task waits.
func (h fakeHistory) UpdateWorkflowExecution(ctx context.Context, r *workflowservice.UpdateWorkflowExecutionRequest, _ ...grpc.CallOption) (*workflowservice.UpdateWorkflowExecutionResponse, error) {
	f := h.fake
	var asked contract.AwaitRequest
	if err := converter.GetDefaultDataConverter().FromPayloads(r.GetRequest().GetInput().GetArgs(), &asked); err != nil || r.GetRequest().GetMeta().GetUpdateId() != contract.AwaitID(asked.Number) {
		panic("not a request for an end")
	}
	f.mu.Lock()
	f.awaited++
	f.mu.Unlock()
	for over := time.After(20 * time.Second); ; {
		f.mu.Lock()
		run, err := f.run("")
		changed := f.changed
		var reply *contract.AwaitReply
		taken := false
		switch {
		case err != nil:
		case run.status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
			err = serviceerror.NewNotFound("workflow execution already completed")
		case f.awaits == nil:
			run.task = &workflowpb.PendingWorkflowTaskInfo{State: enumspb.PENDING_WORKFLOW_TASK_STATE_SCHEDULED}
		default:
			reply, run.task = f.awaits(asked.Number), nil
			taken = r.GetWaitPolicy().GetLifecycleStage() == enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED
		}
		f.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case reply != nil:
			return &workflowservice.UpdateWorkflowExecutionResponse{Outcome: &updatepb.Outcome{Value: &updatepb.Outcome_Success{Success: payloads(*reply)}}}, nil
		case taken:
			return &workflowservice.UpdateWorkflowExecutionResponse{Stage: enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED}, nil
		}
		select {
		case <-changed:
		case <-over:
			return &workflowservice.UpdateWorkflowExecutionResponse{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (f *fakeServer) QueryWorkflowWithOptions(ctx context.Context, r *sdk.QueryWorkflowWithOptionsRequest) (*sdk.QueryWorkflowWithOptionsResponse, error) {
	runID := r.RunID
	f.mu.Lock()
	if runID == "" {
		runID = f.newest().id
	}
	_, err := f.run(runID)
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if f.query == nil { // no worker is up
		<-ctx.Done()
		return nil, ctx.Err()
	}
	out, err := f.query(ctx, runID, r.QueryType, r.Args[0])
	if err != nil {
		return nil, err
	}
	return &sdk.QueryWorkflowWithOptionsResponse{QueryResult: sdk.NewValue(payloads(out))}, nil
}

func (f *fakeServer) SignalWorkflow(_ context.Context, _, _, _ string, in any) error {
	return f.signal(in.(contract.StopRequest))
}

func (f *fakeServer) UpdateWorkflow(_ context.Context, o sdk.UpdateWorkflowOptions) (sdk.WorkflowUpdateHandle, error) {
	out, err := f.update(o.UpdateID, o.Args[0])
	return fakeHandle{out: out}, err
}

// A fakeHandle holds the answer to an update.
type fakeHandle struct {
	sdk.WorkflowUpdateHandle
	out any
}

func (h fakeHandle) Get(_ context.Context, value any) error {
	return converter.GetDefaultDataConverter().FromPayloads(payloads(h.out), value)
}

func (f *fakeServer) ExecuteWorkflow(_ context.Context, o sdk.StartWorkflowOptions, _ any, args ...any) (sdk.WorkflowRun, error) {
	in := args[0].(contract.SessionInput)
	if err := f.start(o, in); err != nil {
		return nil, err
	}
	if in.GoOn != nil && f.newest().id != "run-1" {
		run := newRun("run-1", nil)
		run.first = run.id
		f.change(func() { f.runs = append(f.runs, run) })
		run.events[0].GetWorkflowExecutionStartedEventAttributes().Input = payloads(in)
	}
	if in.ResolveOutcome != nil {
		f.newest().events[0].GetWorkflowExecutionStartedEventAttributes().Input = payloads(in)
	}
	return fakeStarted{id: o.ID}, nil
}

// A fakeStarted is a workflow that was started.
type fakeStarted struct {
	sdk.WorkflowRun
	id string
}

func (s fakeStarted) GetID() string    { return s.id }
func (s fakeStarted) GetRunID() string { return "run-1" }

func (f *fakeServer) OperatorService() operatorservice.OperatorServiceClient { return fakeOperator{} }

// A fakeOperator knows two of our three search attributes.
type fakeOperator struct {
	operatorservice.OperatorServiceClient
}

func (fakeOperator) ListSearchAttributes(context.Context, *operatorservice.ListSearchAttributesRequest, ...grpc.CallOption) (*operatorservice.ListSearchAttributesResponse, error) {
	keyword := enumspb.INDEXED_VALUE_TYPE_KEYWORD
	return &operatorservice.ListSearchAttributesResponse{CustomAttributes: map[string]enumspb.IndexedValueType{
		contract.AttributeAgentName: keyword, contract.AttributeAgentStatus: keyword, "Other": keyword,
	}}, nil
}

func (f *fakeServer) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{Executions: f.listed}, nil
}

func payloads(value any) *commonpb.Payloads {
	p, err := converter.GetDefaultDataConverter().ToPayloads(value)
	if err != nil {
		panic(err)
	}
	return p
}

func memoOf(o contract.Outcome) *commonpb.Memo {
	return &commonpb.Memo{Fields: map[string]*commonpb.Payload{contract.MemoOutcome: payloads(o).Payloads[0]}}
}

// at is the time of the n-th event.
func at(n int) *timestamppb.Timestamp {
	return timestamppb.New(time.Date(2026, 1, 2, 3, 4, n, 0, time.UTC))
}

func requireClass(t *testing.T, err error, class Class) {
	t.Helper()
	require.Error(t, err)
	require.ErrorIs(t, err, &Error{Class: class}, "%v", err)
}
