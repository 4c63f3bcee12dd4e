package progress

import (
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
