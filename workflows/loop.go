package workflows

import (
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/hook"
)

// runExecution begins the next execution, or goes on with the one in progress,
// and runs it to its end or to where the run has to hand over.
func (s *session) runExecution() {
	fresh := !s.state.HasActiveExecution()
	if fresh {
		s.begin()
	}
	s.watchTime()
	if !s.stopped() {
		s.resolve()
		s.copyMessages()
	}
	if fresh {
		s.fire(domain.TriggerBeforeExecution)
	}
	if !fresh || s.goesOn() {
		s.loop()
	}
	if !s.handOver {
		s.finish()
	}
}

// loop runs steps until something stops it, or the run has to hand over.
func (s *session) loop() {
	for {
		if s.outgrown() && !s.stopped() {
			if s.handOver = s.carriable(); s.handOver {
				return
			}
		}
		if !s.mayBegin() {
			return
		}
		s.runStep()
		if s.concluded() {
			return
		}
	}
}

// begin starts the execution that waits.
func (s *session) begin() {
	next := *s.next
	s.next = nil
	if s.state.ExecutionCount() > 0 {
		s.past = append(s.past, chapter{s.state, s.ledger, s.priced()})
	}
	s.ledger, s.guarded.Calls, s.guarded.Repeated = ledger{}, domain.Digest{}, 0
	s.guarded.Invalid, s.guarded.Misguided, s.guarded.Rewritten = 0, 0, false
	s.restoreModel()
	// A limit holds for as long as the workers have it.
	s.outdated = s.resolved != nil && s.resolved.RateLimit != nil
	if next.model != nil && !next.model.Equal(s.state.LLMConfig()) {
		s.state = s.state.WithLLMConfig(*next.model, s.now())
		s.resolved = nil
	}
	budget := s.in.Definition.Budget.CappedBy(next.budget)
	if next.goesOn {
		budget = next.budget
		s.tally.prior = s.inherit()
		s.state = must(s.state.WithOriginHere(s.now()))
	} else {
		s.forgetTraces()
	}
	id := s.nextExecutionID()
	s.work, s.cancelWork = workflow.WithCancel(s.root)
	s.stop, s.finishing = stopping{}, false
	s.tally.toolCalls, s.tally.waited = 0, 0
	s.state = must(s.state.BeginExecution(id, budget, s.now()))
	if next.goesOn {
		s.nudgeOn(id)
	} else {
		s.joinPrompt(id, next.prompt)
	}
	if s.state.ExecutionCount() > 1 {
		// Whoever started the workflow has published the first.
		s.publish(domain.Outcome{Status: domain.StatusInProgress})
	}
	execution, _ := s.state.Execution()
	origin, _ := execution.Origin()
	s.tell(domain.AgentExecutionStarted{EventHeader: s.head(), Number: s.state.ExecutionCount(), Origin: origin.ExecutionID})
}

// forgetTraces makes what the executions before did on their way invisible, as
// far as the compiler does not show it all the same.
func (s *session) forgetTraces() {
	before := int64(0)
	if s.resolved != nil {
		before = s.rawInput()
	}
	s.tally.prior = domain.Spent{}
	if s.in.Definition.Compiler.ShowsTraces() {
		s.tally.visible += s.tally.traces
	} else {
		s.guarded.Results, s.guarded.ResultTokens = 0, 0
		s.forgetSketch()
	}
	s.tally.traces = 0
	if s.resolved != nil {
		s.shrunk(before)
	}
}

// inherit is what the execution that goes on finds spent of its budget. Where
// the one before was another workflow's, the carry has said so.
func (s *session) inherit() domain.Spent {
	if s.in.GoOn != nil {
		return s.tally.prior
	}
	return s.spent()
}

// nextExecutionID derives the id of the execution that would begin next.
func (s *session) nextExecutionID() domain.ExecutionID {
	return s.in.AgentID.Execution(s.info.FirstRunID, s.state.ExecutionCount()+1)
}

// fire runs the hooks of a trigger at which nothing but the state is at hand.
func (s *session) fire(trigger domain.Trigger) { fire(s, trigger, hook.Nothing{}) }

// mayBegin reports whether the next step may begin: hooks have a say, then the
// budget, then the check. A stop here leaves no step behind.
func (s *session) mayBegin() bool {
	s.hold()
	if !s.stopped() {
		s.fire(domain.TriggerBeforeStep)
		if (len(s.resolved.Hooks) > 0 || s.guarded.Fallback > 0) && s.stale() {
			s.resolve()
		}
		s.guardBudget()
	}
	return s.goesOn()
}

// goesOn is the check between steps: only signals stop, and a request to go on
// is used up.
func (s *session) goesOn() bool {
	s.heed()
	state, stop := s.state.EvaluateBetween(s.now())
	s.evaluated(state, stop, !stop)
	return !stop
}

// stopped reports whether a signal stops the loop before the next step, unless
// something has asked to go on.
func (s *session) stopped() bool {
	s.heed()
	return s.state.Continuation().Stops()
}

// concluded evaluates the step that just ended: is it the last?
func (s *session) concluded() bool {
	s.heed()
	state, stop := s.state.Evaluate(s.now())
	s.evaluated(state, stop, false)
	s.step = nil
	return stop
}

// fail ends the execution with an error of its own.
func (s *session) fail(err *domain.Error) {
	s.state = must(s.state.WithExecutionError(err, s.now()))
	s.announce()
}

// signal adds a reason to stop.
func (s *session) signal(reason domain.StopReason, source, message string) {
	s.stopFor(domain.StopSignal{Reason: reason, Source: source, Message: message})
}

func (s *session) stopFor(signal domain.StopSignal) {
	s.state = must(s.state.WithStopSignal(signal, s.now()))
	s.announce()
}

// must unwraps a change of state that the loop's own order makes possible. An
// error here is a fault of the loop: the panic fails the workflow task, which
// keeps the execution as it is until a mended worker comes.
func must(state domain.AgentState, err error) domain.AgentState {
	if err != nil {
		panic(err)
	}
	return state
}
