package workflows

import (
	"cmp"
	"errors"
	"slices"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// acceptCommands registers the table of all that people ask of an agent: of each command its name, what its validator checks that
// depends on the state, and what does it. What else the command needs stands in its row of the contract.
func (s *session) acceptCommands() error {
	c := s.commands()
	return errors.Join(
		accept(c, contract.UpdateSend, c.checkSend, c.send),
		accept(c, contract.UpdateUnsend, c.checkUnsend, c.unsend),
		acceptSlow(c, contract.UpdateExtend, func() bool { return !c.mail.Posted() }, c.checkExtend, c.extend),
		accept(c, contract.UpdateExtendSession, c.checkExtendSession, c.extendSession),
		accept(c, contract.UpdatePause, c.checkPause, c.pause(true)),
		accept(c, contract.UpdateResume, c.checkPause, c.pause(false)),
		acceptSlow(c, contract.UpdateAnswer, nil, c.checkAnswer, c.answer),
		accept(c, contract.UpdateRevoke, c.checkRevoke, c.revoke),
		accept(c, contract.UpdateDefinition, c.checkUpdate, c.update),
		accept(c, contract.UpdateSuspend, nil, c.suspend),
		accept(c, contract.UpdateUnsuspend, nil, c.unsuspend),
		accept(c, contract.UpdateClear, nil, c.clear),
		accept(c, contract.UpdateRewind, c.checkRewind, c.rewind),
		accept(c, contract.UpdateClose, c.checkClose, c.closeSession),
		handle(s, contract.UpdateAwait, c.checkAwait, c.awaitEnd),
	)
}

// accept registers a command that is done at once. The check may be nil.
func accept[In, Out any](c *commands, name contract.Update[In, Out], check func(In) error, do func(In) Out) error {
	return acceptSlow(c, name, nil, check, func(_ workflow.Context, request In) (Out, error) { return do(request), nil })
}

// acceptSlow registers a command whose handler may wait, and may refuse it only then. Where ready is given the handler waits for
// that first: the state is checked before only where it is ready already, and the command counts as under way only from then on, so
// that an execution may begin beside it. A repeated command is answered as it was, and not done again; one that was refused is not
// remembered.
func acceptSlow[In, Out any](
	c *commands, name contract.Update[In, Out], ready func() bool, check func(In) error, do func(workflow.Context, In) (Out, error),
) error {
	updates := &c.mail.Updates
	validate := func(ctx workflow.Context, request In) error {
		switch {
		case updates.Pressed() && !name.Urgent():
			return refusal(pressed(string(name)))
		case updates.Repeats(string(name), workflow.GetCurrentUpdateInfo(ctx).ID, new(Out)):
			return nil
		}
		err := cmp.Or(name.Needs().Check(string(name), c.availability()), contract.CheckForm(request))
		if err == nil && check != nil && (ready == nil || ready()) {
			err = check(request)
		}
		return refusal(err)
	}
	answer := func(ctx workflow.Context, request In) (reply Out, err error) {
		if ready != nil {
			ctx, _ = workflow.NewDisconnectedContext(ctx) // a cancellation is taken as a stop
			_ = workflow.Await(ctx, ready)
		}
		id := workflow.GetCurrentUpdateInfo(ctx).ID
		if updates.Repeats(string(name), id, &reply) {
			updates.TakeWait() // the server counts it as well
			return reply, nil
		}
		updates.Take(c.agent.now())
		defer updates.End()
		if reply, err = do(ctx, request); err != nil {
			return reply, refusal(err)
		}
		updates.Remember(string(name), id, reply)
		c.run.publishHead()
		return reply, nil
	}
	return handle(c.session, name, validate, answer)
}

// handle registers the two halves of an update as they are.
func handle[In, Out any](
	s *session, update contract.Update[In, Out], check func(workflow.Context, In) error, answer func(workflow.Context, In) (Out, error),
) error {
	return workflow.SetUpdateHandlerWithOptions(s.root, string(update), answer, workflow.UpdateHandlerOptions{Validator: check})
}

// suspend lets the execution in progress go on to its end.
func (c *commands) suspend(request contract.SuspendRequest) contract.SuspendReply {
	set := &c.mail.Settings.Suspended
	reply := contract.SuspendReply{Changed: *set == nil, Busy: c.session.busy()}
	if reply.Changed {
		*set = &contract.Suspension{Since: c.agent.now(), Reason: request.Reason, By: request.By}
	}
	return reply
}

func (c *commands) unsuspend(contract.UnsuspendRequest) contract.SuspendReply {
	reply := contract.SuspendReply{Changed: c.mail.Settings.Suspended != nil, Busy: c.session.busy()}
	c.mail.Settings.Suspended = nil
	return reply
}

// checkClose refuses a session that knows of unresolved calls: one of the same name that begins anew would make them again.
func (c *commands) checkClose(contract.CloseRequest) error {
	unresolved := c.agent.state.UnresolvedOutcomes()
	if waiting := len(c.mail.Waiting()); waiting > 0 { // the session is suspended
		return domain.Deniedf("close: %d messages wait that nobody has read; unsuspend the session, or take them back with unsend", waiting)
	}
	if len(unresolved) == 0 {
		return nil
	}
	first := unresolved[0]
	return domain.Deniedf("close: of %d calls nobody knows whether they took effect, the first is %s of %s; "+
		"resolve them first, since a new session would not know of them", len(unresolved), first.ToolExecutionID, domain.Shorten(first.Tool, 64))
}

func (c *commands) closeSession(contract.CloseRequest) contract.CloseReply {
	c.mail.Close()
	return contract.CloseReply{Executions: c.agent.state.ExecutionCount}
}

func (c *commands) checkPause(request contract.PauseRequest) error {
	return c.checkMeant(request.ExecutionID)
}

func (c *commands) pause(on bool) func(contract.PauseRequest) contract.PauseReply {
	return func(contract.PauseRequest) contract.PauseReply {
		reply := contract.PauseReply{ExecutionID: c.agent.state.Execution.ID, Number: c.agent.state.ExecutionCount, Changed: c.mail.Settings.Paused != on}
		c.mail.Settings.Paused = on
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
	_, err := c.meantApproval(request.ID)
	return err
}

// meantApproval is the standing approval that somebody means, of those that hold.
func (c *commands) meantApproval(typed string) (id domain.ToolExecutionID, err error) {
	if id.UnmarshalText([]byte(typed)) != nil {
		hold := slices.DeleteFunc(slices.Clone(c.agent.state.StandingApprovals), func(a domain.StandingApproval) bool { return a.Revocation != nil })
		ids := make([]string, len(hold))
		for i, a := range hold {
			ids[i] = a.ID.String()
		}
		at, err := domain.Choose("rule", typed, "no standing approval of this session holds", "the standing approvals that hold", ids, ids)
		if err != nil {
			return id, err
		}
		id = hold[at].ID
	}
	_, err = c.agent.state.WithRevocation(id, domain.Revocation{}, c.agent.now())
	return id, err
}

// revoke takes a standing approval back. A call that has begun by it goes on, one that waits for its turn is not made.
func (c *commands) revoke(request contract.RevokeRequest) contract.RevokeReply {
	id, _ := c.meantApproval(request.ID)
	c.agent.adopt(must(c.agent.state.WithRevocation(id, domain.Revocation{By: request.By, Reason: request.Reason}, c.agent.now())))
	reply := contract.RevokeReply{}
	for _, standing := range c.agent.state.StandingApprovals {
		if standing.ID == id {
			reply.Standing = standing
		}
	}
	return reply
}
