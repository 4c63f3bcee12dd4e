package workflows

import (
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// verify asks a tool, in the coroutine of its call, what became of that, where nobody knows how it ended; it returns the zero reply
// where nobody could say. A stop of mode now does not wait for an answer.
func (c *call) verify(ctx workflow.Context, request contract.ToolRequest, reply contract.ToolReply) (none contract.VerifyReply) {
	b, tool := c.batch, c.tool()
	if reply.Error == nil || reply.Error.Code != domain.CodeOutcomeUnknown || !tool.Verifies {
		return none
	}
	admission, ok := b.mail.Admit(mailbox.WithinStep)
	if !ok {
		return none
	}
	b.step.note("asking %s what became of its call", domain.Shorten(request.Name, 64))
	// The server makes the attempts of a tool's Verify.
	options := b.session.policy.briefOptions(min(b.config.Resolved.ToolTimeout(tool), domain.VerifyTimeout), domain.VerifyAttempts,
		b.step.summary("verify "+tool.Name))
	said, cutOff, err := mailbox.Call(ctx, admission, options, contract.VerifyCall, request)
	c.cutOff = c.cutOff || cutOff
	b.noteRunning()
	if err != nil {
		workflow.GetLogger(b.session.root).Warn("nobody knows what became of a call", "tool", request.Name, "call", c.id, "error", err)
		return none
	}
	return *said
}

// takeUnknown keeps a call of which nobody knows whether it took effect, and tells the model what that means.
func (c *call) takeUnknown(reply contract.ToolReply) contract.ToolReply {
	b, tool, made := c.batch, c.tool(), c.execution().Call
	if reply.Error == nil || reply.Error.Code != domain.CodeOutcomeUnknown || !tool.Effect.MayEndUnknown(len(tool.EffectKey) > 0) {
		return reply
	}
	unknown := domain.Wait{
		Kind: domain.WaitOutcome, ToolExecutionID: c.id, ExecutionID: b.step.execution, Execution: b.agent.state.ExecutionCount, Step: b.step.content.Number, Tool: tool.Name,
		Arguments: made.Arguments, Digest: domain.CallDigest(made.Name, made.Arguments), Why: reply.Error.Message,
		Effect: tool.EffectKeyOf(b.session.in.AgentID, made.Arguments), Since: b.agent.now(),
	}
	b.agent.adopt(b.agent.state.WithUnknownOutcome(unknown, b.agent.now()))
	b.session.openWaits.changed()
	b.agent.emit(domain.EventWaitOpened, domain.WaitOpened{EventCall: c.event(), Kind: unknown.Kind, Digest: unknown.Digest})
	reply.Content += "\n\n" + unknown.Advice()
	reply.Digest = chained(reply.Digest, reply.Content)
	return reply
}

// unknownAtEnd counts the calls that were unresolved when the execution ended, whatever was said of them since.
func unknownAtEnd(state domain.AgentState) int {
	n := 0
	for _, c := range state.UnknownOutcomes {
		if c.Answer == nil || c.Answer.At.After(state.Execution.CompletedAt) {
			n++
		}
	}
	return n
}

// blockedByOutcome is why a call may not begin that would be the same effect as one of unknown outcome, or that could
// become one too many of those; nil where it may.
func (c *call) blockedByOutcome() *domain.Error {
	state, tool := c.batch.agent.state, c.tool()
	calls := state.UnknownOutcomes
	if len(calls) == 0 || tool.Name == "" || !tool.Effect.MayEndUnknown(len(tool.EffectKey) > 0) {
		return nil
	}
	key := tool.EffectKeyOf(c.batch.session.in.AgentID, c.made.Arguments)
	for _, unknown := range calls {
		own := key
		if !unknown.EffectOf.IsZero() { // it is of the agent that this one is a fork of
			own = tool.EffectKeyOf(unknown.EffectOf, c.made.Arguments)
		}
		if err := unknown.Blocks(); unknown.Effect == own && err != nil {
			return err
		}
	}
	if len(state.UnresolvedOutcomes()) >= domain.MaxUnknownOutcomes {
		return domain.TooManyUnknownOutcomes(domain.Shorten(tool.Name, 64))
	}
	return nil
}

// announceResolved has the execution's events tell of the calls that were resolved in it, or before it began.
func (a *agent) announceResolved() {
	for _, c := range a.state.UnknownOutcomes {
		if c.Answer == nil || !c.Answer.ExecutionID.IsZero() {
			continue
		}
		a.resolvedIn(c.ToolExecutionID, false)
		a.emitWaitClosed(eventCall(c.ToolExecutionID, c.Tool), c)
	}
}

// tellResolvedCalls tells the model of the calls that were resolved since it was last asked.
func (t *stepRun) tellResolvedCalls() {
	for _, c := range t.agent.state.UnknownOutcomes {
		if c.Answer != nil && !c.Answer.Told {
			t.agent.resolvedIn(c.ToolExecutionID, true)
			t.interject("", domain.UserMessage(c.Say()))
		}
	}
}
