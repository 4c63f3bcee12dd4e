package history

import (
	"context"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
)

// A Reader reads the runs of one workflow. It is safe for concurrent use.
type Reader struct {
	Service   workflowservice.WorkflowServiceClient
	Converter converter.DataConverter
	// Namespace and Workflow name the workflow.
	Namespace, Workflow string
}

// Events downloads all events of a run.
func (r Reader) Events(ctx context.Context, run string) (all []*historypb.HistoryEvent, _ error) {
	request := r.request(run)
	for {
		response, err := r.page(ctx, request)
		if err != nil {
			return nil, err
		}
		events := response.GetHistory().GetEvents()
		all = append(all, events...)
		if request.NextPageToken = response.GetNextPageToken(); len(request.NextPageToken) == 0 || len(events) == 0 {
			return all, nil
		}
	}
}

// First reads with what a run began. What of it cannot be read is absent.
func (r Reader) First(ctx context.Context, run string) (none RunBegan, _ error) {
	request := r.request(run)
	request.MaximumPageSize = 1
	response, err := r.page(ctx, request)
	if err != nil {
		return none, err
	}
	events := response.GetHistory().GetEvents()
	if len(events) == 0 {
		return none, fmt.Errorf("history: run %s has no events", run)
	}
	return Began(r.Converter, events[0]), nil
}

// End reads how a run has ended; zero: it has not.
func (r Reader) End(ctx context.Context, run string) (end RunEnded, _ error) {
	request := r.request(run)
	request.HistoryEventFilterType = enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT
	response, err := r.page(ctx, request)
	for _, event := range response.GetHistory().GetEvents() {
		end, _ = ended(r.Converter, event)
	}
	return end, err
}

func (r Reader) request(run string) *workflowservice.GetWorkflowExecutionHistoryRequest {
	return &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: r.Namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: r.Workflow, RunId: run}, SkipArchival: true,
		HistoryEventFilterType: enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT,
	}
}

func (r Reader) page(ctx context.Context, request *workflowservice.GetWorkflowExecutionHistoryRequest) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	call, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return RetryWhileAway(call, func() (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
		return r.Service.GetWorkflowExecutionHistory(call, request)
	})
}

// CallTimeout bounds one call to the server, its retries included, so that a
// server that is not there is told within 10 s.
const CallTimeout = 8 * time.Second
