package history

import (
	"context"
	"fmt"
	"iter"
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
	// OnlyEnds leaves out all events but those with which runs end.
	OnlyEnds bool
}

// Decode makes facts of a run's events, in their order.
func Decode(c converter.DataConverter, run string, events []*historypb.HistoryEvent) iter.Seq[Recorded] {
	return newDecoder(c, run).decode(events)
}

// Facts yields the facts of a run, in their order, without waiting for more.
func (r Reader) Facts(ctx context.Context, run string) iter.Seq2[Recorded, error] {
	return func(yield func(Recorded, error) bool) {
		d := newDecoder(r.Converter, run)
		for token, more := []byte(nil), true; more; {
			events, next, err := r.page(ctx, run, token, 0)
			if err != nil {
				yield(Recorded{}, err)
				return
			}
			for recorded := range d.decode(events) {
				if !yield(recorded, nil) {
					return
				}
			}
			token, more = next, len(next) > 0 && len(events) > 0
		}
	}
}

// Events downloads all events of a run.
func (r Reader) Events(ctx context.Context, run string) (all []*historypb.HistoryEvent, _ error) {
	for token := []byte(nil); ; {
		events, next, err := r.page(ctx, run, token, 0)
		if err != nil {
			return nil, err
		}
		all = append(all, events...)
		if token = next; len(token) == 0 || len(events) == 0 {
			return all, nil
		}
	}
}

// First reads with what a run began. What of it cannot be read is absent.
func (r Reader) First(ctx context.Context, run string) (RunBegan, error) {
	events, _, err := r.page(ctx, run, nil, 1)
	if err != nil {
		return RunBegan{}, err
	}
	for recorded := range Decode(r.Converter, run, events) {
		if began, ok := recorded.Fact.(RunBegan); ok {
			return began, nil
		}
	}
	return RunBegan{}, fmt.Errorf("history: run %s does not begin with its beginning", run)
}

// End reads how a run has ended.
func (r Reader) End(ctx context.Context, run string) (RunEnded, error) {
	r.OnlyEnds = true
	events, _, err := r.page(ctx, run, nil, 0)
	if err != nil {
		return RunEnded{}, err
	}
	for recorded := range Decode(r.Converter, run, events) {
		if ended, ok := recorded.Fact.(RunEnded); ok {
			return ended, nil
		}
	}
	return RunEnded{}, fmt.Errorf("history: run %s has not ended", run)
}

// Failure is what a run that has failed said in the end; empty where it did not fail.
func (r Reader) Failure(ctx context.Context, run string) (string, error) {
	r.OnlyEnds = true
	events, _, err := r.page(ctx, run, nil, 0)
	if err != nil || len(events) == 0 {
		return "", err
	}
	failure := events[len(events)-1].GetWorkflowExecutionFailedEventAttributes().GetFailure()
	return newDecoder(r.Converter, run).message(failure), nil
}

func (r Reader) page(ctx context.Context, run string, token []byte, size int32) ([]*historypb.HistoryEvent, []byte, error) {
	call, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	response, err := RetryWhileAway(call, func() (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
		return r.Service.GetWorkflowExecutionHistory(call, &workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace: r.Namespace, Execution: r.execution(run), NextPageToken: token, MaximumPageSize: size, SkipArchival: true,
			HistoryEventFilterType: r.filter(),
		})
	})
	return response.GetHistory().GetEvents(), response.GetNextPageToken(), err
}

func (r Reader) execution(run string) *commonpb.WorkflowExecution {
	return &commonpb.WorkflowExecution{WorkflowId: r.Workflow, RunId: run}
}

func (r Reader) filter() enumspb.HistoryEventFilterType {
	if r.OnlyEnds {
		return enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT
	}
	return enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT
}

// CallTimeout bounds one call to the server, its retries included, so that a
// server that is not there is told within 10 s.
const CallTimeout = 8 * time.Second
