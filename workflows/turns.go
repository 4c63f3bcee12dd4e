package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/workflows/internal/mailbox"
)

// effectOf is the key of a call's effect, where it may not be made twice at a time; zero elsewhere.
func (b *toolBatch) effectOf(call domain.ToolCall) (key domain.Digest) {
	tool, known := b.config.Resolved.Tool(call.Name)
	if len(b.step.calls) == 1 || !known || tool.Effect != domain.AtMostOnce && tool.Effect != domain.Keyed {
		return key
	}
	return tool.EffectKeyOf(b.session.in.AgentID, call.Arguments)
}

// awaitTurn waits in the coroutine of a call until no other of the same effect is under way, and is the permit to begin
// it, or why it may not.
func (b *toolBatch) awaitTurn(ctx workflow.Context, permit mailbox.Permit, effect domain.Digest) (mailbox.Permit, *domain.Error) {
	if !b.effects[effect] {
		return permit, nil
	}
	b.queue(effect, true)
	defer b.queue(effect, false)
	permit, ok := b.mail.AwaitTurn(ctx, func() bool { return !b.effects[effect] }, func() bool { return b.step.halted }, func(on bool) {
		b.queue(effect, !on)
		b.holdForPause(on)
	})
	if !ok {
		return permit, domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the execution was stopped while another call of the same was under way")
	}
	return permit, nil
}

// queue notes that a call waits for others of its effect, or no longer does.
func (b *toolBatch) queue(effect domain.Digest, on bool) {
	if on {
		b.queued = append(b.queued, effect)
		return
	}
	i := slices.Index(b.queued, effect)
	b.queued = slices.Delete(b.queued, i, i+1)
}

// holdForPause notes that a pause alone holds back a call, or no longer does.
func (b *toolBatch) holdForPause(on bool) {
	if on {
		b.held++
		b.agent.note(fmt.Sprintf("step %d: calls wait for the end of the pause", b.step.content.Number))
	} else {
		b.held--
	}
	b.reckon()
}

// reckon says whether nothing is under way: calls wait for people, or for such calls.
func (b *toolBatch) reckon() {
	waiting := b.held + b.behind
	for _, effect := range b.queued {
		if b.effects[effect] {
			waiting++
		}
	}
	b.mail.WaitForPeople(b.begun && b.held > 0 && waiting == b.running-b.ended)
}
