package client

import (
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"everstep/domain"
)

// A pendingWork is an activity that has not ended, as the server describes it.
type pendingWork struct {
	// activityID pairs it with the event that scheduled it.
	activityID string
	kind       string
	// waiting means that no worker has it; backingOff that this is on purpose,
	// until its next attempt.
	waiting    bool
	backingOff bool
	// limited is the task queue on which it waits for its turn, empty where it
	// waits for no rate limit.
	limited string
	attempt int
	since   time.Time
	// next is when the coming attempt begins, where it backs off.
	next time.Time
	// beat is what it last reported, over all attempts; fresh that this was by
	// the attempt under way.
	beat  *domain.Heartbeat
	fresh bool
	// failure is why its last attempt failed.
	failure *domain.Error
}

// pending reads the activities of ours that have not ended.
func (r reader) pending(s snapshot) []pendingWork {
	var work []pendingWork
	for _, info := range s.GetPendingActivities() {
		w := r.pendingWork(info)
		queue := info.GetActivityOptions().GetTaskQueue().GetName()
		if w.waiting && !w.backingOff && w.kind == string(domain.CallModel) && queue != s.GetExecutionConfig().GetTaskQueue().GetName() {
			w.limited = queue
		}
		work = append(work, w)
	}
	return work
}

func (r reader) pendingWork(info *workflowpb.PendingActivityInfo) pendingWork {
	w := pendingWork{
		activityID: info.GetActivityId(),
		kind:       info.GetActivityType().GetName(),
		waiting:    info.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED,
		attempt:    int(info.GetAttempt()),
		since:      info.GetScheduledTime().AsTime(),
		failure:    r.failure(info.GetLastFailure()),
	}
	if next := info.GetNextAttemptScheduleTime(); next != nil && w.waiting {
		w.backingOff, w.next = true, next.AsTime()
	}
	if started := info.GetLastStartedTime(); started != nil && !w.waiting {
		w.since = started.AsTime()
	}
	if beat, ok := decoded[domain.Heartbeat](r, info.GetHeartbeatDetails()); ok && beat.Step > 0 {
		w.beat = &beat
		w.fresh = !w.waiting && info.GetLastHeartbeatTime().AsTime().After(info.GetLastStartedTime().AsTime())
	}
	return w
}

// describeWork says in words what is pending.
func describeWork(work []pendingWork, step int) string {
	var tools int
	for _, w := range work {
		switch w.kind {
		case string(domain.CallModel):
			return fmt.Sprintf("step %d: inference%s", step, w.how())
		case string(domain.CallTool):
			tools++
		}
	}
	switch {
	case tools == 1 && len(work) == 1:
		return fmt.Sprintf("step %d: tool call%s", step, work[0].how())
	case tools > 0:
		return fmt.Sprintf("step %d: %d tool calls", step, tools)
	case work[0].kind == string(domain.ListTools):
		return "asking a worker for its tools" + work[0].how()
	case work[0].kind == string(domain.CallHook):
		return "calling a hook" + work[0].how()
	case work[0].kind == string(domain.Record):
		return "recording the transcript" + work[0].how()
	}
	return work[0].kind
}

// how adds how far a piece of work is.
func (w pendingWork) how() string {
	switch {
	case w.backingOff:
		return fmt.Sprintf(", attempt %d waits for its time", w.attempt)
	case w.limited != "":
		return ", waits for its turn: task queue " + w.limited + " has a rate limit"
	case w.waiting:
		return ", waits for a worker"
	case w.beat != nil && w.attempt > 1:
		return fmt.Sprintf(", %s, attempt %d", w.beat.Phase, w.attempt)
	case w.beat != nil:
		return ", " + string(w.beat.Phase)
	}
	return ""
}
