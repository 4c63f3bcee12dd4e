package workflows

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// A handoff is what the conversation was handed over to by a call of the step in progress. It holds from the next step on:
// the hooks, guards and rules of a step are those with which its model was asked.
//
// The execution goes on: another one would have a budget of its own, and hide from the other agent what this one has done.
// The call itself asks the worker what the other's definition means, so that one that cannot run costs a result and not the
// conversation. Each request names what is in force by its digest, as ever.
type handoff struct {
	// id is the call, in step, and agent the other one by the name that the agent has for it.
	id    domain.ToolExecutionID
	step  int
	agent string
	// definition is the other agent's own, and resolved what a worker makes of it.
	definition domain.Definition
	resolved   contract.Resolved
}

// handsOff reports whether a call hands the conversation over.
func (b *toolBatch) handsOff(call domain.ToolCall) bool {
	tool, offered := b.config.Resolved.Tool(call.Name)
	return offered && tool.Handoff != ""
}

// refusedHandoff is why a call cannot hand the conversation over, whatever the others come to; nil for others.
func (b *toolBatch) refusedHandoff(call domain.ToolCall) *domain.Error {
	if !b.handsOff(call) {
		return nil
	}
	return domain.CheckHandoff(call)
}

// awaitAgents waits in the coroutine of a call until other agents let it begin, and is the permit to begin it, or why it
// may not.
func (b *toolBatch) awaitAgents(ctx workflow.Context, permit mailbox.Permit, i int, call domain.ToolCall) (mailbox.Permit, *domain.Error) {
	switch {
	case b.spawns(call):
		return b.awaitSeat(ctx, permit, i, call)
	case b.handsOff(call):
		return b.awaitOthers(ctx, permit, i, call)
	}
	return permit, nil
}

// awaitOthers waits in the coroutine of a call that hands the conversation over until the others of its answer have ended,
// but for later ones of its kind, and is the permit to begin it, or why it may not.
func (b *toolBatch) awaitOthers(ctx workflow.Context, permit mailbox.Permit, i int, call domain.ToolCall) (mailbox.Permit, *domain.Error) {
	if !b.othersEnded(i) {
		var ok bool
		b.behind++
		b.reckon()
		permit, ok = b.mail.AwaitTurn(ctx, func() bool { return b.othersEnded(i) }, func() bool { return b.step.halted }, b.holdForPause)
		b.behind--
		b.reckon()
		if !ok {
			return permit, notHanded("the execution was stopped while other calls were under way")
		}
	}
	_, why := b.handoffTo(call)
	return permit, why
}

func (b *toolBatch) othersEnded(i int) bool {
	for j, other := range b.step.content.ToolExecutions {
		if j != i && other.CompletedAt.IsZero() && (j < i || !b.handsOff(other.Call)) {
			return false
		}
	}
	return true
}

func notHanded(why string) *domain.Error {
	return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: %s", why)
}

// handoffTo is the definition of the agent to which a call hands the conversation over, as this one goes on with it, or
// why it does not.
func (b *toolBatch) handoffTo(call domain.ToolCall) (to domain.Definition, _ *domain.Error) {
	if why := domain.CheckHandoff(call); why != nil { // a person has edited it
		return to, why
	}
	own := b.config.Definition
	own.Model = b.agent.state.LLMConfig
	tool, _ := b.config.Resolved.Tool(call.Name)
	to, ok := own.HandsTo(tool.Handoff)
	switch {
	case !ok:
		return to, notHanded("there is no such agent")
	case b.step.handoff != nil:
		return to, notHanded("the conversation was handed over to " + b.step.handoff.agent + " in the same turn")
	case b.config.Handoffs >= domain.MaxHandoffs:
		return to, domain.CodedErrorf(domain.Denied, domain.CodeNotRun,
			"not run: the conversation was handed over %d times in this execution, and may not be again; answer yourself", domain.MaxHandoffs)
	}
	if err := to.CheckShown(b.agent.state.Trusted()); err != nil {
		return to, notHanded(domain.AsError(err).Message)
	}
	return to, nil
}

// handOff asks a worker what the definition of the other agent means, in the coroutine of the call, and says what came of
// it. Where no worker can say, or none may run it, the conversation stays where it is.
func (b *toolBatch) handOff(ctx workflow.Context, permit mailbox.Permit, i int, call domain.ToolCall) contract.ToolReply {
	to, _ := b.handoffTo(call) // as when it was let begin
	tool, _ := b.config.Resolved.Tool(call.Name)
	request := contract.ResolveRequest{Definition: b.askedAs(to)}
	encoded, _ := json.Marshal(request) // what cannot be encoded is refused below
	b.load.Add(ctx, len(encoded)+1024)
	answer, cutOff, err := mailbox.Call(ctx, permit, b.session.policy.briefOptions(listTimeout, ownAttempts, "hand over to "+domain.Shorten(tool.Handoff, maxSummary)), contract.ListTools, request)
	b.cutOff[i] = cutOff
	refused := func(why *domain.Error) contract.ToolReply {
		return contract.ToolReply{Error: contract.Bounded(why), Digest: domain.DigestOf([]byte(""))}
	}
	if err != nil {
		return refused(notHandedOver(lossOf(err).Err()))
	}
	if answer.Unpriced(b.session.budget.ledger().Totals()) { // nobody takes over whose cost is unknown where money is limited
		return refused(notHandedOver(domain.Errorf(domain.Invalid, "max_cost: nobody knows what the model of %s costs", tool.Handoff)))
	}
	resolved, err := b.config.offered(to, request.Definition, *answer)
	if err != nil {
		return refused(notHandedOver(domain.AsError(err)))
	}
	b.step.handOver(&handoff{b.step.content.ID.Tool(i), b.step.content.Number, tool.Handoff, to, resolved})
	reply := contract.ToolReply{Content: "The conversation is with the agent " + tool.Handoff + " now, which answers from here on."}
	reply.Digest = domain.DigestOf([]byte(reply.Content))
	return reply
}

// notHandedOver is why the conversation was not handed over, where a worker was asked.
func notHandedOver(why *domain.Error) *domain.Error {
	return domain.CodedErrorf(why.Kind, why.Code, "the conversation was not handed over: %s", why.Message)
}

// askedAs is the definition of another agent as a worker is asked what it means.
func (b *toolBatch) askedAs(to domain.Definition) domain.Definition {
	to.SystemPrompt = to.Shown(to.SystemPrompt, b.agent.state.Trusted())
	to.Format = must(b.agent.state.WithResponseFormat(to.Format, b.agent.now())).ResponseFormat // it was checked
	return to
}

func (t *stepRun) handOver(h *handoff) { t.handoff = h }

// takeOver has the other agent go on from the next step on: with its prompt, model, tools, hooks, guards and approvals,
// beside those of the agents before it. The conversation, the execution and its budget stay.
func (s *session) takeOver(h *handoff) {
	if h == nil {
		return
	}
	before := s.config.Resolved
	change := s.config.handTo(h.agent, h.definition, h.resolved)
	change.Number, change.At, change.Agent, change.Step = s.agent.state.ExecutionCount, s.agent.now(), h.agent, h.step+1
	s.config.list(change)
	s.agent.useModel(s.config.Resolved.Definition.Model)
	s.agent.instruct(h.definition)
	s.guards.begunAnew()
	if !before.Definition.Model.Equal(s.config.Resolved.Definition.Model) {
		s.talk.forget()
	}
	s.agent.emit(domain.EventHandedOver, domain.ConversationHandedOver{ToolExecutionID: h.id, Agent: h.agent})
}
