package progress

import (
	"bytes"
	"encoding/json"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
)

// A ChildEnded says how a sub-agent ended: with an outcome, or why it has none.
type ChildEnded struct {
	Work
	Outcome *contract.Outcome
	Why     *domain.Error
	// Unstarted says that its workflow never began, so that it has spent nothing.
	Unstarted bool
}

// SourceSubagent is the source of what goes wrong with sub-agents, and SourceParent that of stops which the agent that
// started one hands on to it. They are recorded.
const (
	SourceSubagent = "subagent"
	SourceParent   = "parent"
)

// ChildLost is why a sub-agent has no outcome: how its workflow ended, and what that told.
func ChildLost(how RunEnd, told *domain.Error) *domain.Error {
	const granted = "; all that it was granted counts as spent"
	switch how {
	case Unstarted:
		return domain.CodedErrorf(domain.Internal, domain.CodeNotRun, "not run: a workflow of the sub-agent's id is running already")
	case Terminated:
		return domain.CodedErrorf(domain.Unavailable, domain.CodeTerminated, "the sub-agent's workflow was terminated from outside"+granted).From(SourceSubagent)
	case RanOut:
		return domain.CodedErrorf(domain.Unavailable, domain.CodeTimedOut, "the sub-agent's workflow ran out of the server's time"+granted).From(SourceSubagent)
	case CancelledByServer:
		return domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "the sub-agent's workflow was cancelled"+granted).From(SourceSubagent)
	case Completed, Continued, Aborted:
	}
	if told != nil {
		return domain.CodedErrorf(told.Kind, told.Code, "the sub-agent failed: %s"+granted, told.Message).From(SourceSubagent)
	}
	return domain.Errorf(domain.Internal, "the sub-agent's workflow failed"+granted).From(SourceSubagent)
}

// ChildWork is the work that a sub-agent is.
func ChildWork(in contract.SessionInput) Work {
	p := *in.Parent
	arguments, _ := json.Marshal(p.Spawn(in.Prompt)) // texts cannot fail
	return Work{
		ID: "child/" + in.AgentID.String(), Activity: domain.SpawnSubagent, Child: &p, ChildID: in.AgentID,
		Tool: &contract.ToolRequest{
			ExecutionID: p.ExecutionID, Step: p.Step, Position: p.Position, CallID: p.CallID, Name: p.Called(),
			Arguments: string(arguments), Effect: domain.ReadOnly, Reference: &contract.ArgumentsRef{},
		},
	}
}

// Lent is the work of a sub-agent that may use so much in all.
func (w Work) Lent(grant domain.ExecutionBudget) Work {
	child := *w.Child
	child.Grant, w.Child = grant, &child
	return w
}

// Usage is what the sub-agent used, and Spent counts it against limits. Without an outcome it has spent all that it was
// granted, which is an estimate.
func (f ChildEnded) Usage() (usage domain.Usage, spent domain.Spent) {
	switch {
	case f.Unstarted:
		return usage, spent
	case f.Outcome == nil:
		spent = f.Child.Grant.Whole()
		return domain.Usage{InputTokens: spent.Tokens, Estimated: true}, spent
	}
	usage = f.Outcome.Usage
	if r := f.Outcome.Report; r != nil {
		spent = r.Spent
	} else {
		spent.Steps = int64(f.Outcome.Steps)
	}
	spent.Tokens, spent.CostNanoUSD, spent.Seconds = usage.TotalTokens(), f.Outcome.CostNanoUSD, 0
	return usage, spent
}

// Effects are what the sub-agent has done. Of one that was lost nobody knows.
func (f ChildEnded) Effects() domain.EffectCounts {
	switch {
	case f.Unstarted:
		return domain.EffectCounts{}
	case f.Outcome == nil:
		return domain.EffectCounts{Unknown: true}
	}
	return f.Outcome.EffectCounts
}

// A ChildResult is what the model reads of a sub-agent, as the result of the call that started it.
type ChildResult struct {
	Status     domain.ExecutionStatus `json:"status"`
	StopReason domain.StopReason      `json:"stop_reason,omitzero"`
	Error      string                 `json:"error,omitzero"`
	Answer     string                 `json:"answer"`
	// SaidLast is there where Answer is empty.
	SaidLast string `json:"said_last,omitzero"`
	// Effects are what the sub-agent and those below it have done, so that whoever reads it does not have it done again.
	// They are an empty list where it is known that there were none.
	domain.EffectCounts
}

// Reply is what the sub-agent means for the call that started it: an error only where it failed.
func (f ChildEnded) Reply() contract.ToolReply {
	result := ChildResult{Status: domain.StatusFailed, EffectCounts: f.Effects()}
	if result.Calls == nil && !result.Unknown {
		result.Calls = []domain.EffectCount{}
	}
	var reply contract.ToolReply
	switch f.Outcome {
	case nil:
		result.StopReason, result.Error = domain.ErrorForbade, f.Why.Message
		reply.Error = Bounded(f.Why)
	default:
		o := f.Outcome
		result.Status, result.StopReason = o.Status, o.StopReason
		report := o.Report
		if report == nil {
			report = &contract.Report{}
		}
		if result.Answer, result.SaidLast = report.Answer, report.SaidLast; o.Status == domain.StatusFailed {
			why := "its workflow failed"
			if report.Error != nil {
				why = report.Error.Message
			}
			result.Error = why
			reply.Error = Bounded(&domain.Error{Kind: o.Kind, Code: o.Code, Message: "the sub-agent failed: " + why, Source: SourceSubagent})
			if reply.Error.Kind == "" {
				reply.Error.Kind = domain.Internal
			}
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(result) // texts cannot fail
	reply.Content = strings.TrimSpace(text.String())
	reply.Digest = domain.DigestOf([]byte(reply.Content))
	return reply
}

// childEnded counts what a sub-agent used, and takes its result.
func (s Step) childEnded(f ChildEnded, at At) Step {
	usage, spent := f.Usage()
	s.Usage, s.CostNanoUSD = s.Usage.Add(usage), domain.AddCost(s.CostNanoUSD, spent.CostNanoUSD)
	s.Children, s.ChildEffects = s.Children.Add(spent), s.ChildEffects.Merged(f.Effects())
	reply := f.Reply()
	if s = s.called(f.Tool.Position, reply, at.Stopped, at); at.Stopped && !s.Interrupted && f.Outcome != nil && f.Outcome.Status == domain.StatusStopped {
		return s.cutOff(CutOff{By: StopInTools})
	}
	return s
}
