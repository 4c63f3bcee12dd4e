package workflows

import (
	"cmp"
	"errors"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// commands are what people ask of an agent: for each a check, which only refuses, and what does it.
type commands struct {
	session *session
	agent   *agent
	config  *configuration
	mail    *mailbox.Mailbox
	talk    *transcript
}

// acceptCommands registers the table of all that people ask of an agent: of each command its name, whether it may come late in a
// run, what its validator checks, and what does it.
func (s *session) acceptCommands() error {
	c, answers := &commands{s, s.agent, s.config, s.mail, s.conversation}, s.answers()
	return errors.Join(
		accept(s, contract.UpdateSend, deferrable, c.checkSend, c.send),
		accept(s, contract.UpdateUnsend, urgent, c.checkUnsend, c.unsend),
		c.acceptExtend(),
		accept(s, contract.UpdateExtendSession, deferrable, c.checkExtendSession, c.extendSession),
		accept(s, contract.UpdatePause, deferrable, c.checkPause, c.pause(true)),
		accept(s, contract.UpdateResume, deferrable, c.checkPause, c.pause(false)),
		acceptSlow(s, contract.UpdateAnswer, urgent, answers.checkAnswer, answers.answer),
		accept(s, contract.UpdateRevoke, deferrable, c.checkRevoke, c.revoke),
		accept(s, contract.UpdateDefinition, deferrable, c.checkUpdate, c.update),
		accept(s, contract.UpdateSuspend, deferrable, c.checkSuspend, c.suspend),
		accept(s, contract.UpdateUnsuspend, deferrable, c.checkUnsuspend, c.unsuspend),
		accept(s, contract.UpdateClear, deferrable, c.checkClear, c.clear),
		accept(s, contract.UpdateRewind, deferrable, c.checkRewind, c.rewind),
		accept(s, contract.UpdateClose, urgent, c.checkClose, c.closeSession),
		handle(s, contract.UpdateAwait, c.checkAwait, c.awaitEnd),
	)
}

// An urgency says whether a command is taken where the run has taken nearly as many updates as the server lets it.
type urgency int

const (
	// deferrable: it is refused, and can be sent again to the next run.
	deferrable urgency = iota
	// urgent: it is taken. What waits for it may hold the step, and so the run, for days.
	urgent
)

// accept registers a command that is done at once.
func accept[In, Out any](s *session, name contract.Update[In, Out], when urgency, check func(In) error, do func(In) Out) error {
	return acceptSlow(s, name, when, check, func(_ workflow.Context, request In) (Out, error) { return do(request), nil })
}

// acceptSlow registers a command that may wait, in the coroutine of its context, and be refused only then.
func acceptSlow[In, Out any](
	s *session, name contract.Update[In, Out], when urgency, check func(In) error, do func(workflow.Context, In) (Out, error),
) error {
	validate, answer := halves(s, name, when, check, do)
	return handle(s, name, validate, answer)
}

// halves are the two of a command: the validator only rejects. A repeated command is answered as it was, and not done again; one
// that was refused is not remembered.
func halves[In, Out any](
	s *session, name contract.Update[In, Out], when urgency, check func(In) error, do func(workflow.Context, In) (Out, error),
) (validate func(workflow.Context, In) error, answer func(workflow.Context, In) (Out, error)) {
	updates := &s.mail.Updates
	validate = func(ctx workflow.Context, request In) error {
		switch {
		case when == deferrable && updates.Pressed():
			return refusal(pressed(name))
		case updates.Repeats(string(name), workflow.GetCurrentUpdateInfo(ctx).ID, new(Out)):
			return nil
		}
		return refusal(check(request))
	}
	answer = func(ctx workflow.Context, request In) (reply Out, err error) {
		id := workflow.GetCurrentUpdateInfo(ctx).ID
		if updates.Repeats(string(name), id, &reply) {
			updates.TakeWait() // the server counts it as well
			return reply, nil
		}
		updates.Take(s.agent.now())
		defer updates.End()
		if reply, err = do(ctx, request); err != nil {
			return reply, refusal(err)
		}
		updates.Remember(string(name), id, reply)
		s.publishHead()
		return reply, nil
	}
	return validate, answer
}

// handle registers the two halves of an update as they are.
func handle[In, Out any](
	s *session, update contract.Update[In, Out], check func(workflow.Context, In) error, answer func(workflow.Context, In) (Out, error),
) error {
	return workflow.SetUpdateHandlerWithOptions(s.root, string(update), answer, workflow.UpdateHandlerOptions{Validator: check})
}

func (c *commands) checkSend(request contract.SendRequest) error {
	if err := c.notSuspended("send"); err != nil {
		return err
	}
	if c.mustWait(request) {
		return c.checkWait(request)
	}
	if err := c.idleFor("send"); err != nil {
		return err
	}
	if !request.ExecutionID.IsZero() {
		return domain.Errorf(domain.Denied, "execution_id: %s is not in progress", request.ExecutionID)
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
		return domain.Errorf(domain.Denied, "send: the session is closed")
	case !request.ExecutionID.IsZero() && (!c.agent.state.HasActiveExecution() || request.ExecutionID != c.agent.state.Execution.ID):
		return domain.Errorf(domain.Denied, "execution_id: %s is not in progress", request.ExecutionID)
	case c.session.in.Name == "" && request.IfBusy == contract.QueueIfBusy:
		return domain.Errorf(domain.Denied, "if_busy: the agent has no name, so no execution follows this one; steer it, or start another agent")
	case c.session.budget.checkSessionLeft("send") != nil:
		return c.session.budget.checkSessionLeft("send")
	case c.session.in.Name == "" && (c.mail.Ending() || c.agent.state.Continuation().Stops()):
		return domain.Errorf(domain.Denied, "send: the execution is stopping, and the agent has no name, so none follows it; nobody would read the message")
	case request.IfBusy == contract.QueueIfBusy:
		if err := cmp.Or(c.checkBeginning(request), c.checkNotes(request.Options)); err != nil {
			return err
		}
	default:
		if field := changes(request); field != "" {
			return domain.Errorf(domain.Denied, "%s: execution %d is in progress, which no message changes; queue the message, or leave it out", field, max(c.agent.state.ExecutionCount, 1))
		}
		if err := domain.CheckPrompt(request.Prompt); err != nil {
			return err
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
	c.mail.Post(mailbox.NextExecution{Prompt: request.Prompt, Options: request.Options, Model: request.Model, Budget: request.Budget, By: domain.Starter{Program: request.By}})
	return contract.SendReply{
		ExecutionID: c.session.nextExecutionID(), Number: c.agent.state.ExecutionCount + 1,
		RunID: c.session.info.WorkflowExecution.RunID, Began: true,
	}
}

// checkClose refuses a session that knows of unresolved calls: one of the same name that begins anew would make them again.
func (c *commands) checkClose(contract.CloseRequest) error {
	unresolved := c.agent.state.UnresolvedOutcomes()
	if err := c.idleFor("close"); err != nil {
		return err
	}
	if waiting := len(c.mail.Waiting()); waiting > 0 { // the session is suspended
		return domain.Errorf(domain.Denied, "close: %d messages wait that nobody has read; unsuspend the session, or take them back with unsend", waiting)
	}
	if len(unresolved) == 0 {
		return nil
	}
	first := unresolved[0]
	return domain.Errorf(domain.Denied, "close: of %d calls nobody knows whether they took effect, the first is %s of %s; "+
		"resolve them first, since a new session would not know of them", len(unresolved), first.ToolExecutionID, domain.Shorten(first.Tool, 64))
}

func (c *commands) closeSession(contract.CloseRequest) contract.CloseReply {
	c.mail.Close()
	return contract.CloseReply{Executions: c.agent.state.ExecutionCount}
}

// acceptExtend registers the command that extends. What is asked while an execution is about to begin is checked once that has
// begun, which is the newest then. Until then it is no update under way: an execution may begin beside it.
func (c *commands) acceptExtend() error {
	checked := func(request contract.ExtendRequest) error {
		if c.mail.Posted() {
			return nil
		}
		return c.checkExtend(request)
	}
	validate, answer := halves(c.session, contract.UpdateExtend, deferrable, checked, func(_ workflow.Context, request contract.ExtendRequest) (contract.ExtendReply, error) {
		if err := c.checkExtend(request); err != nil {
			return contract.ExtendReply{}, err
		}
		return c.extend(request), nil
	})
	return handle(c.session, contract.UpdateExtend, validate, func(ctx workflow.Context, request contract.ExtendRequest) (contract.ExtendReply, error) {
		held, _ := workflow.NewDisconnectedContext(ctx) // a cancellation is taken as a stop
		if err := workflow.Await(held, func() bool { return !c.mail.Posted() }); err != nil {
			return contract.ExtendReply{}, err
		}
		return answer(held, request)
	})
}

func (c *commands) checkExtend(request contract.ExtendRequest) error {
	execution := c.agent.state.Execution
	active := c.agent.state.HasActiveExecution()
	budget := c.agent.budget().Extended(request.Budget, request.Lift)
	switch {
	case !request.ExecutionID.IsZero() && request.ExecutionID != execution.ID:
		return domain.Errorf(domain.Denied, "execution_id: %s is not the newest execution; %s is", request.ExecutionID, execution.ID)
	case c.mail.Ending() || active && c.agent.state.Continuation().Stops():
		return domain.Errorf(domain.Denied, "extend: the execution is stopping; extend it when it has ended, and it goes on")
	case !active && c.mail.Suspended() != nil:
		return c.notSuspended("extend")
	case !active && c.talk.Cleared():
		return domain.Errorf(domain.Denied, "extend: the conversation was cleared, so there is nothing to go on with; send the agent a message instead")
	case !active && !c.talk.Edits().GoesOnFrom(execution.ID, c.agent.state.StepCount(), c.talk.from, c.talk.Len(), c.agent.rewound()):
		return domain.Errorf(domain.Denied, "extend: the session was rewound, so its next execution goes on from there; send the agent a message instead")
	case !active && c.mail.Woken():
		return domain.Errorf(domain.Denied, "extend: the session is closed or begins its next execution")
	case !active && c.agent.state.Status() == domain.StatusCompleted:
		return domain.Errorf(domain.Denied, "extend: execution %d completed; send the agent a message instead", c.agent.state.ExecutionCount)
	case !active && !c.agent.state.Status().Terminal():
		return domain.Errorf(domain.Denied, "extend: no execution has begun")
	case active && request.Budget.IsZero() && len(request.Lift) == 0:
		return domain.Errorf(domain.Invalid, "extend: the execution is in progress; give at least one new total, such as max_steps")
	case c.session.in.Parent != nil && !budget.Within(c.session.parent().Grant):
		return domain.Errorf(domain.Denied, "extend: the agent that started this sub-agent has granted it no more; extend agent %s, and what it starts next gets a share", c.session.in.Parent.AgentID)
	case budget.MaxCostNanoUSD != nil && c.config.Resolved != nil && c.config.Resolved.Price == nil:
		return domain.Errorf(domain.Invalid, "max_cost: nobody knows what %s costs; extend another limit", c.agent.state.LLMConfig)
	}
	if err := cmp.Or(request.Budget.Check(), request.Budget.CheckDeadline(c.agent.now())); err != nil {
		return err
	}
	ledger := c.session.budget.ledger()
	ledger.Execution.Budget = budget
	if !active {
		ledger.Session.Budget = c.session.budget.upcomingAccount().Budget // the execution begins with it
	}
	if use, reached := ledger.Reached(c.agent.now()); reached && !active {
		return domain.Errorf(domain.Denied, "extend: there is nothing left to go on with: %s; %s%s", use, use.GoOn(), c.session.budget.extending(use))
	}
	return nil
}

// extend gives the execution in progress new totals, or goes on from the one that ended.
func (c *commands) extend(request contract.ExtendRequest) contract.ExtendReply {
	reply := contract.ExtendReply{
		ExecutionID: c.agent.state.Execution.ID, Number: c.agent.state.ExecutionCount, RunID: c.session.info.WorkflowExecution.RunID,
		Budget: c.agent.budget().Extended(request.Budget, request.Lift),
	}
	if c.agent.state.HasActiveExecution() {
		c.agent.extend(reply.Budget)
		c.mail.WatchTime()
		c.mail.CheckTime()
	} else {
		reply.ExecutionID, reply.Number, reply.Began = c.session.nextExecutionID(), reply.Number+1, true
		c.mail.Post(mailbox.NextExecution{Budget: reply.Budget, GoesOn: true, By: domain.Starter{Program: request.By}})
	}
	return reply
}

func (c *commands) checkPause(request contract.PauseRequest) error {
	switch {
	case !c.agent.state.HasActiveExecution() || c.mail.Ending():
		return domain.Errorf(domain.Denied, "pause, resume: no execution is in progress")
	case !request.ExecutionID.IsZero() && request.ExecutionID != c.agent.state.Execution.ID:
		return domain.Errorf(domain.Denied, "execution_id: %s is not in progress; %s is", request.ExecutionID, c.agent.state.Execution.ID)
	}
	return nil
}

func (c *commands) pause(on bool) func(contract.PauseRequest) contract.PauseReply {
	return func(contract.PauseRequest) contract.PauseReply {
		reply := contract.PauseReply{ExecutionID: c.agent.state.Execution.ID, Number: c.agent.state.ExecutionCount, Changed: c.mail.Pause(on)}
		switch {
		case reply.Changed && on:
			c.agent.emit(domain.EventPaused, nil)
		case reply.Changed:
			c.agent.emit(domain.EventResumed, nil)
		}
		return reply
	}
}

func (c *commands) checkRevoke(request contract.RevokeRequest) error {
	_, err := c.agent.state.WithRevocation(request.ID, domain.Revocation{}, c.agent.now())
	return cmp.Or(err, contract.CheckStandingReason(request.Reason), contract.CheckSaid(request.By, request.Reason))
}

// revoke takes a standing approval back. A call that has begun by it goes on, one that waits for its turn is not made.
func (c *commands) revoke(request contract.RevokeRequest) contract.RevokeReply {
	c.agent.revokeAlways(request.ID, domain.Revocation{By: request.By, Reason: request.Reason})
	reply := contract.RevokeReply{}
	for _, standing := range c.agent.state.StandingApprovals {
		if standing.ID == request.ID {
			reply.Standing = standing
		}
	}
	return reply
}
