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
func (r Reader) First(ctx context.Context, run string) (RunBegan, error) {
	request := r.request(run)
	request.MaximumPageSize = 1
	response, err := r.page(ctx, request)
	if err != nil {
		return RunBegan{}, err
	}
	events := response.GetHistory().GetEvents()
	if len(events) == 0 || events[0].GetEventType() != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED {
		return RunBegan{}, fmt.Errorf("history: run %s does not begin with its beginning", run)
	}
	return Began(r.Converter, events[0]), nil
}

// End reads how a run has ended.
func (r Reader) End(ctx context.Context, run string) (RunEnded, error) {
	last, err := r.last(ctx, run)
	if err != nil {
		return RunEnded{}, err
	}
	end, ok := ended(r.Converter, last)
	if !ok {
		return end, fmt.Errorf("history: run %s has not ended", run)
	}
	return end, nil
}

// Failure is what a run that has failed said in the end; empty where it did not fail.
func (r Reader) Failure(ctx context.Context, run string) (string, error) {
	last, err := r.last(ctx, run)
	return message(r.Converter, last.GetWorkflowExecutionFailedEventAttributes().GetFailure()), err
}

// last is the event with which a run has ended; nil: it has not.
func (r Reader) last(ctx context.Context, run string) (*historypb.HistoryEvent, error) {
	request := r.request(run)
	request.HistoryEventFilterType = enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT
	response, err := r.page(ctx, request)
	if events := response.GetHistory().GetEvents(); err == nil && len(events) > 0 {
		return events[len(events)-1], nil
	}
	return nil, err
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
