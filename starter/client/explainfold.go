package client

import (
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"

	"everstep/domain"
)

// take notes what an event tells.
func (h *past) take(event *historypb.HistoryEvent) {
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		h.run.base = int64(proto.Size(event))
		h.started(event)
	case enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:
		h.run.suggested = event.GetWorkflowTaskStartedEventAttributes().GetSuggestContinueAsNew()
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
		a := event.GetWorkflowExecutionUpdateAcceptedEventAttributes()
		h.accepted[event.GetEventId()] = a.GetAcceptedRequest().GetInput()
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
		h.updated(event)
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		h.signaled(event.GetWorkflowExecutionSignaledEventAttributes())
	case enumspb.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED:
		if outcome, ok := h.reader.ending(event); ok && outcome.Number == h.number {
			h.endedAt = event.GetEventTime().AsTime()
		}
	default:
		if closes(event.GetEventType()) {
			h.closed(event)
		} else {
			h.activity(event)
		}
	}
}

// started reads what the run was given, or took over.
func (h *past) started(event *historypb.HistoryEvent) {
	in, ok := h.reader.input(event.GetWorkflowExecutionStartedEventAttributes())
	if !ok {
		return
	}
	if in.Carry != nil {
		h.took(in)
	}
	if took := carried(in); took.begins && took.number == h.number {
		h.startedAt = event.GetEventTime().AsTime()
		if in.Carry == nil || in.GoOn == nil {
			h.budget, h.prior = new(in.Definition.Budget.CappedBy(in.Budget)), &domain.Spent{}
		} else {
			h.budget, h.prior = &in.GoOn.Budget, &in.Carry.Prior
			h.goesOn(*in.Carry)
		}
	}
	if h.model == "" && in.Definition.Model.Provider != "" {
		h.model = in.Definition.Model.String()
	}
	h.definition = in.Definition
}

// took reads what a run took over.
func (h *past) took(in domain.SessionInput) {
	h.run.before = in.Carry.Runs
	if r := in.Carry.Resolved; r != nil {
		h.price, h.window, h.limit, h.model = r.Price, r.ContextWindow, r.RateLimit, r.Definition.Model.String()
	}
	if carried(in).open != h.want {
		return
	}
	h.prior = &in.Carry.Prior
	state, err := domain.DecodeAgentState(in.Carry.State)
	if err != nil {
		return
	}
	if execution, ok := state.Execution(); ok {
		h.startedAt, h.budget = execution.StartedAt(), new(execution.Budget())
		if origin, ok := execution.Origin(); ok {
			h.origin = origin.ExecutionID
		}
	}
}

// goesOn reads what the execution goes on from.
func (h *past) goesOn(carry domain.Carry) {
	state, err := domain.DecodeAgentState(carry.State)
	if err != nil {
		return
	}
	if execution, ok := state.Execution(); ok {
		h.origin = execution.ID()
	}
}

// updated reads what an update did to the execution: it began it, or gave it
// another budget.
func (h *past) updated(event *historypb.HistoryEvent) {
	a := event.GetWorkflowExecutionUpdateCompletedEventAttributes()
	request := h.accepted[a.GetAcceptedEventId()]
	delete(h.accepted, a.GetAcceptedEventId())
	now := event.GetEventTime().AsTime()
	if request.GetName() == string(domain.UpdateExtend) {
		reply, ok := decoded[domain.ExtendReply](h.reader, a.GetOutcome().GetSuccess())
		if !ok || reply.Number != h.number {
			return
		}
		h.budget = &reply.Budget
		if reply.Began {
			h.startedAt, h.prior, h.origin = now, nil, h.before
		}
		return
	}
	if reply, ok := h.reader.began(a); ok && reply.Number == h.number {
		h.startedAt = now
		if sent, ok := decoded[domain.SendRequest](h.reader, request.GetArgs()); ok {
			h.budget, h.prior = new(h.definition.Budget.CappedBy(sent.Budget)), &domain.Spent{}
		}
	}
}

// signaled notes a user's request to stop, unless it meant another execution.
func (h *past) signaled(a *historypb.WorkflowExecutionSignaledEventAttributes) {
	if a.GetSignalName() != string(domain.SignalStop) || h.startedAt.IsZero() || !h.endedAt.IsZero() {
		return
	}
	request, _ := decoded[domain.StopRequest](h.reader, a.GetInput())
	if id := request.ExecutionID; !id.IsZero() && id != h.want {
		return
	}
	source := request.Source
	if source == "" {
		source = "user"
	}
	h.stops = append(h.stops, domain.StopSignal{Reason: domain.UserRequested, Message: request.Reason, Source: source})
}

// closed notes the end of a run, and of the execution that ended with it.
func (h *past) closed(event *historypb.HistoryEvent) {
	if event.GetEventType() != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW && h.endedAt.IsZero() && h.turnedUp() {
		h.endedAt = event.GetEventTime().AsTime()
	}
}

// turnedUp reports whether the execution has begun.
func (h *past) turnedUp() bool { return !h.startedAt.IsZero() || h.turn != nil }
