package client

import (
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"

	"everstep/domain"
)

// An activity is one that was scheduled and has not ended.
type activity struct {
	scheduled
	id string
	// attempt is the newest that was told of.
	attempt int
	live    liveText
}

// tool is the name of the tool, empty for what is not a tool call.
func (a *activity) toolName() string {
	if a.tool == nil {
		return ""
	}
	return a.tool.Name
}

// activity folds the events of activities.
func (f *fold) activity(event *historypb.HistoryEvent) {
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		a := event.GetActivityTaskScheduledEventAttributes()
		work := &activity{scheduled: f.reader.scheduled(a), id: a.GetActivityId(), attempt: 1}
		f.work[event.GetEventId()] = work
		f.scheduled(work)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		a := event.GetActivityTaskStartedEventAttributes()
		if work := f.work[a.GetScheduledEventId()]; work != nil {
			f.retried(work, int(a.GetAttempt()), f.reader.failure(a.GetLastFailure()))
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		a := event.GetActivityTaskCompletedEventAttributes()
		if work := f.done(a.GetScheduledEventId()); work != nil {
			f.completed(work, a)
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		a := event.GetActivityTaskFailedEventAttributes()
		f.failed(f.done(a.GetScheduledEventId()), a.GetFailure())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		a := event.GetActivityTaskTimedOutEventAttributes()
		f.failed(f.done(a.GetScheduledEventId()), a.GetFailure())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		a := event.GetActivityTaskCanceledEventAttributes()
		f.cancelled(f.done(a.GetScheduledEventId()))
	default:
	}
}

// done takes an activity off the list, nil where it is not on it.
func (f *fold) done(scheduledEventID int64) *activity {
	work := f.work[scheduledEventID]
	delete(f.work, scheduledEventID)
	return work
}

func (f *fold) scheduled(work *activity) {
	f.noted(work.execution)
	switch {
	case work.model != nil:
		f.inference(work)
	case work.hook != nil:
		f.hook(work)
	case work.tool != nil:
		f.begun[work.tool.Position] = true
		f.emit(Event{
			Type: EventTool, Step: work.step, Position: work.tool.Position,
			Tool: work.tool.Name, Arguments: work.tool.Arguments,
		})
	}
}

// retried notes another attempt, once, whoever tells it first.
func (f *fold) retried(work *activity, attempt int, failure *domain.Error) {
	if attempt <= work.attempt || work.model == nil && work.tool == nil {
		return
	}
	work.attempt = attempt
	if work.live.withdraw() {
		f.emit(Event{Type: EventWithdrawn, Step: work.step})
	}
	e := Event{Type: EventRetry, Step: work.step, Tool: work.toolName(), Attempt: attempt, Reason: reasonOf(failure), Error: failure}
	if work.tool != nil {
		e.Position = work.tool.Position
	}
	f.emit(e)
}

func (f *fold) completed(work *activity, a *historypb.ActivityTaskCompletedEventAttributes) {
	switch {
	case work.model != nil:
		reply, _ := decoded[domain.ModelReply](f.reader, a.GetResult())
		f.replied(work, reply)
	case work.hook != nil:
	case work.tool != nil:
		reply, _ := decoded[domain.ToolReply](f.reader, a.GetResult())
		f.toolDone(work, reply.Error)
	}
}

// replied notes how an inference ended.
func (f *fold) replied(work *activity, reply domain.ModelReply) {
	e := Event{
		Type: EventAnswered, Step: work.step, Finish: reply.Response.Finish, Outcome: reply.Outcome,
		Usage: reply.Response.Usage.Add(reply.Spent), Error: reply.Error,
	}
	if reply.Message != nil && work.model.Summary == nil {
		e.Text, e.Calls = reply.Message.Text(), reply.Message.ToolCalls
	}
	switch {
	case reply.Outcome != domain.Answered:
		e.Type, f.cut = EventCut, reply.Error
	case work.model.Summary != nil: // no answer of the agent's
		return
	default:
		f.asked, f.askedIn, f.begun = e.Calls, f.runID, map[int]bool{}
	}
	shown, ok := work.live.within(e.Text)
	if !ok {
		f.emit(Event{Type: EventWithdrawn, Step: work.step})
	}
	e.Shown = shown
	f.emit(e)
}

func (f *fold) failed(work *activity, failure *failurepb.Failure) {
	if work != nil {
		f.lost(work, domain.BilledFailure, f.reader.failure(failure))
	}
}

func (f *fold) cancelled(work *activity) {
	if work != nil {
		f.lost(work, domain.Interrupted, domain.CodedErrorf(domain.Denied, domain.CodeInterrupted, "it was interrupted"))
	}
}

// lost notes an activity that ended without a result.
func (f *fold) lost(work *activity, outcome domain.ModelOutcome, err *domain.Error) {
	switch {
	case work.model != nil:
		f.replied(work, domain.ModelReply{Outcome: outcome, Error: err})
	case work.hook != nil && outcome != domain.Interrupted:
		f.emit(Event{Type: EventHookFailed, Step: work.hook.Step, Hook: work.hook.Hook.Name, Trigger: work.hook.Hook.Trigger, Error: err})
	case work.tool != nil:
		f.toolDone(work, err)
	}
}

func (f *fold) toolDone(work *activity, err *domain.Error) {
	f.emit(Event{Type: EventToolDone, Step: work.step, Position: work.tool.Position, Tool: work.tool.Name, Error: err})
}

func reasonOf(err *domain.Error) string {
	if err == nil {
		return ""
	}
	return err.Message
}
