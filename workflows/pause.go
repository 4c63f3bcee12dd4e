package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// A pause lets nothing new start: no inference and no tool call.
type pause struct {
	on bool
	// since is when the loop began to wait; zero while something is under way.
	since time.Time
}

// hold waits while the execution is paused, unless something stops it. The time
// counts as time spent waiting for people.
func (s *session) hold() {
	s.heed()
	if !s.pause.on || s.state.Continuation().Stops() {
		return
	}
	s.pause.since = s.now()
	s.stop.silenceSeconds()
	doing, since := s.doing, s.since
	s.note("paused")
	for s.pause.on && !s.state.Continuation().Stops() {
		s.wait(s.released)
		s.heed()
	}
	s.tally.waited += s.now().Sub(s.pause.since)
	s.pause.since = time.Time{}
	s.doing, s.since = doing, since
	s.watchTime()
}

// released reports whether a pause may be over: it was ended, or something
// wants to be heeded or was.
func (s *session) released() bool {
	return !s.pause.on || s.disturbed() || s.state.Continuation().Stops()
}

// checkPause refuses what is not about the execution in progress.
func (s *session) checkPause(_ workflow.Context, request domain.PauseRequest) error {
	execution, _ := s.state.Execution()
	switch {
	case !s.state.HasActiveExecution() || s.finishing:
		return refusal(domain.Errorf(domain.Denied, "pause, resume: no execution is in progress"))
	case !request.ExecutionID.IsZero() && request.ExecutionID != execution.ID():
		return refusal(domain.Errorf(domain.Denied, "execution_id: %s is not in progress; %s is", request.ExecutionID, execution.ID()))
	}
	return nil
}

func (s *session) pauseExecution(workflow.Context, domain.PauseRequest) (domain.PauseReply, error) {
	return s.paused(true), nil
}

func (s *session) resumeExecution(workflow.Context, domain.PauseRequest) (domain.PauseReply, error) {
	return s.paused(false), nil
}

func (s *session) paused(on bool) domain.PauseReply {
	s.updates.taken++
	changed := s.pause.on != on
	s.pause.on = on
	execution, _ := s.state.Execution()
	return domain.PauseReply{ExecutionID: execution.ID(), Number: s.state.ExecutionCount(), Changed: changed}
}
