package workflows

import (
	"strings"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// acceptUpdates registers what can be asked of the session.
func (s session) acceptUpdates() error {
	if err := accept(s.root, contract.UpdateSend, s.checkSend, s.send); err != nil {
		return err
	}
	if err := accept(s.root, contract.UpdateExtend, s.checkExtend, s.extend); err != nil {
		return err
	}
	if err := accept(s.root, contract.UpdatePause, s.checkPause, s.pause(true)); err != nil {
		return err
	}
	if err := accept(s.root, contract.UpdateResume, s.checkPause, s.pause(false)); err != nil {
		return err
	}
	return accept(s.root, contract.UpdateClose, s.checkClose, s.closeSession)
}

// accept registers the handler of an update. The validator only rejects.
func accept[In, Out any](
	ctx workflow.Context, update contract.Update[In, Out],
	validate func(workflow.Context, In) error, handle func(workflow.Context, In) (Out, error),
) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, string(update), handle,
		workflow.UpdateHandlerOptions{Validator: validate})
}

// checkSend refuses a message that cannot begin an execution.
func (s session) checkSend(ctx workflow.Context, request contract.SendRequest) error {
	if _, repeated := s.mail.Sent(workflow.GetCurrentUpdateInfo(ctx).ID); repeated {
		return nil
	}
	if err := s.idleFor("send"); err != nil {
		return refusal(err)
	}
	if !request.ExecutionID.IsZero() {
		return refusal(domain.Errorf(domain.Denied, "execution_id: %s is not in progress", request.ExecutionID))
	}
	if err := checkStart(request.Prompt, request.Budget); err != nil {
		return refusal(err)
	}
	if request.Model != nil {
		if err := (domain.Definition{Model: *request.Model}).Check(); err != nil {
			return refusal(err)
		}
	}
	return refusal(s.sameDefinition(request.Definition))
}

// idleFor refuses what only an idle, open session takes.
func (s session) idleFor(what string) error {
	switch {
	case s.in.Name == "":
		return domain.Errorf(domain.Denied, "%s: the agent has no name, so it takes one prompt and no more; start another with --id NAME", what)
	case s.mail.Closed():
		return domain.Errorf(domain.Denied, "%s: the session is closed", what)
	case s.mail.Posted() || s.state.HasActiveExecution():
		return domain.Errorf(domain.Denied, "%s: execution %d is in progress; wait for it or stop it", what, s.state.ExecutionCount())
	}
	return nil
}

// sameDefinition refuses a definition other than the session's.
func (s session) sameDefinition(given *domain.Definition) error {
	if given == nil {
		return nil
	}
	if fields := s.in.Definition.Conflicts(*given); len(fields) > 0 {
		return domain.Errorf(domain.Denied, "%s: differs from the open session's; close the session first, or leave it out", strings.Join(fields, ", "))
	}
	return nil
}

// send begins the next execution. The loop takes it up when the handler has
// returned.
func (s session) send(ctx workflow.Context, request contract.SendRequest) (contract.SendReply, error) {
	id := workflow.GetCurrentUpdateInfo(ctx).ID
	if reply, repeated := s.mail.Sent(id); repeated {
		return reply, nil
	}
	s.mail.Took()
	reply := contract.SendReply{
		ExecutionID: s.nextExecutionID(), Number: s.state.ExecutionCount() + 1,
		RunID: s.info.WorkflowExecution.RunID, Began: true,
	}
	s.mail.Post(mailbox.NextExecution{Prompt: request.Prompt, Model: request.Model, Budget: request.Budget})
	s.mail.RememberSent(id, reply)
	return reply, nil
}

// checkClose refuses to close a session that is at work.
func (s session) checkClose(workflow.Context, contract.CloseRequest) error {
	return refusal(s.idleFor("close"))
}

// closeSession ends the session.
func (s session) closeSession(workflow.Context, contract.CloseRequest) (contract.CloseReply, error) {
	s.mail.Took()
	s.mail.Close()
	return contract.CloseReply{Executions: s.state.ExecutionCount()}, nil
}

// checkExtend refuses new totals that make no sense, or that nothing takes.
func (s session) checkExtend(ctx workflow.Context, request contract.ExtendRequest) error {
	if _, repeated := s.mail.Extended(workflow.GetCurrentUpdateInfo(ctx).ID); repeated {
		return nil
	}
	return refusal(s.extendable(request))
}

func (s session) extendable(request contract.ExtendRequest) error {
	execution, _ := s.state.Execution()
	active := s.state.HasActiveExecution()
	budget := s.budget().Extended(request.Budget, request.Lift)
	switch {
	case !request.ExecutionID.IsZero() && request.ExecutionID != execution.ID():
		return domain.Errorf(domain.Denied, "execution_id: %s is not the newest execution; %s is", request.ExecutionID, execution.ID())
	case s.mail.Ending() || active && s.state.Continuation().Stops():
		return domain.Errorf(domain.Denied, "extend: the execution is stopping; extend it when it has ended, and it goes on")
	case !active && (s.mail.Closed() || s.mail.Posted()):
		return domain.Errorf(domain.Denied, "extend: the session is closed or begins its next execution")
	case !active && s.state.Status() == domain.StatusCompleted:
		return domain.Errorf(domain.Denied, "extend: execution %d completed; send the agent a message instead", s.state.ExecutionCount())
	case !active && !s.state.Status().Terminal():
		return domain.Errorf(domain.Denied, "extend: no execution has begun")
	case active && request.Budget.IsEmpty() && len(request.Lift) == 0:
		return domain.Errorf(domain.Invalid, "extend: the execution is in progress; give at least one new total, such as max_steps")
	case budget.MaxCostNanoUSD != nil && s.resolved != nil && s.resolved.Price == nil:
		return domain.Errorf(domain.Invalid, "max_cost: nobody knows what %s costs; extend another limit", s.state.LLMConfig())
	}
	if err := request.Budget.Check(); err != nil {
		return err
	}
	if err := request.Budget.CheckDeadline(s.now()); err != nil {
		return err
	}
	if use, reached := budget.Reached(s.Spent(), s.now()); reached && !active {
		return domain.Errorf(domain.Denied, "extend: there is nothing left to go on with: %s; %s", use, use.GoOn())
	}
	return nil
}

// extend gives the execution in progress new totals, or begins the next one,
// which goes on from the one that ended.
func (s session) extend(ctx workflow.Context, request contract.ExtendRequest) (contract.ExtendReply, error) {
	id := workflow.GetCurrentUpdateInfo(ctx).ID
	if reply, repeated := s.mail.Extended(id); repeated {
		return reply, nil
	}
	s.mail.Took()
	execution, _ := s.state.Execution()
	reply := contract.ExtendReply{
		ExecutionID: execution.ID(), Number: s.state.ExecutionCount(), RunID: s.info.WorkflowExecution.RunID,
		Budget: s.budget().Extended(request.Budget, request.Lift),
	}
	if s.state.HasActiveExecution() {
		s.agent.extend(reply.Budget)
		s.mail.WatchTime()
		s.mail.CheckTime()
	} else {
		reply.ExecutionID, reply.Number, reply.Began = s.nextExecutionID(), reply.Number+1, true
		s.mail.Post(mailbox.NextExecution{Budget: reply.Budget, GoesOn: true})
	}
	s.mail.RememberExtended(id, reply)
	return reply, nil
}

// checkPause refuses what is not about the execution in progress.
func (s session) checkPause(_ workflow.Context, request contract.PauseRequest) error {
	execution, _ := s.state.Execution()
	switch {
	case !s.state.HasActiveExecution() || s.mail.Ending():
		return refusal(domain.Errorf(domain.Denied, "pause, resume: no execution is in progress"))
	case !request.ExecutionID.IsZero() && request.ExecutionID != execution.ID():
		return refusal(domain.Errorf(domain.Denied, "execution_id: %s is not in progress; %s is", request.ExecutionID, execution.ID()))
	}
	return nil
}

// pause lets nothing new start, or ends that.
func (s session) pause(on bool) func(workflow.Context, contract.PauseRequest) (contract.PauseReply, error) {
	return func(workflow.Context, contract.PauseRequest) (contract.PauseReply, error) {
		s.mail.Took()
		execution, _ := s.state.Execution()
		return contract.PauseReply{ExecutionID: execution.ID(), Number: s.state.ExecutionCount(), Changed: s.mail.Pause(on)}, nil
	}
}
