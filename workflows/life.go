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

// availability is what of the agent decides which commands it takes.
func (c *commands) availability() contract.Availability {
	return contract.Availability{
		ID: c.budget.called(), Named: c.session.in.Name != "", Open: true, Closed: c.mail.Closed(), Number: max(c.agent.state.ExecutionCount, 1),
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
	return domain.Deniedf("%s: the session is suspended since %s%s; unsuspend it first", what, suspended.Since.Format(time.RFC3339), why)
}

// checkMeant refuses what is for another execution than the one in progress.
func (c *commands) checkMeant(id domain.ExecutionID) error {
	if id.IsZero() || c.agent.state.HasActiveExecution() && id == c.agent.state.Execution.ID {
		return nil
	}
	return domain.Deniedf("execution_id: %s is not in progress", id)
}

// checkBeginning refuses what no execution can begin with as the session stands.
func (c *commands) checkBeginning(request contract.SendRequest) error {
	err := cmp.Or(c.budget.checkSessionLeft(), request.Options.Check(c.agent.state))
	if err == nil {
		err = cmp.Or(c.checkCost(request), c.config.checkShown(request.Options))
	}
	if err != nil || request.Definition == nil {
		return err
	}
	if conflicts := c.config.upcoming().Definition.Conflicts(*request.Definition); conflicts != "" {
		return domain.Deniedf("%s; `update` takes it over from the next execution on, or leave it out", conflicts)
	}
	return nil
}

// checkCost refuses a limit of money that would end the execution at once.
func (c *commands) checkCost(request contract.SendRequest) error {
	model, r := *cmp.Or(request.Model, c.session.guards.Primary, new(c.agent.state.LLMConfig)), c.config.Resolved
	if r == nil || !r.Definition.Model.Equal(model) {
		return nil
	}
	return r.CheckPriced(c.config.upcoming().Definition.Budget.CappedBy(request.Budget).CappedBy(c.budget.upcomingAccount().Budget), model)
}

// idle waits between executions until there is something to do. A session that has been idle for as long as its
// definition allows, since the end of its newest execution or since people last spoke to it after that, closes itself,
// unless a later one of its name would not know of its unresolved calls, or somebody has suspended it. What begins its time
// anew is seen as the timer goes off.
func (s *session) idle() {
	timeout, since := s.config.Definition.IdleTimeout, s.agent.state.Execution.CompletedAt
	if spoken := s.mail.Updates.Spoken(); spoken.After(since) {
		since = spoken
	}
	left := since.Add(timeout).Sub(s.agent.now())
	switch {
	case timeout == 0 || !s.agent.state.Status().Terminal():
		s.mail.WaitUntil(func() bool { return s.mail.Woken() || s.hasIdleWork() })
	case left > 0:
		s.mail.Idle(left, s.hasIdleWork)
	case s.staysOpen():
		s.agent.note(fmt.Sprintf("idle for longer than %s, and open all the same: it is suspended, or calls of unknown outcome are unresolved", timeout))
		s.mail.WaitUntil(func() bool { return s.mail.Woken() || s.hasIdleWork() || !s.staysOpen() })
	default:
		s.mail.Close()
	}
}

// hasIdleWork reports whether there is something to do while the session is idle.
func (s *session) hasIdleWork() bool {
	return s.run.wantsNext() || s.records.recordsPosition()
}

func (s *session) staysOpen() bool {
	return len(s.agent.state.UnresolvedOutcomes()) > 0 || s.mail.Settings.Suspended != nil
}
