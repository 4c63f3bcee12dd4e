package workflows

import (
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// checkAwait refuses to wait for an execution that nothing has begun, and no message that waits will begin.
func (s *session) checkAwait(_ workflow.Context, request contract.AwaitRequest) error {
	newest := s.awaited()
	switch {
	case s.in.Name == "":
		return refusal(domain.Errorf(domain.Denied, "await: the agent has no name, so its workflow ends with its execution; wait for that"))
	case request.Number < 1:
		return refusal(domain.Errorf(domain.Invalid, "execution_number: is %d; executions are counted from 1", request.Number))
	case request.Number > newest:
		return refusal(domain.Errorf(domain.Denied, "execution_number: there is no execution %d; the newest is %d", request.Number, newest))
	}
	return nil
}

// awaitEnd waits for the end of an execution. It also ends before the run continues as new and when the session closes:
// an update that is still under way then fails. It ends without an outcome where nothing will begin the execution any more: the
// message that was to has joined another one, or was taken back. A stop of the workflow does not end it, since the execution
// ends then.
func (s *session) awaitEnd(ctx workflow.Context, request contract.AwaitRequest) (contract.AwaitReply, error) {
	s.mail.Updates.TakeWait()
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	err := workflow.Await(ctx, func() bool {
		return s.hasEnded(request.Number) || s.run.ends() || s.mail.Closed() && !s.busy() || request.Number > s.awaited()
	})
	return contract.AwaitReply{Outcome: s.outcomeOf(request.Number)}, err
}

// awaited is the number of the newest execution that there is, or that may begin by what waits.
func (s *session) awaited() int {
	if s.mail.Posted() || len(s.mail.Waiting()) > 0 {
		return s.agent.state.ExecutionCount + 1
	}
	return s.agent.state.ExecutionCount
}

func (s *session) hasEnded(number int) bool {
	newest := s.agent.state.ExecutionCount
	return number < newest || number == newest && s.agent.state.Status().Terminal()
}

// outcomeOf is how an execution ended that ended in this run, or is the newest; nil of any other.
func (s *session) outcomeOf(number int) *contract.Outcome {
	execution, held := s.execution(number)
	if !held || execution.outcome == nil {
		return nil
	}
	outcome := withEnd(*execution.outcome, execution.state)
	return &outcome
}
