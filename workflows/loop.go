package workflows

import (
	"cmp"
	"strings"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/workflows/internal/mailbox"
)

// runExecution begins the next execution, or goes on with the one in progress, and runs it to its end. It answers false where
// the run ends first.
func (s *session) runExecution() bool {
	if s.enterLoop() {
		s.runSteps()
	}
	if s.run.successor != nil {
		return false
	}
	s.finish()
	return true
}

// enterLoop reports whether there is anything for the loop to do.
func (s *session) enterLoop() bool {
	fresh := !s.agent.state.HasActiveExecution()
	if fresh {
		s.beginExecution()
		s.mail.ObserveCancellation()
	}
	s.mail.WatchTime()
	if admission, ok := s.mail.Admit(mailbox.BetweenSteps); ok {
		s.resolve(admission)
		s.run.checkCarried()
		s.run.copyMessages()
	}
	if fresh {
		s.fire(domain.TriggerBeforeExecution)
	}
	return !fresh || s.goesOn()
}

// runSteps runs one step after another of the execution in progress, until none may follow, or until the run is ready to
// continue as new: then it has a successor, and the execution goes on in the next run. Where that fails the steps go on here,
// unless the failure ends the execution.
func (s *session) runSteps() {
	for {
		if s.run.outgrown() && (s.run.triesStorage() || s.run.nearBounds() || s.mail.Updates.Pressed()) && s.run.prepare() {
			return
		}
		if !s.prepareStep() {
			return
		}
		s.run.tellBuild()
		s.runStep()
		s.mail.DrainSignals()
		s.goOnForMessages()
		if s.agent.concludeStep() {
			return
		}
	}
}

// runStep runs one step: the hooks before the inference, the inference unless a hook stopped the step, the tool calls that it asked for,
// the hooks and guards after the step. The step is kept in the state as it goes, and completed there though it failed; then
// another agent takes over where a call handed the conversation over. concludeStep decides whether another step follows.
func (s *session) runStep() {
	step := s.startStep()
	if step.openRequest() {
		newInference(step, nil).run()
	}
	if len(step.calls) > 0 {
		step.keep()
		step.runTools()
	}
	step.addWhatWaited()
	fire(step, domain.TriggerAfterStep, hook.Nothing{})
	s.guards.check(step)
	s.agent.completeStep(&step.content.AgentStep)
	s.takeOver(step.content.Number, step.handoff)
}

// openRequest makes what the model is asked in this step, and reports whether it is asked: a hook may have stopped the step. From
// then on what hooks say waits until the step's calls have results.
func (t *stepRun) openRequest() bool {
	t.withholdToolsAtTheEnd()
	t.tellResolvedCalls()
	t.request = fire(t, domain.TriggerBeforeInference, t.request)
	t.interjecting = false
	if t.stopped {
		t.content.cutOff(hookBefore, contract.ModelReply{})
	}
	return !t.stopped
}

func (s *session) beginExecution() {
	next := s.mail.Take()
	if s.agent.state.ExecutionCount > 0 {
		s.archive.keep(s.newest())
	}
	if restored := s.guards.forget(); restored != nil {
		s.agent.useModel(*restored)
	}
	s.adoptDefinition()
	if next.Model != nil && !next.Model.Equal(s.agent.state.LLMConfig) {
		s.agent.useModel(*next.Model)
	}
	budget, prior := contract.BudgetOf(s.config.Definition, next.Budget, s.in.Parent), domain.Spent{}
	if next.GoesOn {
		budget, prior = next.Budget, s.agent.Spent()
		if s.in.GoOn != nil { // the one before was another workflow's, and the carry has said it
			prior = s.in.Carry.Prior
		}
	}
	s.records.forgetPosition()
	id := s.nextExecutionID()
	s.mail.Begin()
	s.agent.enterExecution(id, budget, next.GoesOn, prior, next.Options)
	s.config.showTrusted()
	s.conversation.begin(s.agent.state, next)
	if s.agent.state.ExecutionCount > 1 {
		// Whoever started the workflow has published the first.
		s.publish(contract.Outcome{Status: domain.StatusInProgress})
	}
	s.run.publishHead()
	by := cmp.Or(next.Starter, domain.Starter{Program: next.By}).Bounded()
	started := domain.AgentExecutionStarted{Number: s.agent.state.ExecutionCount, By: by}
	if origin := s.agent.state.Execution.Origin; origin != nil {
		started.Origin = origin.ExecutionID
	}
	if given := next.Options; given != nil {
		started.GivenMessages, started.GivenMetadata = len(given.Messages), domain.Shorten(strings.Join(given.Notes(), ","), maxEventText)
	}
	s.agent.emit(domain.EventExecutionStarted, started)
	if next.Waited != nil {
		s.emitReceived(*next.Waited, true)
	}
	s.agent.announceResolved()
	s.openWaits.publish()
	workflow.GetLogger(s.root).Info("execution begins", "execution", id, "number", s.agent.state.ExecutionCount,
		"client", by.Client, "identity", by.Identity, "schedule", by.Schedule, "parent", by.Parent)
}

// prepareStep does what comes before a step, and reports whether the step may begin: messages that have waited join, the
// hooks run, then the budget is checked, then goesOn decides. A stop here leaves no step behind.
func (s *session) prepareStep() bool {
	if admission, ok := s.mail.Admit(mailbox.ForStep); ok {
		s.hear()
		s.fire(domain.TriggerBeforeStep)
		if (len(s.config.Resolved.Hooks) > 0 || s.guards.Fallback > 0) && s.config.stale() {
			s.resolve(admission)
		}
		s.budget.guard()
	}
	return s.goesOn()
}

// goesOn takes in the signals that have arrived, and makes the check between steps.
func (s *session) goesOn() bool {
	s.mail.DrainSignals()
	return s.agent.checkBetweenSteps()
}
