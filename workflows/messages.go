package workflows

import (
	"cmp"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

func (c *commands) checkSend(request contract.SendRequest) error {
	if err := cmp.Or(c.notSuspended("send"), c.checkMeant(request.ExecutionID)); err != nil {
		return err
	}
	if c.mustWait(request) {
		return c.checkWait(request)
	}
	if err := contract.IdleSession.Check("send", c.availability()); err != nil {
		return err
	}
	return c.checkBeginning(request)
}

// mustWait reports whether a message is to wait for the execution in progress, or for those of messages that came before it.
func (c *commands) mustWait(request contract.SendRequest) bool {
	others := c.session.in.Name != "" && c.mail.Ready() && !c.mail.Closed()
	return request.IfBusy.Waits() && !request.IfIdle && (c.session.busy() || others)
}

// checkNotes refuses metadata for which the messages that wait leave no room: each adds its own when its execution begins.
func (c *commands) checkNotes(given *domain.StartOptions) error {
	if given == nil || len(given.Metadata) == 0 {
		return nil
	}
	state := c.agent.state
	for _, w := range c.mail.Waiting() {
		if w.Request.Options == nil {
			continue
		}
		with, err := state.WithNotesOf(&domain.StartOptions{Metadata: w.Request.Options.Metadata}, c.agent.now())
		if err != nil {
			return err
		}
		state = with
	}
	return (&domain.StartOptions{Metadata: given.Metadata}).Check(state)
}

// checkWait refuses a message that cannot wait for the execution in progress. What could wait, but for nothing, would
// only look as if it were read.
func (c *commands) checkWait(request contract.SendRequest) error {
	switch {
	case c.mail.Closed():
		return domain.Deniedf("send: the session is closed")
	case c.session.in.Name == "" && request.IfBusy == contract.QueueIfBusy:
		return domain.Deniedf("if_busy: the agent has no name, so no execution follows this one; steer it, or start another agent")
	case c.budget.checkSessionLeft() != nil:
		return c.budget.checkSessionLeft()
	case c.session.in.Name == "" && (c.mail.Ending() || c.agent.state.Continuation().Stops()):
		return domain.Deniedf("send: the execution is stopping, and the agent has no name, so none follows it; nobody would read the message")
	case request.IfBusy == contract.QueueIfBusy:
		if err := cmp.Or(c.checkBeginning(request), c.checkNotes(request.Options)); err != nil {
			return err
		}
	default:
		if field := changes(request); field != "" {
			return domain.Deniedf("%s: execution %d is in progress, which no message changes; queue the message, or leave it out", field, max(c.agent.state.ExecutionCount, 1))
		}
	}
	return c.checkRoom(request)
}

// changes names what of a message would change the execution in progress; empty: nothing.
func changes(r contract.SendRequest) string {
	switch {
	case r.Model != nil:
		return "model"
	case !r.Budget.IsZero():
		return "budget"
	case r.Options != nil:
		return "metadata, messages, trusted"
	case r.Definition != nil:
		return "definition"
	}
	return ""
}

// send has the loop begin the next execution when the handler has returned, or the message wait.
func (c *commands) send(request contract.SendRequest) contract.SendReply {
	if c.mustWait(request) {
		return c.holdMessage(request)
	}
	c.mail.Post(mailbox.NextExecution{SendRequest: request})
	return contract.SendReply{
		ExecutionID: c.session.nextExecutionID(), Number: c.agent.state.ExecutionCount + 1,
		RunID: c.session.info.WorkflowExecution.RunID, Began: true,
	}
}

// checkRoom refuses a message for which there is no room beside those that wait already, and beside all else that a run
// hands on.
func (c *commands) checkRoom(request contract.SendRequest) error {
	waiting, most := c.mail.Waiting(), contract.MaxWaitingUnstored
	if c.config.stores() {
		most = contract.MaxWaitingBytes
	}
	others := must(contract.EncodedBytes(waiting))
	bytes := others + must(contract.EncodedBytes(held(request))) + messageMargin
	switch most = min(most, max(c.run.room(c.config.Next)+others, 0)); {
	case len(waiting) >= contract.MaxWaitingMessages:
		return domain.Deniedf("send: %d messages wait for the agent already, and no more can; send it when some are read, or take one back with unsend", len(waiting))
	case bytes > most:
		return domain.Deniedf("send: the messages that wait would take %d bytes with this one; at most %d can; send it when some are read, or when the agent is idle", bytes, most)
	}
	return nil
}

// held is a message as it waits: what its sender takes the definition to be was compared with it by then.
func held(request contract.SendRequest) contract.SendRequest {
	request.Definition = nil
	return request
}

// messageMargin is what a message that waits takes beside what was sent.
const messageMargin = 200

// holdMessage has a message wait for the execution in progress, or about to begin.
func (c *commands) holdMessage(request contract.SendRequest) contract.SendReply {
	waits := c.mail.Hold(held(request))
	reply := contract.SendReply{
		ExecutionID: c.agent.state.Execution.ID, Number: c.agent.state.ExecutionCount, RunID: c.session.info.WorkflowExecution.RunID,
		Waits: waits.ID, Place: waits.Place,
	}
	if !c.agent.state.HasActiveExecution() {
		reply.ExecutionID, reply.Number = c.session.nextExecutionID(), reply.Number+1
		return reply
	}
	c.agent.emit(domain.EventMessageWaiting, domain.MessageWaiting{
		MessageID: waits.ID, Bytes: len(request.Prompt), Queued: !waits.Steers(), By: domain.Starter{Program: request.By}.Bounded().Program,
	})
	return reply
}

// hear has the messages join the conversation that wait for the next step. Where the budget allows none they stay: they
// are for whatever comes next.
func (s *session) hear() {
	if s.budget.spentUp() {
		return
	}
	for _, w := range s.mail.Hear() {
		s.conversation.hear(s.agent.state.Execution.ID, w, s.agent.now())
		s.emitReceived(w, false)
	}
}

// goOnForMessages has the loop go on where nothing but the end of its work would stop it, and a message waits.
func (s *session) goOnForMessages() {
	if s.mail.Steered() && s.agent.state.ShouldStop() && len(s.agent.state.StopSignals()) == 0 && !s.budget.spentUp() {
		s.agent.requestContinuation()
	}
}

// spentUp reports whether the budget, or the session's, allows no further step.
func (b *budget) spentUp() bool {
	_, reached := b.ledger().Reached(b.agent.now())
	return reached
}

func (s *session) emitReceived(w contract.WaitingMessage, began bool) {
	s.agent.emit(domain.EventMessageReceived, domain.MessageReceived{
		MessageID: w.ID, Began: began, Bytes: len(w.Request.Prompt),
		Milliseconds: s.agent.now().Sub(w.SentAt).Milliseconds(), By: domain.Starter{Program: w.Request.By}.Bounded().Program,
	})
}

func (c *commands) checkUnsend(request contract.UnsendRequest) error {
	_, err := c.meantMessage(request.MessageID)
	return err
}

// meantMessage is the message that somebody means, of those that wait.
func (c *commands) meantMessage(typed string) (w contract.WaitingMessage, _ error) {
	waiting := c.mail.Waiting()
	if typed == "" && len(waiting) == 1 {
		return waiting[0], nil
	}
	ids := make([]string, len(waiting))
	for i, one := range waiting {
		ids[i] = one.ID.String()
	}
	at, err := domain.Choose("message", typed, "none waits; what was read cannot be taken back", "those that wait", ids, ids)
	if err != nil {
		return w, err
	}
	return waiting[at], nil
}

func (c *commands) unsend(request contract.UnsendRequest) contract.UnsendReply {
	w, _ := c.meantMessage(request.MessageID)
	c.mail.TakeBack(w.ID)
	if c.agent.state.HasActiveExecution() {
		c.agent.emit(domain.EventMessageUnsent, domain.MessageUnsent{MessageID: w.ID})
	}
	return contract.UnsendReply{MessageID: w.ID, Delivery: w.Request.IfBusy, Left: len(c.mail.Waiting())}
}
