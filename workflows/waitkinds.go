package workflows

import (
	"cmp"
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// A waitKind is what becomes of an answer to a wait of its kind. All else that tells it from the others is its domain.WaitRule.
type waitKind struct {
	// check refuses what is no answer to the wait.
	check func(*commands, *openWait, contract.AnswerRequest) error
	// apply writes the answer down, which was checked. The standing approval is the one that was given with it.
	apply func(*commands, *openWait, contract.AnswerRequest) *domain.StandingApproval
}

func waitKindOf(kind domain.WaitKind) waitKind {
	return map[domain.WaitKind]waitKind{
		domain.WaitApproval: {(*commands).checkDecision, (*commands).applyDecision},
		domain.WaitQuestion: {(*commands).checkReply, (*commands).applyReply},
		domain.WaitOutcome:  {(*commands).checkOutcome, (*commands).applyOutcome},
	}[kind]
}

// checkDecision refuses to approve what the person was not shown, and what rules deny as the person would have it.
func (c *commands) checkDecision(w *openWait, request contract.AnswerRequest) error {
	switch {
	case request.Verdict != domain.Approved:
		return nil
	case request.Digest.IsZero():
		return domain.Invalidf("digest: is missing; give that of the call that you have seen, so that nothing else runs")
	case request.Always:
		return cmp.Or(c.agent.state.CheckStandingRoom(), c.run.checkHandedOn("always", "approve this one call, or revoke standing approvals", c.config.Next,
			w.StandingIn(c.config.standingContext(w.Tool), request.Answer()), request))
	case request.Arguments == "":
		return nil
	}
	if err := domain.CheckEdited(w.Arguments, request.Arguments); err != nil {
		return err
	}
	if ruling := c.config.ruling(domain.ToolCall{Name: w.Tool, Arguments: request.Arguments}); ruling.Then == domain.Deny {
		return domain.Invalidf("arguments: the rules of this agent do not allow the call with them (%s); it waits as it was", ruling.Rule)
	}
	return nil
}

// schemaOf is what a worker is to check of an answer, and against which schema; nil: nothing. Arguments that a person gives have
// to fit the tool, whose calls are checked before each, and the answer to a question what that asks for.
func (c *commands) schemaOf(w *openWait, request contract.AnswerRequest) (schema json.RawMessage, text string) {
	switch {
	case request.Arguments != "":
		spec, _ := c.config.Resolved.Tool(w.Tool)
		if schema = spec.Schema; len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		return schema, request.Arguments
	case w.Ask != nil && len(w.Ask.Schema) > 0:
		text, _ = w.Ask.Content(request.Text, request.Value) // the check has read it
		return w.Ask.Schema, text
	}
	return nil, ""
}

func (c *commands) applyDecision(w *openWait, request contract.AnswerRequest) (standing *domain.StandingApproval) {
	answer := request.Answer()
	answer.Content, answer.At = "", c.agent.now()
	if request.Always {
		context := c.config.standingContext(w.Tool)
		allowed, ok := c.agent.state.StandingFor(w.Digest, context)
		if !ok { // none does that yet
			allowed = w.StandingIn(context, answer)
			c.agent.adopt(must(c.agent.state.WithStandingApproval(allowed, c.agent.now())))
		}
		standing, answer.Always = &allowed, allowed.ID
	}
	if request.Arguments != "" {
		answer.Edited = domain.CallDigest(w.Tool, request.Arguments)
		w.edit(request.Arguments)
	}
	w.take(answer)
	return standing
}

func (c *commands) checkReply(w *openWait, request contract.AnswerRequest) error {
	_, err := w.Ask.Content(request.Text, request.Value)
	return err
}

func (c *commands) applyReply(w *openWait, request contract.AnswerRequest) *domain.StandingApproval {
	answer := request.Answer()
	answer.Content, _ = w.Ask.Content(request.Text, request.Value) // the check has read it
	answer.At = c.agent.now()
	w.take(answer)
	return nil
}

// checkOutcome takes the same words about a call twice, as a request that came twice.
func (c *commands) checkOutcome(w *openWait, request contract.AnswerRequest) error {
	answer := request.Answer()
	switch {
	case c.mail.Updates.Pressed():
		return pressed(string(contract.UpdateAnswer))
	case w.ResolvedAs(answer):
		return nil
	}
	_, err := c.agent.state.WithOutcomeResolved(w.ToolExecutionID, answer, c.agent.now())
	return cmp.Or(err, c.run.checkHandedOn("resolve", "say it in fewer words", c.config.Next, answer))
}

// applyOutcome resolves a call. The model is told before it is asked next.
func (c *commands) applyOutcome(w *openWait, request contract.AnswerRequest) *domain.StandingApproval {
	if answer := request.Answer(); !w.ResolvedAs(answer) {
		answer.At = c.agent.now()
		c.agent.adopt(must(c.agent.state.WithOutcomeResolved(w.ToolExecutionID, answer, answer.At)))
		if c.agent.state.HasActiveExecution() {
			c.agent.announceResolved()
		}
		c.session.openWaits.changed()
		c.session.openWaits.publish()
	}
	w.take(*c.agent.state.UnknownOutcome(w.ToolExecutionID).Answer)
	return nil
}

// checkFits has a worker hold a person's arguments or answer against a schema. Nothing fails open.
func (c *commands) checkFits(ctx workflow.Context, tool string, request contract.AnswerRequest, schema json.RawMessage, text string) error {
	what, unfit := "answer", "does not fit the question's schema"
	if request.Arguments != "" {
		what, unfit = "arguments", "do not fit "+domain.Shorten(tool, 64)
	}
	stopped := domain.Deniedf("%s: the execution was stopped before a worker had checked the %s, so the wait is over; to tell the agent, let it go on (extend), or send it a message", request.Does(), what)
	admission, ok := c.mail.Admit(mailbox.WithinStep)
	if !ok {
		return stopped
	}
	options := c.session.policy.briefOptions(checkTimeout, ownAttempts, "check the "+what)
	options.ScheduleToCloseTimeout = 2 * checkTimeout
	format := domain.ResponseFormat{Type: domain.FormatSchema, Schema: schema}
	reply, cutOff, err := mailbox.Call(ctx, admission, options, contract.CheckOutput, contract.OutputRequest{Format: format, Text: text})
	switch {
	case err != nil && cutOff:
		return stopped
	case err != nil:
		return domain.Errorf(domain.Unavailable, "%s: no worker could check that, so the call waits as it was: %s", what, errorOf(err).Message)
	case reply.Invalid != "":
		return domain.Invalidf("%s: %s, so the call waits as it was: %s", what, unfit, reply.Invalid)
	}
	return nil
}
