package client

import (
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"

	"everstep/domain"
)

// A pastTurn is a step as its activities tell it.
type pastTurn struct {
	domain.StepExecution
	retries     []ExplainRetry
	failed      int
	compactions []ExplainCompaction
	// queued is how long its inferences waited for their turns.
	queued time.Duration
	edits  domain.Edits
	// cut is why the newest inference has no answer; nil where it has.
	cut *domain.Error
	// seen is when its newest activity ended.
	seen time.Time
}

// A pastWork is an activity of the execution that has not ended.
type pastWork struct {
	scheduled
	since time.Time
	// attempt is the one that was started last, before is why the one before it
	// failed.
	attempt int
	before  *domain.Error
}

// activity notes what the events of activities tell.
func (h *past) activity(event *historypb.HistoryEvent) {
	now := event.GetEventTime().AsTime()
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		h.scheduled(event.GetEventId(), h.reader.scheduled(event.GetActivityTaskScheduledEventAttributes()), now)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		a := event.GetActivityTaskStartedEventAttributes()
		if work := h.work[a.GetScheduledEventId()]; work != nil {
			work.attempt, work.before = int(a.GetAttempt()), h.reader.failure(a.GetLastFailure())
			h.began(work, now)
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		h.completed(event.GetActivityTaskCompletedEventAttributes(), now)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		a := event.GetActivityTaskFailedEventAttributes()
		h.broken(a.GetScheduledEventId(), a.GetFailure(), now)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		a := event.GetActivityTaskTimedOutEventAttributes()
		h.broken(a.GetScheduledEventId(), a.GetFailure(), now)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		a := event.GetActivityTaskCanceledEventAttributes()
		h.broken(a.GetScheduledEventId(), nil, now)
	default:
	}
}

func (h *past) scheduled(id int64, s scheduled, now time.Time) {
	if s.step > 0 {
		h.run.steps[s.execution.Step(s.step)] = true
	}
	if s.kind == string(domain.ListTools) {
		h.work[id] = &pastWork{scheduled: s}
		return
	}
	if s.execution != h.want || s.step < 1 {
		return
	}
	if h.startedAt.IsZero() {
		h.startedAt = now
	}
	h.turnTo(s.step, now)
	h.work[id] = &pastWork{scheduled: s, since: now}
	switch {
	case s.model != nil:
		h.compacted(*s.model)
	case s.tool != nil:
		h.called(*s.tool).StartedAt = now
	}
}

// began adds what an inference has waited for its turn. Of one that was tried
// again nobody knows when its first attempt began.
func (h *past) began(work *pastWork, now time.Time) {
	if work.attempt == 1 && h.limits(work) && h.turn != nil {
		h.turn.queued += now.Sub(work.since)
	}
}

// limits reports whether an inference is one of those that have to wait for
// their turns.
func (h *past) limits(work *pastWork) bool {
	return work.model != nil && h.limit != nil && work.queue == h.limit.TaskQueue
}

// turnTo makes a step the one that activities belong to.
func (h *past) turnTo(step int, now time.Time) {
	if h.turn != nil && h.turn.Step.Number == step {
		return
	}
	edits := domain.Edits{}
	if h.turn != nil {
		edits = h.turn.edits
		h.flush(false)
	}
	h.turn = &pastTurn{edits: edits}
	h.turn.StartedAt = now
	h.turn.Step.ID, h.turn.Step.Number = h.want.Step(step), step
}

// compacted notes what an inference is no longer shown that the one before was.
func (h *past) compacted(request domain.ModelRequest) {
	before := h.turn.edits
	h.turn.edits = request.Edits
	// A summary clears what it hides, which is its own matter.
	if request.Edits.Cleared > max(before.Cleared, request.Edits.Hidden) {
		h.turn.compactions = append(h.turn.compactions, ExplainCompaction{Kind: CompactionCleared, Before: request.Edits.Cleared})
	}
	if request.Summary != nil {
		h.turn.compactions = append(h.turn.compactions, ExplainCompaction{Kind: CompactionSummary, Before: request.Summary.To})
	}
}

// called is the record of a tool call of the step.
func (h *past) called(request domain.ToolRequest) *domain.ToolExecution {
	calls := &h.turn.Step.ToolExecutions
	for len(*calls) <= request.Position { // the answer that asked for it is not known
		*calls = append(*calls, domain.ToolExecution{Call: domain.ToolCall{Name: request.Name, Arguments: request.Arguments}})
	}
	return &(*calls)[request.Position]
}

func (h *past) completed(a *historypb.ActivityTaskCompletedEventAttributes, now time.Time) {
	work := h.ended(a.GetScheduledEventId(), now)
	switch {
	case work == nil:
	case work.kind == string(domain.ListTools):
		if catalog, ok := decoded[domain.Catalog](h.reader, a.GetResult()); ok {
			h.price, h.window, h.limit = catalog.Price, catalog.ContextWindow, catalog.RateLimit
		}
	case work.model != nil:
		if reply, ok := decoded[domain.ModelReply](h.reader, a.GetResult()); ok {
			h.replied(work, reply)
		}
	case work.tool != nil:
		reply, _ := decoded[domain.ToolReply](h.reader, a.GetResult())
		call := h.called(*work.tool)
		call.CompletedAt, call.Attempts = now, max(reply.Attempts, work.attempt)
		call.Error = reply.Error
		if reply.Error == nil {
			call.Value = reply.Content
		}
	}
}

// ended takes an activity of the execution off the list.
func (h *past) ended(id int64, now time.Time) *pastWork {
	work := h.work[id]
	delete(h.work, id)
	if work != nil && h.turn != nil {
		h.turn.seen = now
	}
	return work
}

// broken notes an activity that ended without a result. What its last heartbeat
// says that it spent counts.
func (h *past) broken(id int64, f *failurepb.Failure, now time.Time) {
	work := h.ended(id, now)
	if work == nil || work.model == nil && work.tool == nil {
		return
	}
	err := h.reader.failure(f)
	if err == nil {
		err = domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "it was interrupted")
	}
	if work.tool != nil {
		if timedOut := err.Code == domain.CodeTimeout; timedOut && !work.tool.Effect.Repeatable() {
			err = domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown, "its worker was lost; nobody knows how it ended")
		}
		call := h.called(*work.tool)
		call.CompletedAt, call.Error, call.Attempts = now, err, work.attempt
		return
	}
	// What was cut off while it waited under a rate limit mostly waited for its
	// turn, and was never begun. History does not tell that from a wait for
	// another attempt.
	if work.attempt == 0 && err.Code == domain.CodeInterrupted && h.limits(work) {
		h.turn.Step.Interrupted = true
		return
	}
	reply := domain.ModelReply{Outcome: domain.BilledFailure, Error: err}
	if beat, ok := decoded[domain.Heartbeat](h.reader, f.GetTimeoutFailureInfo().GetLastHeartbeatDetails()); ok {
		reply.Spent = beat.Spent.Add(beat.Reserved)
		reply.Spent.Estimated = true
	}
	h.replied(work, reply)
	h.turn.Step.Interrupted = err.Code == domain.CodeInterrupted
}
