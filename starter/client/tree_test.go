package client

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	commonpb "go.temporal.io/api/common/v1"

	"everstep/domain"
	"everstep/domain/contract"
)

// A forest answers for several workflows, by their ids.
type forest struct {
	sdk.Client
	by map[string]*fakeServer
	// asked is the newest query of a list.
	asked  string
	listed []*workflowpb.WorkflowExecutionInfo
}

func (f *forest) of(id string) (*fakeServer, error) {
	if s := f.by[id]; s != nil {
		return s, nil
	}
	return nil, serviceerror.NewNotFound("no such workflow")
}

func (f *forest) DescribeWorkflowExecution(ctx context.Context, id, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	s, err := f.of(id)
	if err != nil {
		return nil, err
	}
	return s.DescribeWorkflowExecution(ctx, id, runID)
}

func (f *forest) QueryWorkflowWithOptions(ctx context.Context, r *sdk.QueryWorkflowWithOptionsRequest) (*sdk.QueryWorkflowWithOptionsResponse, error) {
	s, err := f.of(r.WorkflowID)
	if err != nil {
		return nil, err
	}
	return s.QueryWorkflowWithOptions(ctx, r)
}

func (f *forest) ListWorkflow(_ context.Context, r *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	f.asked = r.Query
	return &workflowservice.ListWorkflowExecutionsResponse{Executions: f.listed}, nil
}

func (f *forest) WorkflowService() workflowservice.WorkflowServiceClient {
	return forestHistory{forest: f}
}

type forestHistory struct {
	workflowservice.WorkflowServiceClient
	forest *forest
}

func (h forestHistory) DescribeTaskQueue(context.Context, *workflowservice.DescribeTaskQueueRequest, ...grpc.CallOption) (*workflowservice.DescribeTaskQueueResponse, error) {
	return &workflowservice.DescribeTaskQueueResponse{}, nil
}

func (h forestHistory) GetWorkflowExecutionHistory(ctx context.Context, r *workflowservice.GetWorkflowExecutionHistoryRequest, o ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	s, err := h.forest.of(r.Execution.WorkflowId)
	if err != nil {
		return nil, err
	}
	return fakeHistory{fake: s}.GetWorkflowExecutionHistory(ctx, r, o...)
}

func (h forestHistory) GetWorkflowExecutionHistoryReverse(ctx context.Context, r *workflowservice.GetWorkflowExecutionHistoryReverseRequest, o ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
	s, err := h.forest.of(r.Execution.WorkflowId)
	if err != nil {
		return nil, err
	}
	return fakeHistory{fake: s}.GetWorkflowExecutionHistoryReverse(ctx, r, o...)
}

// spawned is what a sub-agent of a call begins with.
func spawned(by domain.AgentID, execution domain.ExecutionID, step, position, depth int) contract.SessionInput {
	parent := contract.Parent{
		AgentID: by, ExecutionID: execution, Step: step, Position: position, Subagent: "leaf", Depth: depth, MaxDepth: 3,
		Grant: domain.ExecutionBudget{MaxTokens: new(int64(500)), MaxCostNanoUSD: new(int64(90))},
	}
	return contract.SessionInput{AgentID: parent.Call().Subagent(), Prompt: "find", Parent: &parent}
}

// spawns records that a sub-agent was to start.
func (r *fakeRun) spawns(in contract.SessionInput) int64 {
	return r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
		Attributes: &historypb.HistoryEvent_StartChildWorkflowExecutionInitiatedEventAttributes{
			StartChildWorkflowExecutionInitiatedEventAttributes: &historypb.StartChildWorkflowExecutionInitiatedEventAttributes{
				WorkflowId: in.WorkflowID(), Input: payloads(in),
			},
		},
	})
}

func (r *fakeRun) childEnds(initiated int64, o contract.Outcome) {
	r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED,
		Attributes: &historypb.HistoryEvent_ChildWorkflowExecutionCompletedEventAttributes{
			ChildWorkflowExecutionCompletedEventAttributes: &historypb.ChildWorkflowExecutionCompletedEventAttributes{InitiatedEventId: initiated, Result: payloads(o)},
		},
	})
}

func (r *fakeRun) childTerminated(initiated int64) {
	r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED,
		Attributes: &historypb.HistoryEvent_ChildWorkflowExecutionTerminatedEventAttributes{
			ChildWorkflowExecutionTerminatedEventAttributes: &historypb.ChildWorkflowExecutionTerminatedEventAttributes{InitiatedEventId: initiated},
		},
	})
}

// subRun begins the history of a sub-agent's run.
func subRun(in contract.SessionInput) *fakeRun {
	r := newRun("run-"+in.AgentID.String()[:4], nil)
	r.events[0].GetWorkflowExecutionStartedEventAttributes().Input = payloads(in)
	return r
}

func outcomeWith(in contract.SessionInput, run string, steps int, tokens int64) contract.Outcome {
	return contract.Outcome{
		AgentID: in.AgentID, ExecutionID: in.AgentID.Execution(run, 1), Number: 1, Status: domain.StatusCompleted, StopReason: domain.Completed,
		Steps: steps, Usage: usage(tokens, 0), CostNanoUSD: tokens / 10, Priced: true,
	}
}

// completesWith ends a run that has an outcome.
func (r *fakeRun) completesWith(o contract.Outcome) *fakeServer {
	r.ends(o)
	r.status = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	return newFake(r)
}

// grove is nora with four sub-agents: one that has one in turn, one whose history was deleted, one that was terminated,
// and one under way that has none yet.
func grove(t *testing.T) (f *forest, ids []string) {
	t.Helper()
	nora1 := nth(1)
	var ins []contract.SessionInput
	for i := range 4 {
		in := spawned(nora.id, nora1, 1, i, 1)
		ins, ids = append(ins, in), append(ids, in.AgentID.String())
	}
	branch := subRun(ins[0])
	below := spawned(ins[0].AgentID, ins[0].AgentID.Execution(branch.id, 1), 2, 0, 2)
	ids = append(ids, below.AgentID.String())
	leaf := subRun(below)
	leafEnd := outcomeWith(below, leaf.id, 1, 100)
	branchEnd := outcomeWith(ins[0], branch.id, 3, 300)
	branch.childEnds(branch.spawns(below), leafEnd)

	root := newRun("run-1", nil)
	root.completes(root.infers(1, 1), contract.ModelReply{Outcome: contract.Answered, Message: &domain.Message{Role: domain.RoleAssistant}, Response: domain.Response{Usage: usage(40, 10)}})
	var begun []int64
	for _, in := range ins {
		begun = append(begun, root.spawns(in))
	}
	root.childEnds(begun[0], branchEnd)
	gone := outcomeWith(ins[1], "gone", 2, 200)
	gone.Status, gone.StopReason = domain.StatusStopped, domain.StepsLimitReached
	root.childEnds(begun[1], gone)
	root.childTerminated(begun[2])
	running := subRun(ins[3])
	running.completes(running.schedule(string(contract.CallModel), contract.ModelRequest{ExecutionID: ins[3].AgentID.Execution(running.id, 1), Step: 1}),
		contract.ModelReply{Outcome: contract.Answered, Message: &domain.Message{Role: domain.RoleAssistant}, Response: domain.Response{Usage: usage(7, 0)}})
	cut := subRun(ins[2])
	cut.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
	return &forest{by: map[string]*fakeServer{
		"agent/nora": newFake(root), ins[0].WorkflowID(): branch.completesWith(branchEnd), below.WorkflowID(): leaf.completesWith(leafEnd),
		ins[2].WorkflowID(): newFake(cut), ins[3].WorkflowID(): newFake(running),
	}}, ids
}

// signaled records that a workflow was given a signal.
func (r *fakeRun) signaled(name string, in any) {
	r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
			WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{SignalName: name, Input: payloads(in)},
		},
	})
}

// TestListOfATree: Temporal's own fields tell whose sub-agent one is.
func TestListOfATree(t *testing.T) {
	t.Parallel()
	one := outcomeOf(1, 4)
	info := visible("agent/3f0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a11", "run-3", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, &one)
	info.ParentExecution = &commonpb.WorkflowExecution{WorkflowId: "agent/nora"}
	f := &forest{listed: []*workflowpb.WorkflowExecutionInfo{info}}
	agents := New(f, Config{Loopback: true})
	for asks, filter := range map[string]ListFilter{
		"ParentWorkflowId IS NULL":        {Roots: true},
		"ParentWorkflowId = 'agent/nora'": {Parent: "nora"},
	} {
		var got []Listed
		for l, err := range agents.List(t.Context(), ListOptions{ListFilter: filter}) {
			require.NoError(t, err)
			got = append(got, l)
		}
		require.Len(t, got, 1)
		require.Equal(t, "nora", got[0].ParentID)
		require.Contains(t, f.asked, asks)
	}
	for _, err := range agents.List(t.Context(), ListOptions{ListFilter: ListFilter{Parent: "a'b"}}) {
		requireClass(t, err, Invalid)
	}
}
