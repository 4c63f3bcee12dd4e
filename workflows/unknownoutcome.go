package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// verify asks a tool, in the coroutine of its call, what became of that, where nobody knows how it ended; asked is false
// where the tool is not asked. A stop of mode now does not wait for an answer.
func (b *toolBatch) verify(ctx workflow.Context, request contract.ToolRequest, reply contract.ToolReply) (found contract.VerifyReply, asked bool) {
	tool, _ := b.config.Resolved.Tool(request.Name)
	if reply.Error == nil || reply.Error.Code != domain.CodeOutcomeUnknown || !tool.Verifies {
		return found, false
	}
	permit, ok := b.mail.Permit(mailbox.WithinStep)
	if !ok {
		return found, false
	}
	b.agent.note(fmt.Sprintf("step %d: asking %s what became of its call", b.step.content.Number, domain.Shorten(request.Name, 64)))
	said, cutOff, err := mailbox.Call(ctx, permit, b.verifyOptions(tool), contract.VerifyCall, request)
	b.cutOff[request.Position] = b.cutOff[request.Position] || cutOff
	if err != nil {
		workflow.GetLogger(b.session.root).Warn("nobody knows what became of a call", "tool", request.Name, "call", request.ID(), "error", err)
		return found, true
	}
	return *said, true
}

// verifyOptions are those of a tool's Verify: the server makes its attempts.
func (b *toolBatch) verifyOptions(tool domain.ToolSpec) workflow.ActivityOptions {
	return b.session.policy.briefOptions(min(b.config.Resolved.ToolTimeout(tool), domain.VerifyTimeout), domain.VerifyAttempts, fmt.Sprintf("step %d · verify %s", b.step.content.Number, tool.Name))
}

// takeUnknown keeps a call of which nobody knows whether it took effect, and tells the model what that means.
func (b *toolBatch) takeUnknown(i int, reply contract.ToolReply) contract.ToolReply {
	if reply.Error == nil || reply.Error.Code != domain.CodeOutcomeUnknown {
		return reply
	}
	call, id := b.step.content.ToolExecutions[i].Call, b.step.content.ID.Tool(i)
	tool, _ := b.config.Resolved.Tool(call.Name)
	if !tool.Effect.MayEndUnknown(len(tool.EffectKey) > 0) {
		return reply
	}
	unknown := domain.Wait{
		Kind: domain.WaitOutcome, ToolExecutionID: id, ExecutionID: b.step.execution, Execution: b.agent.state.ExecutionCount, Step: b.step.content.Number, Tool: tool.Name,
		Arguments: call.Arguments, Digest: domain.CallDigest(call.Name, call.Arguments), Why: reply.Error.Message,
		Effect: tool.EffectKeyOf(b.session.in.AgentID, call.Arguments), Since: b.agent.now(),
	}
	b.agent.outcomeUnknown(unknown)
	b.session.openWaits.changed()
	b.agent.emit(domain.EventWaitOpened, domain.WaitOpened{EventCall: eventCall(id, tool.Name), Kind: unknown.Kind, Digest: unknown.Digest})
	reply.Content += "\n\n" + unknown.Advice()
	reply.Digest = domain.DigestOf([]byte(reply.Digest.String()), []byte(reply.Content))
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
func (b *toolBatch) blockedByOutcome(call domain.ToolCall) *domain.Error {
	calls := b.agent.state.UnknownOutcomes
	tool, known := b.config.Resolved.Tool(call.Name)
	if len(calls) == 0 || !known || !tool.Effect.MayEndUnknown(len(tool.EffectKey) > 0) {
		return nil
	}
	key := tool.EffectKeyOf(b.session.in.AgentID, call.Arguments)
	for _, c := range calls {
		own := key
		if !c.EffectOf.IsZero() { // it is of the agent that this one is a fork of
			own = tool.EffectKeyOf(c.EffectOf, call.Arguments)
		}
		if err := c.Blocks(); c.Effect == own && err != nil {
			return err
		}
	}
	if len(b.agent.state.UnresolvedOutcomes()) >= domain.MaxUnknownOutcomes {
		return domain.TooManyUnknownOutcomes(domain.Shorten(tool.Name, 64))
	}
	return nil
}

func (a *answers) resolveCall(id domain.ToolExecutionID, answer domain.Answer) {
	a.agent.resolveOutcome(id, answer)
	if a.agent.state.HasActiveExecution() {
		a.agent.announceResolved()
	}
	a.session.openWaits.changed()
	a.session.openWaits.publishWaits()
}

// announceResolved has the execution's events tell of the calls that were resolved in it, or before it began.
func (a *agent) announceResolved() {
	for _, c := range a.state.UnknownOutcomes {
		if c.Answer == nil || !c.Answer.ExecutionID.IsZero() {
			continue
		}
		a.resolvedIn(c.ToolExecutionID, false)
		a.emitWaitClosed(c)
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
