package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// longestWait bounds for how long people are asked, where a rule bounds it.
const longestWait = 10 * 365 * 24 * time.Hour

// ruling is what the approvals in force say about a call.
func (c *configuration) ruling(call domain.ToolCall) domain.Ruling {
	tool, _ := c.Resolved.Tool(call.Name)
	ruling := c.Resolved.ApprovalsOf(c.Definition).RuleOn(tool, call.Arguments, c.agent.state.Trusted())
	for _, above := range slices.Concat(c.Constraints.Handed, c.Constraints.Approvals) {
		ruling = ruling.OrStricter(above.RuleOn(tool, call.Arguments, c.agent.state.Trusted()))
	}
	return ruling
}

// askApproval has people asked about a call that the rules hold back. Nil: they let it run.
func (b *toolBatch) askApproval(i int, call domain.ToolCall) (*openWait, *domain.Error) {
	ruling := b.config.ruling(call)
	switch {
	case ruling.Then != domain.AskFirst, b.stands(i, call, ruling.Rule):
		return nil, nil
	case b.mail.StopAsked():
		b.allowed--
		return nil, notApproved()
	}
	asked := domain.Wait{Kind: domain.WaitApproval, Arguments: call.Arguments, AskedBy: ruling.Rule}
	return b.hold(i, call, asked, min(ruling.ExpiresAfter, longestWait), ruling.AtExpiry == domain.ExpiryStops), nil
}

// awaitApproval waits in the coroutine of a call until somebody has decided about it, and is the permit to begin it,
// or why it may not, and the call as it is to be made.
func (b *toolBatch) awaitApproval(ctx workflow.Context, i int, call domain.ToolCall, asked *openWait) (mailbox.Permit, domain.ToolCall, *domain.Error) {
	defer b.release()
	if !b.awaitPerson(ctx, asked) {
		return mailbox.Permit{}, call, notApproved()
	}
	if asked.edited != "" {
		call.Arguments = asked.edited
		b.step.callAs(i, call)
	}
	if refusal := asked.Refusal(); refusal != nil {
		if asked.Verdict() == domain.Expired && asked.stops {
			b.agent.signal(domain.StopRequested, "approvals", fmt.Sprintf("nobody approved the call of %s in time (%s)", domain.Shorten(asked.Tool, 64), asked.AskedBy))
			b.step.halt()
		}
		return mailbox.Permit{}, call, refusal
	}
	if asked.edited != "" {
		if blocked := b.showEdit(ctx, i, call); blocked != nil {
			return mailbox.Permit{}, call, blocked
		}
	}
	permit, ok := b.mail.AfterWord(ctx, func() bool { return b.step.halted })
	if !ok {
		return permit, call, notBegun()
	}
	return permit, call, nil
}

// showEdit lets hooks see an edited call. While a hook with I/O looks at it nobody waits for people.
func (b *toolBatch) showEdit(ctx workflow.Context, i int, call domain.ToolCall) *domain.Error {
	slow := func(spec contract.HookSpec) bool { return spec.IO && spec.Trigger == domain.TriggerBeforeToolUse }
	if !slices.ContainsFunc(b.config.Resolved.Hooks, slow) {
		return b.reviewEdit(ctx, i, call)
	}
	b.release()
	blocked := b.reviewEdit(ctx, i, call)
	b.held++
	b.reckon()
	return blocked
}

// tellEdited has the model read, with what came of a call, that a person has changed it and how.
func (b *toolBatch) tellEdited(i int, result contract.ToolReply) contract.ToolReply {
	done := b.step.content.ToolExecutions[i]
	if answer := done.Wait(domain.WaitApproval).Answer; answer == nil || answer.Edited.IsZero() {
		return result
	}
	if result.Error != nil {
		result.Content = cmp.Or(result.Content, result.Error.Message)
	}
	result.Content = domain.EditedNote(done.Call.Arguments) + result.Content
	result.Digest = domain.DigestOf([]byte(result.Digest.String()), []byte(result.Content))
	return result
}

// notApproved is what the model gets to read of a call that a stop kept from being approved.
func notApproved() *domain.Error {
	return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the execution was stopped before a person had approved the call")
}
