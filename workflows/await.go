package workflows

import (
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// checkAwait refuses to wait for an execution that nothing has begun, and no message that waits will begin.
func (c *commands) checkAwait(_ workflow.Context, request contract.AwaitRequest) error {
	newest := c.awaited()
	switch {
	case c.session.in.Name == "":
		return refusal(domain.Deniedf("await: the agent has no name, so its workflow ends with its execution; wait for that"))
	case request.Number < 1:
		return refusal(domain.Invalidf("execution_number: is %d; executions are counted from 1", request.Number))
	case request.Number > newest:
		return refusal(domain.Deniedf("execution_number: there is no execution %d; the newest is %d", request.Number, newest))
	}
	return nil
}

// awaitEnd waits for the end of an execution. It also ends before the run continues as new and when the session closes:
// an update that is still under way then fails. It ends without an outcome where nothing will begin the execution any more: the
// message that was to has joined another one, or was taken back. A stop of the workflow does not end it, since the execution
// ends then.
func (c *commands) awaitEnd(ctx workflow.Context, request contract.AwaitRequest) (contract.AwaitReply, error) {
	c.mail.Updates.TakeWait()
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	err := workflow.Await(ctx, func() bool {
		newest := c.agent.state.ExecutionCount
		ended := request.Number < newest || request.Number == newest && c.agent.state.Status().Terminal()
		return ended || c.run.successor != nil || c.mail.Closed() && !c.session.busy() || request.Number > c.awaited()
	})
	return contract.AwaitReply{Outcome: c.outcomeOf(request.Number)}, err
}

// outcomeOf is how an execution ended that ended in this run, or is the newest; nil of any other.
func (c *commands) outcomeOf(number int) *contract.Outcome {
	for _, e := range c.session.executionsHeld() {
		if e.state.ExecutionCount == number && e.outcome != nil {
			return new(withAnswer(*e.outcome, e.state))
		}
	}
	return nil
}

// awaited is the number of the newest execution that there is, or that may begin by what waits.
func (c *commands) awaited() int {
	if c.mail.Posted() || len(c.mail.Waiting()) > 0 {
		return c.agent.state.ExecutionCount + 1
	}
	return c.agent.state.ExecutionCount
}
