package progress

import (
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A HandedOver says what came of a call that hands the conversation over: what a worker makes of the other agent's
// definition, or why it stays where it is.
type HandedOver struct {
	Work
	Catalog contract.Catalog
	Why     *domain.Error
}

// HandoffWork is the work that such a call is.
func HandoffWork(call contract.HandoffCall) Work {
	return Work{Activity: string(contract.ListTools)}.asHandoff(&call)
}

// asHandoff returns the activity (ListTools, which looks up the other agent's tools) as the work of the tool call that hands the
// conversation over, so that its result or failure counts as that call's. The arguments are not in its request: the empty
// reference says so, and those that the step has are kept.
func (w Work) asHandoff(call *contract.HandoffCall) Work {
	w.Handoff = call
	w.Tool = &contract.ToolRequest{
		ExecutionID: call.ExecutionID, Step: call.Step, Position: call.Position, CallID: call.CallID, Name: domain.HandoffTool(call.Agent),
		Effect: domain.ReadOnly, Reference: &contract.ArgumentsRef{},
	}
	return w
}

// Listed is work that asks a worker what a definition means.
func (w Work) Listed(request *contract.CatalogRequest) Work {
	if w.Listing = request; request != nil && request.Handoff != nil {
		return w.asHandoff(request.Handoff)
	}
	return w
}

// NotHanded is why the conversation was not handed over, where a worker was asked.
func NotHanded(why *domain.Error) *domain.Error {
	return domain.CodedErrorf(why.Kind, why.Code, "the conversation was not handed over: %s", why.Message)
}

// Within holds it against a budget: where that limits money, nobody takes over of whom it is unknown what they cost.
func (f HandedOver) Within(budget domain.ExecutionBudget) HandedOver {
	if f.Why == nil && f.Catalog.Unpriced(budget) {
		f.Why = NotHanded(domain.Errorf(domain.Invalid, "max_cost: nobody knows what the model of %s costs", f.Handoff.Agent))
	}
	return f
}

// Reply is what it means for the call.
func (f HandedOver) Reply() contract.ToolReply {
	reply := contract.ToolReply{Content: "The conversation is with the agent " + f.Handoff.Agent + " now, which answers from here on."}
	if f.Why != nil {
		reply = contract.ToolReply{Error: Bounded(f.Why)}
	}
	reply.Digest = domain.DigestOf([]byte(reply.Content))
	return reply
}

// handedOver takes what came of a call: another agent has the conversation from the next step on.
func (a Agent) handedOver(f HandedOver, at time.Time) Agent {
	if a.Execution.Budget != nil {
		f = f.Within(a.totals())
	}
	if a = a.ended(f.Work, f, at); f.Why == nil {
		a.handing, a.handedAt = &f, at
	}
	return a
}

// takesOver has the agent go on to which the conversation was handed over.
func (a Agent) takesOver() Agent {
	if a.handing == nil {
		return a
	}
	f := *a.handing
	a.handing = nil
	now := f.Catalog
	if f.Listing != nil {
		now.Definition = f.Listing.Definition
		a.Model = now.Definition.Model.String()
	}
	if a.resolved != nil {
		was := *a.resolved
		a.handed = a.handed.To(f.Handoff.Agent, was, a.Definition)
		if was.Approvals != nil { // decided for as long as the session
			now.Approvals = was.Approvals
		}
		now = now.Pinned(was, a.pins)
		change := contract.HandoverOf(*f.Handoff, was, now)
		change.Number, change.At = a.Execution.Number, a.handedAt
		a.Changes = contract.KeptChanges(a.Changes, change)
	}
	a.handed.Agent = f.Handoff.Agent
	if to, ok := a.Definition.HandsTo(f.Handoff.Agent); ok {
		a.Definition = to
	}
	if a.next != nil {
		a.next = new(a.next.Over(a.Definition))
	}
	return a.inForce(now)
}

// HandoffsOf are the newest times at which the conversation was handed over in an execution.
func (a Agent) HandoffsOf(number int) []contract.DefinitionChange {
	return slices.DeleteFunc(append([]contract.DefinitionChange{}, a.Changes...), func(c contract.DefinitionChange) bool {
		return c.Number != number || c.Agent == ""
	})
}

// Holder is the agent to which the conversation was handed over, and which has it now; empty: it never was.
func (a Agent) Holder() string { return a.handed.Agent }
