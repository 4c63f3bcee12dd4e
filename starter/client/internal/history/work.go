package history

import (
	"fmt"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// of makes facts of what an event says of work. Backwards the request is still to come, and
// only the end of the work is of use.
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
	return d.of(id, true, func(w progress.Work) []progress.Fact {
		if w.Handoff != nil {
			w.CutOff = w.CutOff || loss.How == progress.Cancelled
			return one(progress.HandedOver{Work: w, Why: progress.NotHanded(loss.Err())})
		}
		return one(progress.Lost{Work: w, Loss: loss})
	})
}

func (d *decoder) scheduled(event *historypb.HistoryEvent) []progress.Fact {
	a := event.GetActivityTaskScheduledEventAttributes()
	w := progress.Work{
		ID: a.GetActivityId(), Activity: a.GetActivityType().GetName(), Queue: a.GetTaskQueue().GetName(),
		Since: event.GetEventTime().AsTime(),
	}
	var err error
	switch w.Activity {
	case string(contract.CallModel):
		w.Model, err = decode[contract.ModelRequest](d.converter, a.GetInput())
	case string(contract.CallTool):
		w.Tool, err = d.call(a.GetInput())
	case string(contract.VerifyCall):
		w.Verify, err = d.call(a.GetInput())
	case string(contract.CallHook):
		w.Hook, err = decode[contract.HookRequest](d.converter, a.GetInput())
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

// call reads the request for a call.
func (d *decoder) call(input *commonpb.Payloads) (*contract.ToolRequest, error) {
	request, err := decode[contract.ToolRequest](d.converter, input)
	if err == nil && (request.Position < 0 || request.Position >= domain.MaxRequestedCalls) {
		return nil, fmt.Errorf("no answer has a call %d", request.Position)
	}
	return request, err
}

func (d *decoder) attempted(a *historypb.ActivityTaskStartedEventAttributes) []progress.Fact {
	id := a.GetScheduledEventId()
	return d.of(id, false, func(w progress.Work) []progress.Fact {
		w.Attempt, w.Worker, w.Before = int(a.GetAttempt()), a.GetIdentity(), nil
		if f := a.GetLastFailure(); f != nil {
			w.Before = d.loss(f, progress.Broke).Err()
		}
		d.open[id] = w
		return one(progress.Attempted{Work: w})
	})
}

// completed reads the reply of work that ended well. One that cannot be read is lost.
func (d *decoder) completed(w progress.Work, result *commonpb.Payloads) []progress.Fact {
	switch {
	case w.Model != nil:
		return replied(d, w, result, func(r contract.ModelReply) progress.Fact { return progress.ModelReplied{Work: w, Reply: r} })
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
	return one(fact(*reply))
}

// LastAnswer is the text of the last inference that has ended, of an execution or, where that is zero, of any, and the event
// which has it. It looks at the events alone, whichever workflow has written them. What cannot be decoded is passed over.
func LastAnswer(c converter.DataConverter, events []*historypb.HistoryEvent, of domain.ExecutionID) (text string, event int64, ok bool) {
	for _, e := range slices.Backward(events) {
		done := e.GetActivityTaskCompletedEventAttributes()
		asked := done.GetScheduledEventId()
		if done == nil || asked < 1 || asked > int64(len(events)) {
			continue
		}
		scheduled := events[asked-1].GetActivityTaskScheduledEventAttributes()
		if scheduled.GetActivityType().GetName() != string(contract.CallModel) {
			continue
		}
		request, err := decode[contract.ModelRequest](c, scheduled.GetInput())
		if err == nil && (request.Summary != nil || !of.IsZero() && request.ExecutionID != of) {
			continue
		}
		if reply, err := decode[contract.ModelReply](c, done.GetResult()); err == nil && reply.Message != nil {
			return reply.Message.Text(), e.GetEventId(), true
		}
	}
	return "", 0, false
}

// oversized is how newer servers name a result above their limit.
const oversized = "payloadSizeError"

// loss reads how work ended without a reply; how is what the event itself says.
func (d *decoder) loss(f *failurepb.Failure, how progress.How) progress.Loss {
	loss := progress.Loss{How: how}
	for told := false; f != nil; f = f.GetCause() {
		switch {
		case f.GetCanceledFailureInfo() != nil:
			loss.How = progress.Cancelled
		case f.GetTimeoutFailureInfo() != nil:
			if loss.How == progress.Broke {
				loss.How = progress.TimedOut
			}
			loss.Untaken = f.GetTimeoutFailureInfo().GetTimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START
			if loss.Beat == nil {
				loss.Beat, _ = decode[contract.Heartbeat](d.converter, f.GetTimeoutFailureInfo().GetLastHeartbeatDetails())
			}
		case f.GetApplicationFailureInfo() != nil && !told:
			told = true
			loss.Final, loss.RetryAfter = f.GetApplicationFailureInfo().GetNonRetryable(), f.GetApplicationFailureInfo().GetNextRetryDelay().AsDuration()
			own, err := decode[domain.Error](d.converter, f.GetApplicationFailureInfo().GetDetails())
			switch {
			case err == nil && own.Kind != "":
				loss.Told = own
			case f.GetApplicationFailureInfo().GetType() == oversized:
				loss.How = progress.Oversized
			default:
				loss.Told = progress.Told(d.message(f))
			}
		}
	}
	return loss
}
