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
	// id is the call, and agent the other one by the name that the agent has for it.
	id    domain.ToolExecutionID
	agent string
	// definition is the other agent's own, and resolved what a worker makes of it.
	definition domain.Definition
	resolved   contract.Resolved
}

// handsOff reports whether the call hands the conversation over.
func (c *call) handsOff() bool { return c.tool().Handoff != "" }

// awaitOthers waits, before the conversation is handed over, until the other calls have ended, but for later ones of its
// kind. What it returns is why the call may not begin.
func (c *call) awaitOthers(ctx workflow.Context) *domain.Error {
	if !c.othersEnded() && !c.awaitTurn(ctx, forOthers, c.othersEnded) {
		return notRun("the execution was stopped while other calls were under way")
	}
	_, why := c.handoffTo()
	return why
}

func (c *call) othersEnded() bool {
	for i, other := range c.batch.calls {
		if i != c.position && other.execution().CompletedAt.IsZero() && (i < c.position || !other.handsOff()) {
			return false
		}
	}
	return true
}

// handoffTo is the definition of the agent to which the call hands the conversation over, as this one goes on with it, or
// why it does not.
func (c *call) handoffTo() (to domain.Definition, _ *domain.Error) {
	if why := domain.CheckHandoff(c.made); why != nil { // a person has edited it
		return to, why
	}
	b := c.batch
	own := b.config.Definition
	own.Model = b.agent.state.LLMConfig
	to, ok := own.HandsTo(c.tool().Handoff)
	switch {
	case !ok:
		return to, notRun("there is no such agent")
	case b.step.handoff != nil:
		return to, notRun("the conversation was handed over to %s in the same turn", b.step.handoff.agent)
	case b.config.Handoffs >= domain.MaxHandoffs:
		return to, notRun("the conversation was handed over %d times in this execution, and may not be again; answer yourself", domain.MaxHandoffs)
	}
	if err := to.CheckShown(b.agent.state.Trusted()); err != nil {
		return to, notRun("%s", domain.AsError(err).Message)
	}
	return to, nil
}

// handOff asks a worker what the definition of the other agent means, and says what came of
// it. Where no worker can say, or none may run it, the conversation stays where it is.
func (c *call) handOff(ctx workflow.Context) contract.ToolReply {
	b, agent := c.batch, c.tool().Handoff
	to, _ := c.handoffTo() // as when it was let begin
	asked := to            // as a worker is asked what it means
	asked.SystemPrompt = to.Shown(to.SystemPrompt, b.agent.state.Trusted())
	asked.Format = must(b.agent.state.WithResponseFormat(to.Format, b.agent.now())).ResponseFormat // it was checked
	request := contract.ResolveRequest{Definition: asked}
	encoded, _ := json.Marshal(request) // what cannot be encoded is refused below
	b.load.Add(ctx, len(encoded)+1024)
	options := b.session.policy.briefOptions(listTimeout, ownAttempts, "hand over to "+domain.Shorten(agent, maxSummary))
	answer, cutOff, err := mailbox.Call(ctx, c.admission, options, contract.ListTools, request)
	c.cutOff = cutOff
	refused := func(why *domain.Error) contract.ToolReply {
		return contract.Unanswered(contract.Bounded(domain.CodedErrorf(why.Kind, why.Code, "the conversation was not handed over: %s", why.Message)))
	}
	if err != nil {
		return refused(errorOf(err))
	}
	if answer.Unpriced(b.session.budget.ledger().Totals()) { // nobody takes over whose cost is unknown where money is limited
		return refused(domain.Invalidf("max_cost: nobody knows what the model of %s costs", agent))
	}
	resolved, err := b.config.offered(to, asked, *answer)
	if err != nil {
		return refused(domain.AsError(err))
	}
	b.step.handOver(&handoff{c.id, agent, to, resolved})
	reply := contract.ToolReply{Content: "The conversation is with the agent " + agent + " now, which answers from here on."}
	reply.Digest = domain.DigestOf([]byte(reply.Content))
	return reply
}

func (t *stepRun) handOver(h *handoff) { t.handoff = h }

// takeOver has the other agent go on from the next step on: with its prompt, model, tools, hooks, guards and approvals,
// beside those of the agents before it. The conversation, the execution and its budget stay.
func (s *session) takeOver(step int, h *handoff) {
	if h == nil {
		return
	}
	before := s.config.Resolved
	change := s.config.handTo(h.agent, h.definition, h.resolved)
	change.Number, change.At, change.Agent, change.Step = s.agent.state.ExecutionCount, s.agent.now(), h.agent, step+1
	s.config.list(change)
	s.agent.useModel(s.config.Resolved.Definition.Model)
	s.agent.instruct(h.definition)
	s.guards.begunAnew()
	if !before.Definition.Model.Equal(s.config.Resolved.Definition.Model) {
		s.conversation.forget()
	}
	s.agent.emit(domain.EventHandedOver, domain.ConversationHandedOver{ToolExecutionID: h.id, Agent: h.agent})
}
