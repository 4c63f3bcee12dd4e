package client

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"everstep/domain"
)

// A record is what history alone tells of an execution that ended.
type record struct {
	answer  string
	failure *domain.Error
}

// recorded reads history backwards, from a run on, for the last inference of an
// execution. It returns an empty record where the execution made none.
func (c *Client) recorded(ctx context.Context, s snapshot, last string, id domain.ExecutionID) (record, error) {
	scan := answerScan{reader: c.reader(), want: id, ended: map[int64]record{}}
	next := last
	for next != "" {
		runID := next
		next = ""
		for event, err := range c.backwards(ctx, s.workflowID(), runID) {
			if err != nil {
				return record{}, goneIfDeleted(err, "the answer of %s: its run has been deleted", s.called())
			}
			if scan.take(event) {
				return scan.found, nil
			}
			if started := event.GetWorkflowExecutionStartedEventAttributes(); started != nil {
				next = started.GetContinuedExecutionRunId()
			}
		}
		clear(scan.ended) // event ids begin anew
	}
	return record{}, nil
}

// An answerScan looks at events from the newest back for the last inference of
// an execution. What an activity came to stands after the event that scheduled
// it, so it is met first.
type answerScan struct {
	reader reader
	want   domain.ExecutionID
	ended  map[int64]record
	found  record
}

// take reports whether the inference was found.
func (a *answerScan) take(event *historypb.HistoryEvent) bool {
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		done := event.GetActivityTaskCompletedEventAttributes()
		if reply, ok := decoded[domain.ModelReply](a.reader, done.GetResult()); ok {
			r := record{failure: reply.Error}
			if reply.Message != nil {
				r.answer = reply.Message.Text()
			}
			a.ended[done.GetScheduledEventId()] = r
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		failed := event.GetActivityTaskFailedEventAttributes()
		a.ended[failed.GetScheduledEventId()] = record{failure: a.reader.failure(failed.GetFailure())}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		late := event.GetActivityTaskTimedOutEventAttributes()
		a.ended[late.GetScheduledEventId()] = record{failure: a.reader.failure(late.GetFailure())}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		s := a.reader.scheduled(event.GetActivityTaskScheduledEventAttributes())
		// A summary of the conversation is no answer.
		if s.isModel() && s.execution == a.want && s.model != nil && s.model.Summary == nil {
			a.found = a.ended[event.GetEventId()]
			return true
		}
	default:
	}
	return false
}
