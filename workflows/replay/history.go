package replay

import (
	"fmt"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"everstep/domain/contract"
)

// A past is a history as it is replayed.
type past struct {
	// replayed ends with what the last completed workflow task has done and, where that has not ended the workflow, with an
	// idle task.
	replayed []*historypb.HistoryEvent
	// task is the id of the event by which that task was completed; 0: none was, and the first one is made up.
	task int64
	// idle is the id of the event by which the idle task was started; 0: the workflow has ended.
	idle int
	// waiting are the events that no task has taken.
	waiting []*historypb.HistoryEvent
}

// split checks a history and parts it behind its last completed workflow task.
func split(events []*historypb.HistoryEvent) (past, error) {
	if err := check(events); err != nil {
		return past{}, err
	}
	task := lastIndex(events, func(e *historypb.HistoryEvent) bool {
		return e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
	})
	since := events[task+1:]
	p := past{waiting: slices.DeleteFunc(slices.Clone(since), func(e *historypb.HistoryEvent) bool { return isCommand(e) || !isNews(e) })}
	if task < 0 {
		p.replayed, p.idle = firstTask(events[0]), 3
		return p, nil
	}
	started := events[max(task-1, 0)]
	if started.GetEventType() != enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED {
		return p, &Error{Kind: ErrIncomplete, EventID: events[task].GetEventId(), Detail: "the workflow task was completed and never started"}
	}
	p.task = events[task].GetEventId()
	// The server writes the end of an activity between the commands of the task that has cancelled it, though only the next
	// task takes it. An event of no effect stands in its place, since the numbers have to follow each other.
	commands := lastIndex(since, isCommand) + 1
	p.replayed = slices.Clone(events[:task+1+commands])
	for i, e := range since[:commands] {
		if !isCommand(e) {
			p.replayed[task+1+i] = &historypb.HistoryEvent{EventId: e.GetEventId(), EventTime: e.GetEventTime(), EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED}
		}
	}
	if closes(p.replayed[len(p.replayed)-1]) {
		return p, nil
	}
	// An idle task is a made-up one at the time of the last, for which nothing has happened. All coroutines are tried once in
	// it, and stay where the last task has left them.
	for _, e := range []*historypb.HistoryEvent{{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED}, started, events[task]} {
		p.replayed = append(p.replayed, &historypb.HistoryEvent{
			EventId: int64(len(p.replayed) + 1), EventTime: started.GetEventTime(), EventType: e.GetEventType(), Attributes: e.GetAttributes(),
		})
	}
	p.idle = len(p.replayed) - 1
	return p, nil
}

// firstTask is a run of which no task has been completed, with one made up that does nothing: the workflow's own code tells
// from the run's input alone as much as there is to know.
func firstTask(began *historypb.HistoryEvent) []*historypb.HistoryEvent {
	events := []*historypb.HistoryEvent{
		began, {EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED},
		{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED, Attributes: &historypb.HistoryEvent_WorkflowTaskStartedEventAttributes{
			WorkflowTaskStartedEventAttributes: &historypb.WorkflowTaskStartedEventAttributes{ScheduledEventId: 2},
		}},
		{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, Attributes: &historypb.HistoryEvent_WorkflowTaskCompletedEventAttributes{
			WorkflowTaskCompletedEventAttributes: &historypb.WorkflowTaskCompletedEventAttributes{ScheduledEventId: 2, StartedEventId: 3},
		}},
	}
	for i, e := range events[1:] {
		e.EventId, e.EventTime = int64(i+2), began.GetEventTime()
	}
	return events
}

// check refuses what is not the history of a workflow of ours from its beginning on.
func check(events []*historypb.HistoryEvent) error {
	if len(events) == 0 {
		return &Error{Kind: ErrIncomplete, Detail: "it has no events"}
	}
	for i, e := range events {
		if e.GetEventId() != int64(i+1) {
			return &Error{Kind: ErrIncomplete, EventID: int64(i + 1), Detail: fmt.Sprintf("event %d stands in the place of event %d", e.GetEventId(), i+1)}
		}
	}
	started := events[0].GetWorkflowExecutionStartedEventAttributes()
	if started == nil {
		return &Error{Kind: ErrIncomplete, EventID: 1, Detail: "its first event does not start a workflow"}
	}
	if name := started.GetWorkflowType().GetName(); name != string(contract.Execute) && name != string(contract.Scheduled) {
		return &Error{Kind: ErrForeign, EventID: 1, Detail: fmt.Sprintf("its type is %q", name)}
	}
	return nil
}

func lastIndex(events []*historypb.HistoryEvent, is func(*historypb.HistoryEvent) bool) int {
	for i, e := range slices.Backward(events) {
		if is(e) {
			return i
		}
	}
	return -1
}

// isCommand reports whether a workflow task has written an event. It has those types that the SDK compares when it replays.
func isCommand(e *historypb.HistoryEvent) bool {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED,
		enumspb.EVENT_TYPE_TIMER_STARTED, enumspb.EVENT_TYPE_TIMER_CANCELED, enumspb.EVENT_TYPE_MARKER_RECORDED,
		enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED, enumspb.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
		enumspb.EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
		enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES, enumspb.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_REJECTED,
		enumspb.EVENT_TYPE_NEXUS_OPERATION_SCHEDULED, enumspb.EVENT_TYPE_NEXUS_OPERATION_CANCEL_REQUESTED:
		return true
	default:
		return closes(e)
	}
}

// closes reports whether the workflow itself has ended the run with an event.
func closes(e *historypb.HistoryEvent) bool {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return true
	default:
		return false
	}
}

// isNews reports whether an event, which is no command, waits for a workflow task to take it where none came after it. The
// start is the run's input; the others are the server's bookkeeping, and ends of which no workflow hears.
func isNews(e *historypb.HistoryEvent) bool {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED,
		enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
		return false
	default:
		return true
	}
}
