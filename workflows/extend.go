package workflows

import (
	"cmp"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

func (c *commands) checkExtend(request contract.ExtendRequest) error {
	state := c.agent.state
	execution, active := state.Execution, state.HasActiveExecution()
	budget := c.agent.budget().Extended(request.Budget, request.Lift)
	switch {
	case !request.ExecutionID.IsZero() && request.ExecutionID != execution.ID:
		return domain.Deniedf("execution_id: %s is not the newest execution; %s is", request.ExecutionID, execution.ID)
	case c.mail.Ending() || active && state.Continuation().Stops():
		return domain.Deniedf("extend: the execution is stopping; extend it when it has ended, and it goes on")
	case !active && c.mail.Settings.Suspended != nil:
		return c.notSuspended("extend")
	case !active && c.conversation.Cleared():
		return domain.Deniedf("extend: the conversation was cleared, so there is nothing to go on with; send the agent a message instead")
	case !active && !c.conversation.Edits().GoesOnFrom(execution.ID, state.StepCount(), c.conversation.from, c.conversation.Len(), c.agent.rewound()):
		return domain.Deniedf("extend: the session was rewound, so its next execution goes on from there; send the agent a message instead")
	case !active && c.mail.Woken():
		return domain.Deniedf("extend: the session is closed or begins its next execution")
	case !active && state.Status() == domain.StatusCompleted:
		return domain.Deniedf("extend: execution %d completed; send the agent a message instead", state.ExecutionCount)
	case !active && !state.Status().Terminal():
		return domain.Deniedf("extend: no execution has begun")
	case active && request.Budget.IsZero() && len(request.Lift) == 0:
		return domain.Invalidf("extend: the execution is in progress; give at least one new total, such as max_steps")
	case c.session.in.Parent != nil && !budget.Within(c.mail.Granted()):
		return domain.Deniedf("extend: the agent that started this sub-agent has granted it no more; extend agent %s, and what it starts next gets a share", c.session.in.Parent.AgentID)
	}
	if err := cmp.Or(c.config.Resolved.CheckPriced(budget, state.LLMConfig), request.Budget.CheckDeadline(c.agent.now())); err != nil {
		return err
	}
	ledger := c.budget.ledger()
	ledger.Execution.Budget = budget
	if !active {
		ledger.Session.Budget = c.budget.upcomingAccount().Budget // the execution begins with it
	}
	if use, reached := ledger.Reached(c.agent.now()); reached && !active {
		return domain.Deniedf("extend: there is nothing left to go on with: %s; %s%s", use, use.GoOn(), c.budget.extending(use))
	}
	return nil
}

// extend gives the execution in progress new totals, or goes on from the one that ended. What was asked while an execution was
// about to begin is of that one, and is checked once it has begun.
func (c *commands) extend(_ workflow.Context, request contract.ExtendRequest) (reply contract.ExtendReply, err error) {
	if err = c.checkExtend(request); err != nil {
		return reply, err
	}
	reply = contract.ExtendReply{
		ExecutionID: c.agent.state.Execution.ID, Number: c.agent.state.ExecutionCount, RunID: c.session.info.WorkflowExecution.RunID,
		Budget: c.agent.budget().Extended(request.Budget, request.Lift),
	}
	if c.agent.state.HasActiveExecution() {
		c.agent.extend(reply.Budget)
		c.mail.WatchTime()
		c.mail.CheckTime()
	} else {
		reply.ExecutionID, reply.Number, reply.Began = c.session.nextExecutionID(), reply.Number+1, true
		c.mail.Post(mailbox.NextExecution{SendRequest: contract.SendRequest{Budget: reply.Budget, By: request.By}, GoesOn: true})
	}
	return reply, nil
}

func (c *commands) checkExtendSession(request contract.ExtendSessionRequest) error {
	account, has := c.agent.state.Session()
	switch {
	case c.mail.Closed():
		return domain.Deniedf("extend: the session is closed")
	case !has && c.budget.upcomingAccount().Budget.IsEmpty():
		return domain.Deniedf("extend: the session has no budget; `update %s` gives it one, as session_budget in its definition", c.budget.called())
	case !has:
		return domain.Deniedf("extend: the session has no budget before its next execution begins; `update %s` changes that one", c.budget.called())
	}
	return c.config.Resolved.CheckPriced(account.Budget.Extended(request.Budget, request.Lift), c.agent.state.LLMConfig)
}

// extendSession takes what was checked. It bounds the execution in progress from now on, and begins none. A definition that
// waits and has the same totals leaves them as they are extended.
func (c *commands) extendSession(request contract.ExtendSessionRequest) contract.ExtendSessionReply {
	account, _ := c.agent.state.Session()
	totals := account.Budget.Extended(request.Budget, request.Lift)
	if next := c.config.Next; next != nil && next.Definition.SessionBudget.Equal(account.Budget) {
		extended := *next
		extended.Definition.SessionBudget = totals
		c.config.wait(extended)
	}
	c.budget.limitSession(totals)
	account, _ = c.agent.state.Session()
	return contract.ExtendSessionReply{Number: c.agent.state.ExecutionCount, InProgress: c.agent.state.HasActiveExecution(), Account: account}
}
