package workflows

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A stepContent is the step in progress as far as it has come. Each of its methods takes how a piece of the step's work ended, with
// what follows from that.
type stepContent struct {
	domain.AgentStep
	// tries counts the attempts at its inferences.
	tries int
}

// replied counts what an inference used, lost and tried.
func (s *stepContent) replied(reply contract.ModelReply, price *domain.Price) {
	s.tried(max(reply.Tries, 1))
	s.spent(reply.Response.Usage, reply.Spent, price)
}

// lost counts what an inference without a reply may have cost; again says that it is made again. An attempt that has come to a
// worker with another task queue for it, or without what it needs, does not count.
func (s *stepContent) lost(request contract.ModelRequest, loss contract.Loss, again bool, price *domain.Price) {
	if err := loss.Err(); err.Code != domain.CodeRerouted && !err.Lacking {
		s.tried(1)
	}
	s.spent(domain.Usage{}, loss.Spent(request, again), price)
}

// tried counts attempts at the step's inferences. One alone is not worth noting.
func (s *stepContent) tried(n int) {
	if s.tries += n; s.tries > 1 {
		s.Tries = s.tries
	}
}

// spent adds usage and what of it failed attempts lost, each priced by itself.
func (s *stepContent) spent(used, lost domain.Usage, price *domain.Price) {
	s.Usage, s.Lost = s.Usage.Add(used).Add(lost), s.Lost.Add(lost)
	if price != nil {
		cost := price.Cost(lost)
		s.LostNanoUSD = domain.AddCost(s.LostNanoUSD, cost)
		s.CostNanoUSD = domain.AddCost(domain.AddCost(s.CostNanoUSD, cost), price.Cost(used))
	}
}

func (s *stepContent) answered(response domain.Response) { s.Response = &response }

// wanted takes the calls of an answer. Each gets one result.
func (s *stepContent) wanted(calls []domain.ToolCall) {
	s.ToolExecutions = make([]domain.ToolExecution, len(calls))
	for i, call := range calls {
		s.ToolExecutions[i] = domain.ToolExecution{ID: s.ID.Tool(i), Call: call}
	}
}

// failed notes an error.
func (s *stepContent) failed(err *domain.Error) { s.Errors = append(s.Errors, *err) }

// cutOff notes that the step was interrupted. Of an answer that was cut off the response's data stay: its model, its usage, how
// it finished; its text is kept by inference.cut. A failure that is billed has no answer, so nothing of it stays.
func (s *stepContent) cutOff(by interruption, reply contract.ModelReply) {
	s.Interrupted = true
	if reply.Message != nil && reply.Outcome != contract.BilledFailure {
		s.Response = &reply.Response
	}
	kind := domain.Unavailable
	if by == hookBefore || by == noBudget || by == noBudgetToSumUp {
		kind = domain.Denied
	}
	s.failed(domain.CodedErrorf(kind, domain.CodeInterrupted, "%s", string(by)))
}

// called notes how a tool call ended, whatever hooks make of it later. A stop that cut it off interrupted the step too; one that
// came with its end did not.
func (s *stepContent) called(position int, reply contract.ToolReply, cutOff bool, at time.Time) {
	execution := &s.ToolExecutions[position]
	execution.CompletedAt, execution.Attempts = at, reply.Attempts
	if reply.Error == nil {
		execution.Value, execution.ResultDigest = reply.Content, reply.ResultDigest
		return
	}
	code := reply.Error.Code
	execution.Value, execution.Error = "", contract.Bounded(reply.Error)
	execution.NotStarted = !execution.StartedAt.IsZero() && (reply.NotStarted || code == domain.CodeNotRun)
	cut := code == domain.CodeInterrupted || cutOff && (code == domain.CodeNotRun || code == domain.CodeOutcomeUnknown)
	if cut && !s.Interrupted {
		s.cutOff(stopInTools, contract.ModelReply{})
	}
}

// childEnded counts what a sub-agent used, and takes its result.
func (s *stepContent) childEnded(position int, child endedChild, stopped bool, at time.Time) {
	usage, spent := child.usage()
	s.Usage, s.CostNanoUSD = s.Usage.Add(usage), domain.AddCost(s.CostNanoUSD, spent.CostNanoUSD)
	s.Children, s.ChildEffects = s.Children.Add(spent), s.ChildEffects.Merged(child.effects())
	s.called(position, child.reply(), stopped, at)
	if stopped && !s.Interrupted && child.outcome != nil && child.outcome.Status == domain.StatusStopped {
		s.cutOff(stopInTools, contract.ModelReply{})
	}
}

// verified notes what a tool has found out about a call whose outcome was unknown.
func (s *stepContent) verified(position int, found contract.VerifyReply, reply contract.ToolReply, cutOff bool, at time.Time) {
	s.called(position, reply, cutOff, at)
	answer := domain.Answer{Verdict: found.Verdict, By: domain.VerifyClient, At: at, Reason: found.Reason}
	s.ToolExecutions[position] = s.ToolExecutions[position].WithWait(domain.Wait{Kind: domain.WaitOutcome}.Answered(answer))
}

// An endedChild says how a sub-agent ended: with an outcome, or why it has none.
type endedChild struct {
	// grant is what it might use in all.
	grant   domain.ExecutionBudget
	outcome *contract.Outcome
	why     *domain.Error
	// unstarted says that its workflow never began, so that it has spent nothing.
	unstarted bool
}

// usage is what the sub-agent used, and what of that counts against limits. Without an outcome it has spent all that it was
// granted, which is an estimate.
func (e endedChild) usage() (usage domain.Usage, spent domain.Spent) {
	switch {
	case e.unstarted:
		return usage, spent
	case e.outcome == nil:
		spent = e.grant.Whole()
		return domain.Usage{InputTokens: spent.Tokens, Estimated: true}, spent
	}
	usage = e.outcome.Usage
	if r := e.outcome.Report; r != nil {
		spent = r.Spent
	} else {
		spent.Steps = int64(e.outcome.Steps)
	}
	spent.Tokens, spent.CostNanoUSD, spent.Seconds = usage.TotalTokens(), e.outcome.CostNanoUSD, 0
	return usage, spent
}

// effects are what the sub-agent has done. Of one that was lost nobody knows.
func (e endedChild) effects() domain.EffectCounts {
	switch {
	case e.unstarted:
		return domain.EffectCounts{}
	case e.outcome == nil:
		return domain.EffectCounts{Unknown: true}
	}
	return e.outcome.EffectCounts
}

// reply is what the sub-agent means for the call that started it: an error only where it failed.
func (e endedChild) reply() contract.ToolReply {
	result := contract.ChildResult{Status: domain.StatusFailed, EffectCounts: e.effects()}
	if result.Calls == nil && !result.Unknown {
		result.Calls = []domain.EffectCount{}
	}
	var reply contract.ToolReply
	if o := e.outcome; o == nil {
		result.StopReason, result.Error = domain.ErrorForbade, e.why.Message
		reply.Error = contract.Bounded(e.why)
	} else {
		report := *cmp.Or(o.Report, &contract.Report{})
		result.Status, result.StopReason, result.Answer, result.SaidLast = o.Status, o.StopReason, report.Answer, report.SaidLast
		if o.Status == domain.StatusFailed {
			result.Error = "its workflow failed"
			if report.Error != nil {
				result.Error = report.Error.Message
			}
			reply.Error = contract.Bounded(&domain.Error{
				Kind: cmp.Or(o.Kind, domain.Internal), Code: o.Code, Message: "the sub-agent failed: " + result.Error, Source: domain.SourceSubagent,
			})
		}
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(result) // texts cannot fail
	reply.Content = strings.TrimSpace(text.String())
	reply.Digest = domain.DigestOf([]byte(reply.Content))
	return reply
}

// An interruption says what cut a step off, in words that are recorded.
type interruption string

const (
	// stopInInference: a stop came while the model was asked.
	stopInInference interruption = "the inference was cut off by a stop"
	// stopInTools: a stop came while tools were at work.
	stopInTools interruption = "the tool calls were cut off by a stop"
	// stopAtPause: a stop came between two parts of an answer.
	stopAtPause interruption = "the model paused in its answer, and was not asked to go on because of a stop"
	// stopAtNothing: a stop came after an answer with nothing in it.
	stopAtNothing interruption = "the model gave neither text nor tool calls, and was not asked again because of a stop"
	// hookBefore: a hook stopped the execution before the model was asked.
	hookBefore interruption = "a hook stopped the step before the model was asked"
	// noBudget: not even the smallest answer fits what is left.
	noBudget interruption = "the budget does not allow another try of the inference"
	// noBudgetToSumUp: nor does a summary.
	noBudgetToSumUp interruption = "the budget does not allow to make the conversation shorter"
)

// chained is the digest of a text that takes the place of one with a digest.
func chained(before domain.Digest, text string) domain.Digest {
	return domain.DigestOf([]byte(before.String()), []byte(text))
}

// stepError is an error as a step ends with it: bounded, and with its source.
func stepError(err *domain.Error) *domain.Error {
	err = contract.Bounded(err)
	if err.Source == "" {
		err = err.From(domain.SourceInference)
	}
	return err
}

// sound returns a model's message, an empty one where there is none, as the transcript may take it: a hook that changed it may
// have left parts without a type, or opaque that is no JSON.
func sound(m *domain.Message) (own domain.Message) {
	if m != nil {
		own = *m
	}
	own.Role, own.ToolResult = domain.RoleAssistant, nil
	own.Parts = slices.DeleteFunc(slices.Clone(own.Parts), func(p domain.Part) bool {
		return p.Type == "" || len(p.Opaque) > 0 && !json.Valid(p.Opaque)
	})
	return own
}

// writtenSoFar is what a stop leaves of an answer: what was written. Calls that had arrived are not run and would want results. A
// failure leaves nothing, unless it is the model's.
func writtenSoFar(reply contract.ModelReply) (m domain.Message) {
	if reply.Outcome != contract.BilledFailure || reply.WhyUnanswered().ModelsFault() {
		m = sound(reply.Message)
	}
	m.ToolCalls = nil
	return m
}
