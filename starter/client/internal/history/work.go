package history

import (
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// activities are the events of work.
var activities = map[enumspb.EventType]bool{
	enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:        true,
	enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:          true,
	enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED: true,
	enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:        true,
	enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:           true,
	enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:        true,
	enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:         true,
}

// activity reads the events of work. Each names the one that asked for it.
func (d *decoder) activity(event *historypb.HistoryEvent) []progress.Fact {
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		return d.scheduled(event)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		a := event.GetActivityTaskStartedEventAttributes()
		return d.attempted(a)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:
		return d.of(event.GetActivityTaskCancelRequestedEventAttributes().GetScheduledEventId(), false, func(w progress.Work) []progress.Fact {
			return one(progress.CancelAsked{Work: w})
		})
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		a := event.GetActivityTaskCompletedEventAttributes()
		return d.of(a.GetScheduledEventId(), true, func(w progress.Work) []progress.Fact { return d.completed(w, a.GetResult()) })
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		a := event.GetActivityTaskFailedEventAttributes()
		return d.lost(a.GetScheduledEventId(), d.loss(a.GetFailure()))
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		a := event.GetActivityTaskTimedOutEventAttributes()
		loss := d.loss(a.GetFailure())
		if loss.How == progress.Broke {
			loss.How = progress.TimedOut
		}
		return d.lost(a.GetScheduledEventId(), loss)
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		return d.lost(event.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(), progress.Loss{How: progress.Cancelled})
	}
	return nil
}

// of makes facts of what an event says of work that was asked for. Backwards the
// request is still to come, and only the end of the work is of use.
func (d *decoder) of(id int64, ends bool, facts func(progress.Work) []progress.Fact) []progress.Fact {
	if d.backwards {
		if ends {
			d.ended[id] = facts
		}
		return nil
	}
	work, known := d.open[id]
	if !known {
		return unreadable("what work came to", fmt.Errorf("event %d, which asked for it, is missing", id))
	}
	if ends {
		delete(d.open, id)
	}
	return facts(work)
}

func (d *decoder) lost(id int64, loss progress.Loss) []progress.Fact {
	return d.of(id, true, func(w progress.Work) []progress.Fact { return one(progress.Lost{Work: w, Loss: loss}) })
}

// scheduled reads the event that asks for work.
func (d *decoder) scheduled(event *historypb.HistoryEvent) []progress.Fact {
	a := event.GetActivityTaskScheduledEventAttributes()
	w := progress.Work{
		ID: a.GetActivityId(), Activity: a.GetActivityType().GetName(), Queue: a.GetTaskQueue().GetName(),
		Since: event.GetEventTime().AsTime(),
	}
	var err error
	switch w.Activity {
	case string(contract.CallModel):
		w.Model, err = request[contract.ModelRequest](d, a.GetInput())
	case string(contract.CallTool):
		w.Tool, err = request[contract.ToolRequest](d, a.GetInput())
		if err == nil && (w.Tool.Position < 0 || w.Tool.Position >= domain.MaxRequestedCalls) {
			w.Tool, err = nil, fmt.Errorf("no answer has a call %d", w.Tool.Position)
		}
	case string(contract.CallHook):
		w.Hook, err = request[contract.HookRequest](d, a.GetInput())
	}
	d.open[event.GetEventId()] = w
	var facts []progress.Fact
	if err != nil {
		facts = unreadable("a request of "+w.Activity, err)
	}
	if ended := d.ended[event.GetEventId()]; ended != nil {
		delete(d.ended, event.GetEventId())
		facts = append(facts, ended(w)...)
	}
	return append(facts, progress.Asked{Work: w})
}

func request[T any](d *decoder, payloads *commonpb.Payloads) (*T, error) {
	in, err := decode[T](d.converter, payloads)
	if err != nil {
		return nil, err
	}
	return &in, nil
}

func (d *decoder) attempted(a *historypb.ActivityTaskStartedEventAttributes) []progress.Fact {
	id := a.GetScheduledEventId()
	return d.of(id, false, func(w progress.Work) []progress.Fact {
		w.Attempt, w.Worker, w.Before = int(a.GetAttempt()), a.GetIdentity(), nil
		if f := a.GetLastFailure(); f != nil {
			w.Before = d.loss(f).Err()
		}
		d.open[id] = w
		return one(progress.Attempted{Work: w})
	})
}

// completed reads the reply of work that ended well. What a workflow cannot read
// is lost to it.
func (d *decoder) completed(w progress.Work, result *commonpb.Payloads) []progress.Fact {
	switch {
	case w.Model != nil:
		return replied(d, w, result, func(r contract.ModelReply) progress.Fact { return progress.ModelReplied{Work: w, Reply: r} })
	case w.Tool != nil:
		return replied(d, w, result, func(r contract.ToolReply) progress.Fact { return progress.ToolReplied{Work: w, Reply: r} })
	case w.Activity == string(contract.ListTools):
		return replied(d, w, result, func(c contract.Catalog) progress.Fact { return progress.Resolved{Work: w, Catalog: c} })
	}
	return one(progress.Finished{Work: w})
}

func replied[T any](d *decoder, w progress.Work, result *commonpb.Payloads, fact func(T) progress.Fact) []progress.Fact {
	reply, err := decode[T](d.converter, result)
	if err != nil {
		return append(unreadable("the reply of "+w.Activity, err), progress.Lost{Work: w, Loss: progress.Loss{How: progress.Garbled}})
	}
	return one(fact(reply))
}

// oversized is how newer servers name a result above their limit.
const oversized = "payloadSizeError"

// loss reads how work ended without a reply.
func (d *decoder) loss(f *failurepb.Failure) progress.Loss {
	var loss progress.Loss
	for told := false; f != nil; f = f.GetCause() {
		switch {
		case f.GetCanceledFailureInfo() != nil:
			loss.How = progress.Cancelled
		case f.GetTimeoutFailureInfo() != nil:
			if loss.How == progress.Broke {
				loss.How = progress.TimedOut
			}
			beat, err := decode[contract.Heartbeat](d.converter, f.GetTimeoutFailureInfo().GetLastHeartbeatDetails())
			if err == nil && loss.Beat == nil {
				loss.Beat = &beat
			}
		case f.GetApplicationFailureInfo() != nil && !told:
			told = true
			own, err := decode[domain.Error](d.converter, f.GetApplicationFailureInfo().GetDetails())
			switch {
			case err == nil && own.Kind != "":
				loss.Told = &own
			case f.GetApplicationFailureInfo().GetType() == oversized:
				loss.How = progress.Oversized
			default:
				loss.Told = progress.Told(d.message(f))
			}
		}
	}
	return loss
}
