package client

import (
	"context"
	"iter"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
)

// An item is what a chain of runs yields: an event, or news of the connection.
type item struct {
	runID string
	// event is nil for news of the connection.
	event *historypb.HistoryEvent
	// repeated means that the event stands in an earlier run too, from which
	// this one was reset.
	repeated bool
	// lost is why the connection went; back says that it returned.
	lost error
	back bool
}

// chain yields the history of a run and of those that follow it, from the
// beginning of the run on, and waits for more. It ends after the event with
// which the last run closed. Where the server goes away it says so once and
// tries again until ctx ends.
func (c *Client) chain(ctx context.Context, s snapshot, runID string) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		reset := false
		for runID != "" {
			run := runReader{client: c, snapshot: s, runID: runID, reset: reset}
			more, err := run.read(ctx, yield)
			if err != nil {
				yield(item{}, fail(ctx, s.called(), "following "+s.called(), err))
			}
			if err != nil || !more {
				return
			}
			if runID, reset, err = c.following(ctx, s, runID, run.closed); err != nil {
				yield(item{}, fail(ctx, s.called(), "following "+s.called(), err))
				return
			}
		}
	}
}

// following returns the run that goes on from the one that closed, empty where
// none does, and whether it was reset.
func (c *Client) following(ctx context.Context, s snapshot, runID string, closed *historypb.HistoryEvent) (string, bool, error) {
	if next := closed.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId(); next != "" {
		return next, false, nil
	}
	if closed.GetEventType() != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED {
		return "", false, nil
	}
	now, err := c.snapshot(ctx, s.agent)
	if err != nil || now.firstRunID() != s.firstRunID() || now.runID() == runID {
		return "", false, err
	}
	return now.runID(), true, nil
}

// A runReader gives out the events of one run.
type runReader struct {
	client   *Client
	snapshot snapshot
	runID    string
	reset    bool
	// closed is the event with which the run ended.
	closed *historypb.HistoryEvent
}

// read yields the run's events until it has closed. It reports false where the
// caller wants no more.
func (r *runReader) read(ctx context.Context, yield func(item, error) bool) (bool, error) {
	f := feed{client: r.client, workflowID: r.snapshot.workflowID(), runID: r.runID}
	lost, delay := false, 50*time.Millisecond
	for r.closed == nil {
		events, err := f.next(ctx)
		switch {
		case err != nil && (ctx.Err() != nil || !transient(err)):
			return false, goneIfDeleted(err, "run %s of %s has been deleted", r.runID, r.snapshot.called())
		case err != nil:
			if !lost && !yield(item{runID: r.runID, lost: err}, nil) {
				return false, nil
			}
			lost = true
			if !pause(ctx, delay) {
				return false, ctx.Err()
			}
			delay = min(2*delay, 2*time.Second)
			continue
		case lost && !yield(item{runID: r.runID, back: true}, nil):
			return false, nil
		}
		lost, delay = false, 50*time.Millisecond
		if !r.give(events, yield) {
			return false, nil
		}
	}
	return true, nil
}

func (r *runReader) give(events []*historypb.HistoryEvent, yield func(item, error) bool) bool {
	for _, event := range events {
		if !yield(item{runID: r.runID, event: event, repeated: r.reset}, nil) {
			return false
		}
		failed := event.GetWorkflowTaskFailedEventAttributes()
		if failed.GetCause() == enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW {
			r.reset = false
		}
		if closes(event.GetEventType()) {
			r.closed = event
		}
	}
	return true
}

// transient reports whether a wait for events may simply be tried again. A
// server that is shutting down answers in many ways.
func transient(err error) bool {
	if isAs[*Error](err) {
		return false
	}
	switch serviceerror.ToStatus(err).Code() {
	case codes.Canceled, codes.Unknown, codes.Internal:
		return true
	default:
		return away(err)
	}
}

func closes(t enumspb.EventType) bool {
	switch t {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return true
	}
	return false
}

// statusOf is the status that a closing event gives a workflow.
func statusOf(t enumspb.EventType) enumspb.WorkflowExecutionStatus {
	switch t {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		return enumspb.WORKFLOW_EXECUTION_STATUS_FAILED
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
		return enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		return enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
		return enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
	}
	return enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
}
