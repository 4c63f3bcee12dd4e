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
	live    liveAnswer
}

// tool is the name of the tool, empty for what is not a tool call.
func (a *activity) toolName() string {
	if a.tool == nil {
		return ""
	}
	return a.tool.Name
}

// tries is the newest attempt that was told of, over all activities of the same
// inference.
func (a *activity) tries() int {
	if a.model == nil {
		return a.attempt
	}
	return a.model.Attempts + a.attempt
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
	f.withdraw(work, failure)
	e := Event{Type: EventRetry, Step: work.step, Tool: work.toolName(), Attempt: work.tries(), Reason: reasonOf(failure), Error: failure}
	if work.tool != nil {
		e.Position = work.tool.Position
	}
	f.emit(e)
}

func (f *fold) completed(work *activity, a *historypb.ActivityTaskCompletedEventAttributes) {
	switch {
	case work.model != nil:
		reply, _ := decoded[domain.ModelReply](f.reader, a.GetResult())
		f.replied(work, reply, 0)
	case work.kind == string(domain.ListTools):
		catalog, _ := decoded[domain.Catalog](f.reader, a.GetResult())
		f.rewriter = domain.Rewriter(catalog.Hooks)
	case work.hook != nil:
	case work.tool != nil:
		reply, _ := decoded[domain.ToolReply](f.reader, a.GetResult())
		f.toolDone(work, reply.Error)
	}
}

// replied notes how an inference ended. lost is how much of its text before
// what the reply has is lost.
func (f *fold) replied(work *activity, reply domain.ModelReply, lost int) {
	work.attempt = max(work.attempt, reply.Tries)
	e := Event{
		Type: EventAnswered, Step: work.step, Attempt: work.tries(), Finish: reply.Response.Finish, Outcome: reply.Outcome,
		Usage: reply.Response.Usage.Add(reply.Spent), Error: reply.Error, Skipped: lost,
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
	if f.rewriter != "" {
		e.Text, e.Skipped = "", 0
	}
	switch shown, ok := work.live.text.within(e.Text); {
	case lost > 0:
		e.Shown = len(e.Text) // the heartbeat that told it was shown
	case !ok || reply.Outcome == domain.BilledFailure || reply.Outcome == domain.ShutDown:
		f.withdraw(work, reply.Error)
	default:
		e.Shown = shown
	}
	f.emit(e)
}

func (f *fold) failed(work *activity, failure *failurepb.Failure) {
	if work == nil {
		return
	}
	err := f.reader.failure(failure)
	beat, heard := decoded[domain.Heartbeat](f.reader, failure.GetTimeoutFailureInfo().GetLastHeartbeatDetails())
	if work.model == nil || work.model.Summary != nil || !heard || !f.halted() {
		f.lost(work, domain.BilledFailure, err)
		return
	}
	// A stop keeps what the worker had told before it was lost.
	f.beat(work, beat)
	reply := domain.ModelReply{Outcome: domain.Interrupted, Error: err}
	if beat.Tail != "" {
		reply.Message = &domain.Message{Parts: []domain.Part{{Type: domain.PartText, Text: beat.Tail}}}
	}
	f.replied(work, reply, max(beat.Length-len(beat.Tail), 0))
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
		f.replied(work, domain.ModelReply{Outcome: outcome, Error: err}, 0)
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
