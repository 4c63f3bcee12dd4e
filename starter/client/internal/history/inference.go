package history

import (
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"everstep/domain"
	"everstep/domain/contract"
)

// An Inference is what the history of a run has of one request to a model, with all attempts of it that Temporal has made.
type Inference struct {
	Request contract.ModelRequest
	asked   time.Time
	// Queue is where it was put.
	Queue string
	// Queued is how long it waited there for a worker, where the first attempt was the last: of others nobody knows.
	Queued time.Duration
	// Attempt is the newest known to have begun; Before is why the one before it failed.
	Attempt int
	Before  *domain.Error
	// Reply is the model's, an answer or not, and Lost how the inference ended without one. Both are nil while it is under way, and
	// where no worker has taken its end.
	Reply *contract.ModelReply
	Lost  *contract.Loss
}

// Inferences reads those of a run in the order in which they were asked for, and says of what cannot be read of them what, and why.
func Inferences(c converter.DataConverter, events []*historypb.HistoryEvent) (all []*Inference, unread []string) {
	asked := map[int64]*Inference{}
	taken := lastTask(events)
	unreadable := func(what string, why any) { unread = append(unread, fmt.Sprintf("%s cannot be read: %s", what, why)) }
	for i, e := range events {
		if a := e.GetActivityTaskScheduledEventAttributes(); a.GetActivityType().GetName() == string(contract.CallModel) {
			request, err := decode[contract.ModelRequest](c, a.GetInput())
			if err != nil {
				unreadable("a request to the model", err)
				continue
			}
			one := &Inference{Request: *request, Queue: a.GetTaskQueue().GetName(), asked: e.GetEventTime().AsTime()}
			all, asked[e.GetEventId()] = append(all, one), one
			continue
		}
		if a := e.GetActivityTaskStartedEventAttributes(); a != nil && asked[a.GetScheduledEventId()] != nil {
			one := asked[a.GetScheduledEventId()]
			if one.Attempt = int(a.GetAttempt()); one.Attempt == 1 {
				one.Queued = e.GetEventTime().AsTime().Sub(one.asked)
			}
			if f := a.GetLastFailure(); f != nil {
				one.Before = lossOf(c, f, contract.Broke).Err()
			}
			continue
		}
		id, result, loss := workEnd(c, e)
		one := asked[id]
		if one == nil || i > taken { // the account counts nothing of what no worker has taken
			continue
		}
		if one.Lost = loss; loss == nil {
			var err error
			if one.Reply, err = decode[contract.ModelReply](c, result); err != nil {
				unreadable("a reply of the model", err)
				one.Lost = &contract.Loss{How: contract.Garbled}
			}
		}
	}
	return all, unread
}

// workEnd is how an inference has ended: with a result or lost, by the event of the request. Zero: the event ends none.
func workEnd(c converter.DataConverter, e *historypb.HistoryEvent) (id int64, result *commonpb.Payloads, loss *contract.Loss) {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		a := e.GetActivityTaskCompletedEventAttributes()
		return a.GetScheduledEventId(), a.GetResult(), nil
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		a := e.GetActivityTaskFailedEventAttributes()
		return a.GetScheduledEventId(), nil, new(lossOf(c, a.GetFailure(), contract.Broke))
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		a := e.GetActivityTaskTimedOutEventAttributes()
		lost := lossOf(c, a.GetFailure(), contract.TimedOut)
		// Of time-outs this tells which ones the workflow asks again after.
		lost.Exhausted = a.GetRetryState() == enumspb.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED
		return a.GetScheduledEventId(), nil, &lost
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		return e.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(), nil, &contract.Loss{How: contract.Cancelled}
	default:
		return 0, nil, nil
	}
}

// lossOf reads how work ended without a reply; how is what the event itself says.
func lossOf(c converter.DataConverter, f *failurepb.Failure, how contract.How) contract.Loss {
	loss := contract.Loss{How: how}
	for told := false; f != nil; f = f.GetCause() {
		switch timeout, application := f.GetTimeoutFailureInfo(), f.GetApplicationFailureInfo(); {
		case f.GetCanceledFailureInfo() != nil:
			loss.How = contract.Cancelled
		case timeout != nil:
			if loss.How == contract.Broke {
				loss.How = contract.TimedOut
			}
			loss.Untaken = timeout.GetTimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START
			if loss.Heartbeat == nil {
				loss.Heartbeat, _ = decode[contract.Heartbeat](c, timeout.GetLastHeartbeatDetails())
			}
		case application != nil && !told:
			told = true
			loss.Final, loss.RetryAfter = application.GetNonRetryable(), application.GetNextRetryDelay().AsDuration()
			own, err := decode[domain.Error](c, application.GetDetails())
			switch {
			case err == nil && own.Kind != "":
				loss.Reported = own
			case application.GetType() == "payloadSizeError": // as newer servers name a result above their limit
				loss.How = contract.Oversized
			default:
				loss.Reported = contract.WorkerFailure(message(c, f))
			}
		}
	}
	return loss
}
