package workflows

import (
	"cmp"
	"fmt"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// busy reports whether an execution is in progress or about to begin.
func (s *session) busy() bool { return s.mail.Posted() || s.agent.state.HasActiveExecution() }

// headMemo is where the agent stands now. An execution that is about to begin counts. Of one that is over the rest stays as it is.
func (s *session) headMemo() contract.HeadMemo {
	head := s.run.head
	if head.Number, head.Suspended = s.agent.state.ExecutionCount, s.mail.Settings.Suspended != nil; s.mail.Posted() {
		head.Number++
	}
	if s.busy() {
		head.Paused = s.mail.Settings.Paused
		_, within := s.agent.state.CurrentStepStartedAt()
		head.Stopping = within && s.mail.Stopping()
	}
	return head
}

// publishHead has the memo say where the agent stands now.
func (s *session) publishHead() { s.run.publishHead(s.headMemo()) }

// availability is what of the agent decides which commands it takes.
func (c *commands) availability() contract.Availability {
	return contract.Availability{
		ID: c.session.budget.called(), Named: c.session.in.Name != "", Open: true, Closed: c.mail.Closed(), Number: max(c.agent.state.ExecutionCount, 1),
		Busy: c.session.busy(), InProgress: c.agent.state.HasActiveExecution() && !c.mail.Ending(),
	}
}

// notSuspended refuses what a suspended session does not take.
func (c *commands) notSuspended(what string) error {
	suspended := c.mail.Settings.Suspended
	if suspended == nil {
		return nil
	}
	why := ""
	if suspended.Reason != "" {
		why = fmt.Sprintf(" (%s)", domain.Shorten(suspended.Reason, 200))
	}
	return domain.Errorf(domain.Denied, "%s: the session is suspended since %s%s; unsuspend it first", what, suspended.Since.Format(time.RFC3339), why)
}

// checkMeant refuses what is for another execution than the one in progress.
func (c *commands) checkMeant(id domain.ExecutionID) error {
	if id.IsZero() || c.agent.state.HasActiveExecution() && id == c.agent.state.Execution.ID {
		return nil
	}
	return domain.Errorf(domain.Denied, "execution_id: %s is not in progress", id)
}

// checkBeginning refuses what no execution can begin with as the session stands.
func (c *commands) checkBeginning(request contract.SendRequest) error {
	err := cmp.Or(c.session.budget.checkSessionLeft("send"), request.Options.Check(c.agent.state))
	if err == nil {
		err = cmp.Or(c.checkCost(request), c.config.checkShown(request.Options))
	}
	if err != nil || request.Definition == nil {
		return err
	}
	if conflicts := c.config.upcoming().Definition.Conflicts(*request.Definition); conflicts != "" {
		return domain.Errorf(domain.Denied, "%s; `update` takes it over from the next execution on, or leave it out", conflicts)
	}
	return nil
}

// checkCost refuses a limit of money that would end the execution at once.
func (c *commands) checkCost(request contract.SendRequest) error {
	model, r := *cmp.Or(request.Model, c.session.guards.Primary, new(c.agent.state.LLMConfig)), c.config.Resolved
	if r == nil || !r.Definition.Model.Equal(model) {
		return nil
	}
	return r.CheckPriced(c.config.upcoming().Definition.Budget.CappedBy(request.Budget).CappedBy(c.session.budget.upcomingAccount().Budget), model)
}

// idleTime is how long an idle session stays open, and since when it is idle: the end of its newest execution, or when people
// last spoke to it after that. A timeout of zero: for as long as it likes; then since says nothing.
func (s *session) idleTime() (timeout time.Duration, since time.Time) {
	if !s.agent.state.Status().Terminal() {
		return 0, time.Time{}
	}
	since = s.agent.state.Execution.CompletedAt
	if spoken := s.mail.SpokenSince(); !spoken.IsZero() {
		since = spoken
	}
	return s.config.Definition.IdleTimeout, since
}

// idle waits between executions until there is something to do. A session that has been idle for as long as its
// definition allows closes itself, unless a later one of its name would not know of its unresolved calls, or somebody
// has suspended it. What begins its time anew is seen as the timer goes off.
func (s *session) idle() {
	timeout, since := s.idleTime()
	if timeout == 0 {
		s.mail.WaitUntil(func() bool { return s.mail.Woken() || s.hasIdleWork() })
		return
	}
	if left := since.Add(timeout).Sub(s.agent.now()); left > 0 {
		s.mail.Idle(left, s.hasIdleWork)
		return
	}
	if s.staysOpen() {
		s.agent.note(fmt.Sprintf("idle for longer than %s, and open all the same: it is suspended, or calls of unknown outcome are unresolved", timeout))
		s.mail.WaitUntil(func() bool { return s.mail.Woken() || s.hasIdleWork() || !s.staysOpen() })
		return
	}
	s.mail.Close()
}

// hasIdleWork reports whether there is something to do while the session is idle.
func (s *session) hasIdleWork() bool {
	return s.handover().wantsNewRun() || s.records.recordsPosition()
}

func (s *session) staysOpen() bool {
	return len(s.agent.state.UnresolvedOutcomes()) > 0 || s.mail.Settings.Suspended != nil
}
