package client

import (
	"context"
	"iter"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
)

// longPoll is how long one wait for new events may take; the server ends it
// sooner by itself.
const longPoll = 90 * time.Second

// A feed reads one run's history from its beginning and then waits for more. It
// is used by one goroutine.
type feed struct {
	client     *Client
	workflowID string
	runID      string
	token      []byte
	// seen is the id of the newest event given out; what comes again after a
	// new connection is left out. Workflow tasks do not count: those of an
	// attempt that failed are shown without being recorded.
	seen int64
}

// next returns the events that follow, waiting for them, and nothing where none
// came for a while. An error loses nothing: next may be called again.
func (f *feed) next(ctx context.Context) ([]*historypb.HistoryEvent, error) {
	call, cancel := context.WithTimeout(ctx, longPoll)
	defer cancel()
	response, err := f.client.temporal.WorkflowService().GetWorkflowExecutionHistory(call,
		&workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace:     f.client.cfg.Namespace,
			Execution:     &commonpb.WorkflowExecution{WorkflowId: f.workflowID, RunId: f.runID},
			WaitNewEvent:  true,
			NextPageToken: f.token,
			SkipArchival:  true,
		})
	if err != nil {
		f.token = nil // it may not outlive the server that gave it
		return nil, err
	}
	f.token = response.GetNextPageToken()
	events, err := eventsOf(response)
	if err != nil {
		return nil, err
	}
	return f.fresh(events), nil
}

// fresh leaves out the events that were given out before.
func (f *feed) fresh(events []*historypb.HistoryEvent) []*historypb.HistoryEvent {
	for len(events) > 0 && events[0].GetEventId() <= f.seen {
		events = events[1:]
	}
	for _, event := range events {
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:
		default:
			f.seen = event.GetEventId()
		}
	}
	return events
}

// eventsOf reads a response in either form in which servers give it.
func eventsOf(r *workflowservice.GetWorkflowExecutionHistoryResponse) ([]*historypb.HistoryEvent, error) {
	events := r.GetHistory().GetEvents()
	for _, blob := range r.GetRawHistory() {
		var part historypb.History
		if err := proto.Unmarshal(blob.GetData(), &part); err != nil {
			return nil, errorf(Failed, err, "history: cannot be read: %s", err)
		}
		events = append(events, part.GetEvents()...)
	}
	return events, nil
}

// backwards yields the events of a run, the newest first.
func (c *Client) backwards(ctx context.Context, workflowID, runID string) iter.Seq2[*historypb.HistoryEvent, error] {
	return func(yield func(*historypb.HistoryEvent, error) bool) {
		var token []byte
		for {
			response, err := c.reversePage(ctx, workflowID, runID, token)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, event := range response.GetHistory().GetEvents() {
				if !yield(event, nil) {
					return
				}
			}
			if token = response.GetNextPageToken(); len(token) == 0 {
				return
			}
		}
	}
}

func (c *Client) reversePage(ctx context.Context, workflowID, runID string, token []byte) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return retried(call, func() (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
		return c.temporal.WorkflowService().GetWorkflowExecutionHistoryReverse(call,
			&workflowservice.GetWorkflowExecutionHistoryReverseRequest{
				Namespace:       c.cfg.Namespace,
				Execution:       &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID},
				MaximumPageSize: 200,
				NextPageToken:   token,
			})
	})
}

// page reads the events that a request names, and where the next ones are.
func (c *Client) page(ctx context.Context, request *workflowservice.GetWorkflowExecutionHistoryRequest) (events []*historypb.HistoryEvent, next []byte, err error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := retried(call, func() (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
		return c.temporal.WorkflowService().GetWorkflowExecutionHistory(call, request)
	})
	if err != nil {
		return nil, nil, err
	}
	events, err = eventsOf(response)
	return events, response.GetNextPageToken(), err
}

// first returns the event with which a run began.
func (c *Client) first(ctx context.Context, workflowID, runID string) (*historypb.WorkflowExecutionStartedEventAttributes, error) {
	events, _, err := c.page(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace:       c.cfg.Namespace,
		Execution:       &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID},
		MaximumPageSize: 1,
	})
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return nil, errorf(Failed, nil, "history: run %s has no events", runID)
	}
	return events[0].GetWorkflowExecutionStartedEventAttributes(), nil
}

// retried makes a call that changes nothing again while the server is away and
// ctx lasts.
func retried[T any](ctx context.Context, call func() (T, error)) (T, error) {
	for delay := 50 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		value, err := call()
		if err == nil || !away(err) || !pause(ctx, delay) {
			return value, err
		}
	}
}

// pause waits, and reports whether ctx lasted.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
