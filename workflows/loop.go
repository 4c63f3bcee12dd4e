package workflows

import (
	"everstep/domain"
	"everstep/domain/hook"
	"everstep/workflows/internal/mailbox"
)

// runExecution begins the next execution, or goes on with the one in progress,
// and runs it to its end or to that of the run.
func (s *session) runExecution() {
	fresh := !s.state.HasActiveExecution()
	if fresh {
		s.beginExecution()
	}
	s.mail.WatchTime()
	if permit, ok := s.mail.Permit(mailbox.BetweenSteps); ok {
		s.resolve(permit)
		s.copyMessages()
	}
	if fresh {
		s.fire(domain.TriggerBeforeExecution)
	}
	if !fresh || s.goesOn() {
		s.loop()
	}
	if !s.run.ends() {
		s.finish()
	}
}

// loop runs steps until something stops it, or the run has to continue as new.
func (s *session) loop() {
	for {
		if s.outgrown() {
			if permit, ok := s.mail.Permit(mailbox.BetweenSteps); ok && s.carriable(permit) {
				return
			}
		}
		if !s.mayBegin() {
			return
		}
		s.runStep()
		s.mail.Drain()
		over := s.concluded()
		if s.step = nil; over {
			return
		}
	}
}

// beginExecution begins the one that waits.
func (s *session) beginExecution() {
	next := s.mail.Take()
	ended := s.restart()
	if s.state.ExecutionCount() > 0 {
		s.archive.keep(endedExecution{s.state, ended, s.priced()})
	}
	s.guarded.Calls, s.guarded.Repeated = domain.Digest{}, 0
	s.guarded.Invalid, s.guarded.Misguided, s.guarded.Rewritten = 0, 0, false
	s.restoreModel()
	// A limit holds for as long as the workers have it.
	s.outdated = s.resolved != nil && s.resolved.RateLimit != nil
	if next.Model != nil && !next.Model.Equal(s.state.LLMConfig()) {
		s.useModel(*next.Model)
		s.resolved = nil
	}
	budget := s.in.Definition.Budget.CappedBy(next.Budget)
	prior := domain.Spent{}
	if next.GoesOn {
		budget, prior = next.Budget, s.inherit()
		s.startHere()
	}
	id := s.nextExecutionID()
	s.mail.Begin()
	s.agent.begin(id, budget, prior)
	s.conversation = s.conversation.WithExecution(s.state.Chain(), next.GoesOn, s.resolved)
	if next.GoesOn {
		s.conversation = s.conversation.WithGoOn(id, s.now())
	} else {
		s.conversation = s.conversation.WithPrompt(id, next.Prompt, s.now())
	}
	if s.state.ExecutionCount() > 1 {
		// Whoever started the workflow has published the first.
		s.publish(domain.Outcome{Status: domain.StatusInProgress})
	}
	execution, _ := s.state.Execution()
	origin, _ := execution.Origin()
	s.emit(domain.AgentExecutionStarted{EventHeader: s.head(), Number: s.state.ExecutionCount(), Origin: origin.ExecutionID})
}

// inherit is what the execution that goes on finds spent of its budget. Where
// the one before was another workflow's, the carry has said so.
func (s *session) inherit() domain.Spent {
	if s.in.GoOn != nil {
		return s.prior
	}
	return s.Spent()
}

// fire runs the hooks of a trigger at which nothing but the state is at hand.
func (s *session) fire(trigger domain.Trigger) { fire(s, trigger, hook.Nothing{}) }

// mayBegin reports whether the next step may begin: hooks have a say, then the
// budget, then the check. A stop here leaves no step behind.
func (s *session) mayBegin() bool {
	if permit, ok := s.mail.Permit(mailbox.ForStep); ok {
		s.fire(domain.TriggerBeforeStep)
		if (len(s.resolved.Hooks) > 0 || s.guarded.Fallback > 0) && s.stale() {
			s.resolve(permit)
		}
		s.guardBudget()
	}
	return s.goesOn()
}

// goesOn is the check between steps, after all that has arrived.
func (s *session) goesOn() bool {
	s.mail.Drain()
	return s.mayGoOn()
}
