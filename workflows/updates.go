package workflows

import (
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// updates remembers the newest updates, so that one that is repeated after
// continue-as-new is answered and not done again.
type updates struct {
	answered []domain.AnsweredUpdate
	extended []domain.ExtendedUpdate
	// taken counts those of this run; the server takes 2,000 of a run.
	taken int
}

const (
	remembered = 100
	manyTaken  = 1800
)

// find returns what an update was answered, if it was.
func (u *updates) find(id string) (domain.SendReply, bool) {
	for _, a := range u.answered {
		if a.ID == id {
			return a.Reply, true
		}
	}
	return domain.SendReply{}, false
}

// remember keeps an answer.
func (u *updates) remember(id string, reply domain.SendReply) {
	u.answered = append(slices.Clip(u.answered), domain.AnsweredUpdate{ID: id, Reply: reply})
	if extra := len(u.answered) - remembered; extra > 0 {
		u.answered = u.answered[extra:]
	}
}

// acceptUpdates registers what can be asked of the session.
func (s *session) acceptUpdates() error {
	if err := accept(s.root, domain.UpdateSend, s.checkSend, s.send); err != nil {
		return err
	}
	if err := accept(s.root, domain.UpdateExtend, s.checkExtend, s.extend); err != nil {
		return err
	}
	if err := accept(s.root, domain.UpdatePause, s.checkPause, s.pauseExecution); err != nil {
		return err
	}
	if err := accept(s.root, domain.UpdateResume, s.checkPause, s.resumeExecution); err != nil {
		return err
	}
	return accept(s.root, domain.UpdateClose, s.checkClose, s.closeSession)
}

// checkSend refuses a message that cannot begin an execution.
func (s *session) checkSend(ctx workflow.Context, request domain.SendRequest) error {
	if _, repeated := s.updates.find(workflow.GetCurrentUpdateInfo(ctx).ID); repeated {
		return nil
	}
	if err := s.idleFor("send"); err != nil {
		return refusal(err)
	}
	if !request.ExecutionID.IsZero() {
		return refusal(domain.Errorf(domain.Denied, "execution_id: %s is not in progress", request.ExecutionID))
	}
	if err := checkBeginning(request.Prompt, request.Budget); err != nil {
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
func (s *session) idleFor(what string) error {
	switch {
	case s.in.Name == "":
		return domain.Errorf(domain.Denied, "%s: the agent has no name, so it takes one prompt and no more; start another with --id NAME", what)
	case s.closing:
		return domain.Errorf(domain.Denied, "%s: the session is closed", what)
	case s.next != nil || s.state.HasActiveExecution():
		return domain.Errorf(domain.Denied, "%s: execution %d is in progress; wait for it or stop it", what, s.state.ExecutionCount())
	}
	return nil
}

// sameDefinition refuses a definition other than the session's.
func (s *session) sameDefinition(given *domain.Definition) error {
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
func (s *session) send(ctx workflow.Context, request domain.SendRequest) (domain.SendReply, error) {
	id := workflow.GetCurrentUpdateInfo(ctx).ID
	if reply, repeated := s.updates.find(id); repeated {
		return reply, nil
	}
	s.updates.taken++
	reply := domain.SendReply{
		ExecutionID: s.nextExecutionID(), Number: s.state.ExecutionCount() + 1,
		RunID: s.info.WorkflowExecution.RunID, Began: true,
	}
	s.next = &beginning{prompt: request.Prompt, model: request.Model, budget: request.Budget}
	s.wake()
	s.updates.remember(id, reply)
	return reply, nil
}

// shut lets no further execution begin.
func (s *session) shut() {
	s.closing = true
	s.wake()
}

// wake cuts off what an idle session may be at: writing its transcript away.
func (s *session) wake() {
	if !s.state.HasActiveExecution() {
		s.cancelWork()
	}
}

// checkClose refuses to close a session that is at work.
func (s *session) checkClose(workflow.Context, domain.CloseRequest) error {
	return refusal(s.idleFor("close"))
}

// closeSession ends the session.
func (s *session) closeSession(workflow.Context, domain.CloseRequest) (domain.CloseReply, error) {
	s.updates.taken++
	s.shut()
	return domain.CloseReply{Executions: s.state.ExecutionCount()}, nil
}

// awaitHandlers lets every handler answer before the run ends.
func (s *session) awaitHandlers() {
	s.wait(func() bool { return workflow.AllHandlersFinished(s.root) })
}
