package workflows

import (
	"cmp"
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// mostEdits bounds how often people try to edit one call: each time takes some of the history.
const mostEdits = 50

// checkEdit refuses what could not be approved, and what rules deny as the person would have it.
func (s session) checkEdit(request contract.EditRequest) error {
	asked, err := s.askedAbout("edit", request.Call, request.Digest)
	switch {
	case err != nil:
		return err
	case asked.edits >= mostEdits:
		return domain.Errorf(domain.Denied, "edit: somebody has tried %d times to edit call %s, which is as often as may be; approve or deny it as it is", asked.edits, asked.ToolExecutionID)
	case s.nearBounds() || s.mail.Updates.Full():
		return domain.Errorf(domain.Denied, "edit: the run has no room for it; approve or deny it as it is")
	}
	if err := cmp.Or(checkSeen(request.Digest), checkWord(request.By, request.Reason), domain.CheckEdited(asked.Arguments, request.Arguments)); err != nil {
		return err
	}
	if ruling := s.ruling(domain.ToolCall{Name: asked.Tool, Arguments: request.Arguments}); ruling.Then == domain.Deny {
		return domain.Errorf(domain.Invalid, "arguments: the rules of this agent do not allow the call with them (%s); it waits as it was", ruling.Rule)
	}
	return s.inTime("edit", asked.PendingCall, asked.ExpiresAt)
}

// edit lets a call run with a person's own arguments, where they fit the tool's schema, as a worker says. Else the call
// waits as it was. Meanwhile somebody else may decide about it.
func (s session) edit(ctx workflow.Context, request contract.EditRequest) (contract.DecisionReply, error) {
	asked, err := s.askedAbout("edit", request.Call, request.Digest)
	if err != nil {
		return contract.DecisionReply{}, err
	}
	asked.tryEdit()
	request.Call = asked.ToolExecutionID
	if err = s.checkFits(ctx, asked.Tool, request.Arguments); err == nil {
		_, err = s.askedAbout("edit", request.Call, request.Digest)
	}
	if err != nil && asked.Decision != "" { // what came of that may have cut the check off
		err = s.notAsked("edit", request.Call)
	}
	if err != nil {
		return contract.DecisionReply{}, err
	}
	asked.edit(request.Arguments)
	return s.decide(domain.Approved, contract.ApproveRequest{Call: request.Call, By: request.By, Reason: request.Reason}), nil
}

// checkFits has a worker hold arguments against the schema of their tool, as it does before each call. Nothing fails open.
func (s session) checkFits(ctx workflow.Context, tool, arguments string) error {
	spec, _ := s.config.resolved.Tool(tool)
	permit, ok := s.mail.Permit(mailbox.WithinStep)
	if !ok {
		return cutOffEdit()
	}
	invalid, cutOff, err := s.misfit(ctx, permit, "check the arguments", spec.Schema, arguments)
	switch {
	case err != nil && cutOff:
		return cutOffEdit()
	case err != nil:
		return domain.Errorf(domain.Unavailable, "arguments: no worker could check them, so the call waits as it was: %s", err.Message)
	case invalid != "":
		return domain.Errorf(domain.Invalid, "arguments: do not fit %s, so the call waits as it was: %s", domain.Shorten(tool, 64), invalid)
	}
	return nil
}

// checkAgainst is the same for an answer and the schema of its question.
func (s session) checkAgainst(ctx workflow.Context, schema json.RawMessage, answer string) error {
	permit, ok := s.mail.Permit(mailbox.WithinStep)
	if !ok {
		return cutOffAnswer()
	}
	invalid, cutOff, err := s.misfit(ctx, permit, "check the answer", schema, answer)
	switch {
	case err != nil && cutOff:
		return cutOffAnswer()
	case err != nil:
		return domain.Errorf(domain.Unavailable, "answer: no worker could check it, so the question waits as it was: %s", err.Message)
	case invalid != "":
		return domain.Errorf(domain.Invalid, "answer: does not fit the question's schema, so the question waits as it was: %s", invalid)
	}
	return nil
}

// misfit has a worker say what is wrong with a text by a schema; empty: it fits. A stop may cut that off.
func (s session) misfit(ctx workflow.Context, permit mailbox.Permit, summary string, schema json.RawMessage, text string) (invalid string, cutOff bool, _ *domain.Error) {
	options := s.briefOptions(checkTimeout, ownAttempts, summary)
	options.ScheduleToCloseTimeout = 2 * checkTimeout
	format := domain.ResponseFormat{Type: domain.FormatSchema, Schema: schema}
	reply, cutOff, err := mailbox.Call(ctx, permit, options, contract.CheckOutput, contract.OutputRequest{Format: format, Text: text})
	if err != nil {
		return "", cutOff, lossOf(err).Err()
	}
	return reply.Invalid, false, nil
}

// cutOffEdit is why a call is not made with what a person gave as the execution was stopped.
func cutOffEdit() error {
	return domain.Errorf(domain.Denied, "edit: the execution was stopped before the arguments were checked, so the call is not made; to have it made, let the agent go on (extend), or send it a message")
}

// cutOffAnswer is the same of a question.
func cutOffAnswer() error {
	return domain.Errorf(domain.Denied, "answer: the execution was stopped before the answer was checked, so the question is over; to tell the agent, send it a message")
}

// tellEdited has the model read, with what came of a call, that a person has changed it and how.
func (b *toolBatch) tellEdited(i int, result contract.ToolReply) contract.ToolReply {
	done := b.content.ToolExecutions[i]
	if done.Approval.Edited.IsZero() {
		return result
	}
	if result.Error != nil {
		result.Content = cmp.Or(result.Content, result.Error.Message)
	}
	result.Content = domain.EditedNote(done.Call.Arguments) + result.Content
	result.Digest = domain.DigestOf([]byte(result.Digest.String()), []byte(result.Content))
	return result
}
