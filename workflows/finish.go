package workflows

import (
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

func (s *session) finish() {
	s.mail.Finish()
	if err := executionError(s.agent.state); err != nil {
		fire(s.between(), domain.TriggerOnError, hook.Failure{Error: *err})
	}
	s.fire(domain.TriggerOnStop)
	if len(s.agent.state.StopSignals()) == 0 {
		s.agent.Signal(domain.Done())
	}
	signal, _ := s.agent.state.StopSignal()
	s.agent.emit(domain.EventExecutionStopped, domain.StopEvent{Reason: signal.Reason, Source: domain.Shorten(signal.Source, maxEventText)})
	counted := len(s.agent.state.StopSignals())
	s.fire(domain.TriggerAfterExecution)
	s.agent.complete(counted)
	outcome := describe(s.agent.state, s.config.priced())
	outcome.Unread = len(s.mail.Waiting())
	s.archive.conclude(&outcome)
	event, ended := domain.EventExecutionCompleted, domain.ExecutionEnded{
		Status: outcome.Status, StopReason: outcome.StopReason, Kind: outcome.Kind, Code: outcome.Code,
		Steps: outcome.Steps, Usage: outcome.Usage, CostNanoUSD: outcome.CostNanoUSD,
	}
	if err := executionError(s.agent.state); err != nil {
		event, ended.Status, ended.Source = domain.EventExecutionFailed, "", domain.Shorten(err.Source, maxEventText)
	}
	s.agent.emit(event, ended)
	s.publish(outcome)
	upsertMemo(s.root, map[string]any{contract.MemoOutcome: outcome}) // where clients wait for it
	s.mail.End()
	s.agent.note("ended")
}

// describe is how an execution ends, or where it stands.
func describe(state domain.AgentState, priced bool) contract.Outcome {
	reason, _ := state.StopReason()
	outcome := contract.Outcome{
		AgentID: state.AgentID, ExecutionID: state.Execution.ID, Number: state.ExecutionCount, Status: state.Status(), StopReason: reason,
		Steps: state.StepCount(), Usage: state.Usage(), CostNanoUSD: state.CostNanoUSD(), Priced: priced,
		UnknownOutcomes: unknownAtEnd(state), EffectCounts: state.Effects(),
	}
	if err := executionError(state); err != nil {
		outcome.Kind, outcome.Code = err.Kind, err.Code
	}
	if account, has := state.Session(); has {
		signal, _ := state.StopSignal()
		outcome.SessionSpent, outcome.SessionLimit = &account.Spent, signal.Source == domain.SourceSessionBudget && reason.OfLimit()
	}
	return outcome
}

func endOf(state domain.AgentState) contract.End {
	end := contract.End{Answer: state.Answer(), SaidLast: saidInstead(state), Error: executionError(state)}
	if signal, ok := state.StopSignal(); ok && state.Status() != domain.StatusCompleted {
		end.Signal = &signal
	}
	return end
}

// withAnswer adds to an outcome what its execution came to in words, where that is short.
func withAnswer(outcome contract.Outcome, state domain.AgentState) contract.Outcome {
	if end := endOf(state); domain.CheckFits("end", end, domain.MaxEnd) == nil {
		outcome.End = &end
	}
	return outcome
}

// result is what the workflow returns as the session ends for good: the outcome of the newest execution, with its answer or
// error in words where these are short. A sub-agent's has the report for the agent that started it. That of a workflow which
// was started only to resolve calls of an agent that had ended has those that are resolved.
func (s *session) result() *contract.Outcome {
	state := s.agent.state
	out := contract.Outcome{AgentID: s.in.AgentID, Status: domain.StatusPending}
	if s.archive.outcome != nil {
		out = withAnswer(*s.archive.outcome, state)
	}
	if s.in.Parent != nil {
		out.Report = &contract.Report{
			Answer: domain.HeadAndTail(state.Answer(), maxReport), SaidLast: saidInstead(state), Spent: s.agent.Spent(), StoreDown: s.records.why != "",
		}
		if err := executionError(state); err != nil {
			out.Report.Error = contract.Bounded(err)
		}
	}
	out.Closed = true
	if s.in.ResolveOutcome != nil {
		out.ResolvedOutcomes = state.ResolvedOutcomes()
	}
	return &out
}

// maxReport bounds what the agent that started a sub-agent reads of its answer, in bytes when encoded.
const maxReport = domain.MaxToolResult - 12<<10 // beside what else the result of the call says

// saidInstead is what the model has said last, where there is no answer.
func saidInstead(state domain.AgentState) string {
	if strings.TrimSpace(state.Answer()) != "" {
		return ""
	}
	return state.SaidLast()
}

// executionError is what makes an execution fail, if anything does: the error
// whose signal counts, else the execution's own, else the newest, else all that
// the signal says.
func executionError(state domain.AgentState) *domain.Error {
	signal, _ := state.StopSignal()
	if signal.Reason != domain.ErrorForbade {
		return nil
	}
	found := domain.Error{Kind: domain.Internal, Message: signal.Message, Source: signal.Source}
	for _, err := range state.Errors() {
		if found = err; err.Message == signal.Message && err.Source == signal.Source {
			return &found
		}
	}
	if own := state.Execution.Error; own != nil {
		found = *own
	}
	return &found
}

func (s *session) publish(outcome contract.Outcome) {
	var updates []temporal.SearchAttributeUpdate
	for _, name := range s.in.Attributes {
		key := temporal.NewSearchAttributeKeyKeyword(name)
		switch {
		case name == contract.AttributeAgentStatus:
			updates = append(updates, key.ValueSet(string(outcome.Status)))
		case name == contract.AttributeStopReason && outcome.StopReason == "":
			updates = append(updates, key.ValueUnset())
		case name == contract.AttributeStopReason:
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
