package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// runExecution begins the next execution, or goes on with the one in progress,
// and runs it to its end or to where the run has to hand over.
func (s *session) runExecution() {
	if !s.state.HasActiveExecution() {
		s.begin()
	}
	s.watchTime()
	if !s.stopped() && !s.exhausted() {
		s.resolve()
	}
	for !s.stopped() && !s.limited() {
		if s.outgrown() {
			if s.handOver = s.carriable(); s.handOver {
				return
			}
			continue
		}
		s.runStep()
		if s.concluded() {
			break
		}
	}
	s.finish()
}

// begin starts the execution that waits.
func (s *session) begin() {
	next := *s.next
	s.next = nil
	if s.state.ExecutionCount() > 0 {
		s.past = append(s.past, s.state)
	}
	if next.model != nil && !next.model.Equal(s.state.LLMConfig()) {
		s.state = s.state.WithLLMConfig(*next.model, s.now())
		s.resolved = nil
	}
	budget := s.in.Definition.Budget.CappedBy(next.budget)
	id := s.nextExecutionID()
	s.work, s.cancelWork = workflow.WithCancel(s.root)
	s.stop = stopping{}
	s.tally.toolCalls = 0
	if s.in.Definition.Compiler.ShowsTraces() {
		s.tally.visible += s.tally.traces
	}
	s.tally.traces, s.tally.read = 0, 0
	s.state = must(s.state.BeginExecution(id, budget, s.now()))
	s.joinPrompt(id, next.prompt)
	if s.state.ExecutionCount() > 1 {
		// Whoever started the workflow has published the first.
		s.publish(domain.Outcome{Status: domain.StatusInProgress})
	}
}

// nextExecutionID derives the id of the execution that would begin next.
func (s *session) nextExecutionID() domain.ExecutionID {
	return s.in.AgentID.Execution(s.info.FirstRunID, s.state.ExecutionCount()+1)
}

// resolve asks a worker what the definition means, once a session and again
// where its model changes. Every execution's budget is looked at, resolved or not.
func (s *session) resolve() {
	definition := s.in.Definition
	definition.Model = s.state.LLMConfig()
	if limit := s.budget().MaxCostNanoUSD; limit != nil {
		s.fail(domain.Errorf(domain.Invalid, "max_cost: %s has no price, so money cannot be limited; leave the limit out", definition.Model))
		return
	}
	if s.resolved != nil {
		return
	}
	s.note("resolving the definition")
	catalog, err := await(s.activity(listing, "resolve", 0), domain.ListTools, domain.CatalogRequest{Definition: definition})
	if err != nil {
		if !s.stopped() {
			s.fail(failureOf(err))
		}
		return
	}
	resolved := domain.Resolved{
		Definition: definition, Tools: catalog.Tools, Storage: catalog.Storage,
		MinOutputTokens: catalog.MinOutputTokens, Digest: catalog.Digest,
	}
	if err := checkFits("tools", resolved, domain.MaxResolved); err != nil {
		s.fail(err)
		return
	}
	s.resolved = &resolved
}

// stopped reports whether a signal stops the loop before the next step.
func (s *session) stopped() bool {
	s.heed()
	_, signalled := s.state.StopSignal()
	return signalled
}

// concluded evaluates the step that just ended: is it the last?
func (s *session) concluded() bool {
	s.heed()
	state, stop := s.state.Evaluate(s.now())
	s.state = state
	return stop
}

// fail ends the execution with an error of its own.
func (s *session) fail(err *domain.Error) {
	s.state = must(s.state.WithExecutionError(err, s.now()))
}

// signal adds a reason to stop.
func (s *session) signal(reason domain.StopReason, source, message string) {
	s.state = must(s.state.WithStopSignal(domain.StopSignal{Reason: reason, Source: source, Message: message}, s.now()))
}

// finish gives the execution its terminal status and says so to the outside.
func (s *session) finish() {
	s.stop.disarm()
	s.cancelWork()
	s.state = must(s.state.WithExecutionCompleted(s.now()))
	outcome := describe(s.in.AgentID, s.state)
	s.outcome = &outcome
	s.publish(outcome)
	if err := workflow.UpsertMemo(s.root, map[string]any{domain.MemoOutcome: outcome}); err != nil {
		workflow.GetLogger(s.root).Error("upsert memo", "error", err)
	}
	s.note("ended")
}

// describe sums up the newest execution of a state.
func describe(agent domain.AgentID, state domain.AgentState) domain.Outcome {
	execution, _ := state.Execution()
	reason, _ := state.StopReason()
	outcome := domain.Outcome{
		AgentID: agent, ExecutionID: execution.ID(), Number: state.ExecutionCount(),
		Status: state.Status(), StopReason: reason, Steps: state.StepCount(), Usage: state.Usage(),
	}
	if err := executionError(state); err != nil && outcome.Status == domain.StatusFailed {
		outcome.Code = err.Code
	}
	return outcome
}

// executionError is what made an execution fail: its own error, else the newest.
func executionError(state domain.AgentState) *domain.Error {
	if execution, ok := state.Execution(); ok {
		if own, failed := execution.Err(); failed {
			return &own
		}
	}
	if errs := state.Errors(); len(errs) > 0 {
		return &errs[len(errs)-1]
	}
	return nil
}

// publish sets the search attributes that the server knows.
func (s *session) publish(outcome domain.Outcome) {
	var updates []temporal.SearchAttributeUpdate
	for _, name := range s.in.Attributes {
		key := temporal.NewSearchAttributeKeyKeyword(name)
		switch name {
		case domain.AttributeAgentStatus:
			updates = append(updates, key.ValueSet(string(outcome.Status)))
		case domain.AttributeStopReason:
			if outcome.StopReason == "" {
				updates = append(updates, key.ValueUnset())
				continue
			}
			updates = append(updates, key.ValueSet(string(outcome.StopReason)))
		}
	}
	if len(updates) == 0 {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(s.root, updates...); err != nil {
		workflow.GetLogger(s.root).Error("upsert search attributes", "error", err)
	}
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
