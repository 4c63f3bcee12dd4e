package workflows

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// checkExtend refuses new totals that make no sense, or that nothing takes.
func (s *session) checkExtend(ctx workflow.Context, request domain.ExtendRequest) error {
	if _, repeated := s.updates.extension(workflow.GetCurrentUpdateInfo(ctx).ID); repeated {
		return nil
	}
	return refusal(s.extendable(request))
}

func (s *session) extendable(request domain.ExtendRequest) error {
	execution, _ := s.state.Execution()
	active := s.state.HasActiveExecution()
	budget := s.budget().Extended(request.Budget, request.Lift)
	switch {
	case !request.ExecutionID.IsZero() && request.ExecutionID != execution.ID():
		return domain.Errorf(domain.Denied, "execution_id: %s is not the newest execution; %s is", request.ExecutionID, execution.ID())
	case s.finishing || active && s.state.Continuation().Stops():
		return domain.Errorf(domain.Denied, "extend: the execution is stopping; extend it when it has ended, and it goes on")
	case !active && (s.closing || s.next != nil):
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
	if use, reached := budget.Reached(s.spent(), s.now()); reached && !active {
		return domain.Errorf(domain.Denied, "extend: there is nothing left to go on with: %s; %s", use, use.GoOn())
	}
	return nil
}

// extend gives the execution in progress new totals, or begins the next one,
// which goes on from the one that ended.
func (s *session) extend(ctx workflow.Context, request domain.ExtendRequest) (domain.ExtendReply, error) {
	id := workflow.GetCurrentUpdateInfo(ctx).ID
	if reply, repeated := s.updates.extension(id); repeated {
		return reply, nil
	}
	s.updates.taken++
	execution, _ := s.state.Execution()
	reply := domain.ExtendReply{
		ExecutionID: execution.ID(), Number: s.state.ExecutionCount(), RunID: s.info.WorkflowExecution.RunID,
		Budget: s.budget().Extended(request.Budget, request.Lift),
	}
	if s.state.HasActiveExecution() {
		s.state = must(s.state.WithBudget(reply.Budget, s.now()))
		s.watchTime()
		s.overtime()
	} else {
		reply.ExecutionID, reply.Number, reply.Began = s.nextExecutionID(), reply.Number+1, true
		s.next = &beginning{budget: reply.Budget, goesOn: true}
		s.wake()
	}
	s.updates.extended = append(slices.Clip(s.updates.extended), domain.ExtendedUpdate{ID: id, Reply: reply})
	if extra := len(s.updates.extended) - remembered; extra > 0 {
		s.updates.extended = s.updates.extended[extra:]
	}
	return reply, nil
}

// extension returns what an update extend was answered, if it was.
func (u *updates) extension(id string) (domain.ExtendReply, bool) {
	for _, e := range u.extended {
		if e.ID == id {
			return e.Reply, true
		}
	}
	return domain.ExtendReply{}, false
}

// goOn begins the execution that goes on from the one that an earlier workflow
// of the agent has ended with, whose carry the session takes over. The input is
// a client's: what is wrong with it is refused.
func (s *session) goOn(in domain.SessionInput) error {
	g := *in.GoOn
	if err := checkAgent(in); err != nil {
		return err
	}
	if err := s.resume(*in.Carry); err != nil {
		return err
	}
	if err := g.Budget.Check(); err != nil {
		return err
	}
	if !s.state.Status().Terminal() || s.state.Status() == domain.StatusCompleted {
		return domain.Errorf(domain.Denied, "extend: the execution is %s, so there is nothing to go on with", s.state.Status())
	}
	if s.copying = g.Copy; g.Copy != nil {
		// What is to be copied comes before all that this run says.
		log, err := domain.LogAt(g.Copy.Log.Length, g.Copy.Log.Digest).Join(in.Carry.Entries...)
		if err != nil {
			return err
		}
		s.log, s.stored, s.sketch = log, g.Copy.Log.Length, nil
	}
	if err := s.edits.Check(s.log.Len()); err != nil {
		return err
	}
	s.next = &beginning{budget: g.Budget, goesOn: true}
	return nil
}

// copyMessages writes the messages that the earlier workflow holds to storage,
// where they are too long to be carried.
func (s *session) copyMessages() {
	if s.copying == nil || s.stopped() || s.resolved == nil {
		return
	}
	if !s.resolved.Storage {
		s.contextLost(domain.Errorf(domain.TooLarge,
			"the messages of the execution that ended are too long to be carried, and the workers have no storage"))
		return
	}
	s.note("copying the conversation")
	segment, err := await(s.activity(recording, "copy the transcript", 0), domain.Record, *s.copying)
	if err != nil {
		if !s.stopped() {
			s.contextLost(failureOf(err))
		}
		return
	}
	s.segments, s.copying = append(slices.Clip(s.segments), segment), nil
	s.below = s.segments
}
