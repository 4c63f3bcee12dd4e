package history

import (
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// child makes facts of what an event says of a sub-agent; ok is false where it says nothing of one.
func (d *decoder) child(event *historypb.HistoryEvent) (facts []progress.Fact, ok bool) {
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
		return d.childAsked(event), true
	case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED:
		return d.childLost(event.GetStartChildWorkflowExecutionFailedEventAttributes().GetInitiatedEventId(), progress.Unstarted, nil), true
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
		a := event.GetChildWorkflowExecutionCompletedEventAttributes()
		outcome, err := decode[contract.Outcome](d.converter, a.GetResult())
		if err != nil {
			return append(unreadable("the result of a sub-agent", err), d.childLost(a.GetInitiatedEventId(), progress.Aborted, nil)...), true
		}
		return d.of(a.GetInitiatedEventId(), true, func(w progress.Work) []progress.Fact {
			return one(progress.ChildEnded{Work: w, Outcome: outcome})
		}), true
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED:
		a := event.GetChildWorkflowExecutionFailedEventAttributes()
		return d.childLost(a.GetInitiatedEventId(), progress.Aborted, a.GetFailure()), true
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED:
		return d.childLost(event.GetChildWorkflowExecutionTerminatedEventAttributes().GetInitiatedEventId(), progress.Terminated, nil), true
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT:
		return d.childLost(event.GetChildWorkflowExecutionTimedOutEventAttributes().GetInitiatedEventId(), progress.RanOut, nil), true
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED:
		return d.childLost(event.GetChildWorkflowExecutionCanceledEventAttributes().GetInitiatedEventId(), progress.CancelledByServer, nil), true
	case enumspb.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
		return d.childGranted(event.GetSignalExternalWorkflowExecutionInitiatedEventAttributes()), true
	default:
	}
	return nil, false
}

// childAsked reads with what a sub-agent was to start. A workflow that is none is nothing of ours.
func (d *decoder) childAsked(event *historypb.HistoryEvent) []progress.Fact {
	a := event.GetStartChildWorkflowExecutionInitiatedEventAttributes()
	in, err := decode[contract.SessionInput](d.converter, a.GetInput())
	if err == nil && (in.Parent == nil || in.Parent.Position < 0 || in.Parent.Position >= domain.MaxRequestedCalls) {
		err = fmt.Errorf("it is %q and no sub-agent's", domain.Shorten(a.GetWorkflowId(), 64))
	}
	w := progress.Work{ID: fmt.Sprintf("child/%d", event.GetEventId()), Activity: domain.SpawnSubagent, Since: event.GetEventTime().AsTime()}
	var facts []progress.Fact
	if err != nil {
		facts = unreadable("what a sub-agent began with", err)
	} else {
		w = progress.ChildWork(*in)
		if grant, later := d.grants[a.GetWorkflowId()]; later {
			w = w.Lent(grant)
		}
		w.Since = event.GetEventTime().AsTime()
	}
	d.open[event.GetEventId()] = w
	if ended := d.ended[event.GetEventId()]; ended != nil {
		delete(d.ended, event.GetEventId())
		facts = append(facts, ended(w)...)
	}
	return append(facts, progress.Asked{Work: w})
}

func (d *decoder) childLost(id int64, how progress.RunEnd, failure *failurepb.Failure) []progress.Fact {
	return d.of(id, true, func(w progress.Work) []progress.Fact {
		var told *domain.Error
		if failure != nil {
			told = d.loss(failure, progress.Broke).Told
		}
		return one(progress.ChildEnded{Work: w, Why: progress.ChildLost(how, told), Unstarted: how == progress.Unstarted})
	})
}
