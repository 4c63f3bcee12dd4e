package client

import (
	"context"

	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/grpc"
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

func (h forestHistory) DescribeWorkflowExecution(ctx context.Context, in *workflowservice.DescribeWorkflowExecutionRequest, _ ...grpc.CallOption) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return h.forest.DescribeWorkflowExecution(ctx, in.GetExecution().GetWorkflowId(), in.GetExecution().GetRunId())
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
