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
)

// of makes facts of what an event says of work.
func (d *decoder) of(id int64, ends bool, facts func(Work) []Fact) []Fact {
	work, known := d.open[id]
	if !known {
		return unreadable("what work came to", fmt.Errorf("event %d, which asked for it, is missing", id))
	}
	if ends {
		delete(d.open, id)
	}
	return facts(work)
}

func (d *decoder) lost(id int64, loss contract.Loss) []Fact {
	return d.of(id, true, func(w Work) []Fact { return one(Lost{Work: w, Loss: loss}) })
}

func (d *decoder) scheduled(event *historypb.HistoryEvent) []Fact {
	a := event.GetActivityTaskScheduledEventAttributes()
	w := Work{
		ID: a.GetActivityId(), Activity: a.GetActivityType().GetName(), Queue: a.GetTaskQueue().GetName(),
		Since: event.GetEventTime().AsTime(),
	}
	var err error
	switch w.Activity {
	case string(contract.CallModel):
		if w.Model, err = decode[contract.ModelRequest](d.converter, a.GetInput()); err == nil {
			w.Execution, w.Step = w.Model.ExecutionID, w.Model.Step
		}
	case string(contract.CallTool), string(contract.VerifyCall):
		var request *contract.ToolRequest
		if request, err = decode[contract.ToolRequest](d.converter, a.GetInput()); err == nil {
			w.Execution, w.Step = request.ExecutionID, request.Step
		}
	case string(contract.CallHook):
		w.Hook, err = decode[contract.HookRequest](d.converter, a.GetInput())
	}
	d.open[event.GetEventId()] = w
	return asked(w, "a request of "+w.Activity, err)
}

// childAsked reads with what a sub-agent was to start. A workflow that is none is nothing of ours.
func (d *decoder) childAsked(event *historypb.HistoryEvent) []Fact {
	a := event.GetStartChildWorkflowExecutionInitiatedEventAttributes()
	w := Work{Activity: domain.SpawnSubagent, Since: event.GetEventTime().AsTime()}
	in, err := decode[contract.SessionInput](d.converter, a.GetInput())
	switch {
	case err == nil && in.Parent == nil:
		err = fmt.Errorf("it is %q and no sub-agent's", domain.Shorten(a.GetWorkflowId(), 64))
	case err == nil:
		w.Execution, w.Step, w.Child = in.Parent.ExecutionID, in.Parent.Step, in.AgentID
	}
	return asked(w, "what a sub-agent began with", err)
}

// asked says that work was asked for, also where its request cannot be read.
func asked(w Work, request string, err error) []Fact {
	if err != nil {
		return append(unreadable(request, err), Asked{Work: w})
	}
	return one(Asked{Work: w})
}

func (d *decoder) attempted(a *historypb.ActivityTaskStartedEventAttributes) []Fact {
	id := a.GetScheduledEventId()
	return d.of(id, false, func(w Work) []Fact {
		w.Attempt, w.Before = int(a.GetAttempt()), nil
		if f := a.GetLastFailure(); f != nil {
			w.Before = d.loss(f, contract.Broke).Err()
		}
		d.open[id] = w
		return one(Attempted{Work: w})
	})
}

// completed reads the reply of work that ended well. One that cannot be read is lost.
func (d *decoder) completed(w Work, result *commonpb.Payloads) []Fact {
	switch {
	case w.Model != nil:
		return replied(d, w, result, func(r contract.ModelReply) Fact { return ModelReplied{Work: w, Reply: r} })
	case w.Activity == string(contract.ListTools):
		return replied(d, w, result, func(c contract.Resolved) Fact { return Resolved{Work: w, Catalog: c} })
	}
	return one(Finished{Work: w})
}

func replied[T any](d *decoder, w Work, result *commonpb.Payloads, fact func(T) Fact) []Fact {
	reply, err := decode[T](d.converter, result)
	if err != nil {
		return append(unreadable("the reply of "+w.Activity, err), Lost{Work: w, Loss: contract.Loss{How: contract.Garbled}})
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
func (d *decoder) loss(f *failurepb.Failure, how contract.How) contract.Loss {
	loss := contract.Loss{How: how}
	for told := false; f != nil; f = f.GetCause() {
		switch {
		case f.GetCanceledFailureInfo() != nil:
			loss.How = contract.Cancelled
		case f.GetTimeoutFailureInfo() != nil:
			if loss.How == contract.Broke {
				loss.How = contract.TimedOut
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
				loss.How = contract.Oversized
			default:
				loss.Told = contract.Told(d.message(f))
			}
		}
	}
	return loss
}
