package client

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/domain/contract"
)

// signals are the requests to stop, but for the one that has ended the execution.
func (e *explanation) signals() []ExplainSignal {
	c, all := e.state.Execution.Continuation, []ExplainSignal{}
	stops, fate := slices.Clone(c.StopSignals), SignalPending
	if e.over() {
		counted := e.counted()
		fate = SignalOutranked
		same := func(s domain.StopSignal) bool {
			return counted != nil && s.Reason == counted.Reason && s.Message == counted.Message
		}
		if i := slices.IndexFunc(stops, same); i >= 0 {
			stops = slices.Delete(stops, i, i+1)
		}
	}
	add := func(signals []domain.StopSignal, fate SignalFate) {
		for _, s := range signals {
			all = append(all, ExplainSignal{s, fate})
		}
	}
	add(stops, fate)
	add(c.Overridden, SignalOverridden)
	add(c.Late, SignalLate)
	return all
}

// endings are the reasons that are no limit's: how an execution ended, after who asked for it where somebody did, who that was
// where the signal names nobody, and what to do next.
var endings = map[domain.StopReason]struct{ by, text, next string }{
	domain.ErrorForbade:         {text: "it failed"},
	domain.StopRequested:        {"a hook or a tool", " asked it to stop", "it can go on where it stopped"},
	domain.UserRequested:        {"a user", " asked it to stop", "it can go on where it stopped"},
	domain.RetryLimitReached:    {text: "its answers did not pass their check too often", next: "look at the errors of the last steps; mend the schema or allow more tries (guards.output_retries), then go on"},
	domain.FinishReasonReceived: {text: "the model ended with a finish reason at which a guard stops"},
	domain.Completed:            {text: "the agent was done"},
	domain.Unknown:              {text: "something asked it to stop and did not say why", next: "it can go on where it stopped"},
}

func (e *explanation) summary(end *ExplainEnding) string {
	said, source := "", ""
	if signal := end.Signal; signal != nil {
		if source = signal.Source; signal.Message != "" {
			said = ": " + signal.Message
		}
	}
	for _, rule := range domain.LimitRules() {
		if rule.Reason == end.StopReason {
			whose := "its"
			if source == domain.SourceSessionBudget || e.asked.SessionLimit {
				whose = "the session's"
			}
			return "it reached " + whose + " limit of " + rule.Counts() + said
		}
	}
	ending, known := endings[end.StopReason]
	switch {
	case !known:
		return "nobody can tell why it ended"
	case end.StopReason == domain.UserRequested && source == "server":
		return "the workflow was cancelled with the server's own tools" + said
	case source == "user":
		source = "a user"
	}
	if ending.by != "" {
		ending.by = cmp.Or(source, ending.by)
	}
	return ending.by + ending.text + said
}

func (e *explanation) advice(v ExplainView) []ExplainAdvice {
	advice := slices.Concat(e.adviceOnUnknown(v), e.adviceOnTags(), e.adviceOnEstimates())
	if !e.over() && e.Head.Paused {
		return append(advice, ExplainAdvice{Text: "it is paused: nothing new starts until it is resumed", Command: "resume " + v.ID})
	}
	if v.Ending == nil || v.Status == domain.StatusCompleted {
		return advice
	}
	goOn := ""
	switch {
	case e.older:
	case e.cut(), e.name != "" && !e.open():
		advice = append(advice, ExplainAdvice{Text: "nothing can go on from it: its workflow is closed. Begin anew"})
	case !e.Head.Position.Edits.GoesOnFrom(e.asked.ExecutionID, e.asked.Steps, e.asked.MessagesFrom, e.asked.MessagesTo, e.Head.Position.From):
		advice = append(advice, ExplainAdvice{Text: "the session was rewound or cleared since, and its next message goes on from there", Command: "send " + v.ID + " TEXT"})
	default:
		goOn = e.raise(v.ID, v.Budget)
		if more := e.raise(v.ID+" --session", v.SessionBudget); strings.Contains(more, "--max") {
			then := ", or nothing begins in it any more"
			if e.name == "" { // that goes on, too
				goOn = ""
				if v.Ending.StopReason.OfLimit() {
					then = ", and it goes on where it stopped"
				}
			}
			advice = append(advice, ExplainAdvice{Text: "raise the session's limit" + then + "; the number is a new total over all its executions", Command: more})
		}
	}
	if v.Ending.Error != nil {
		return append([]ExplainAdvice{{Text: remedy(*v.Ending.Error), Command: goOn}}, advice...)
	}
	text := endings[v.Ending.StopReason].next
	switch {
	case !v.Ending.StopReason.OfLimit():
	case strings.Contains(goOn, " --"):
		text = "raise the limit, and it goes on where it stopped; the number is a new total"
	default: // what has to be raised is said above
		text = "after that it goes on where it stopped"
	}
	if goOn != "" && text != "" {
		advice = append(advice, ExplainAdvice{Text: text, Command: goOn})
	}
	return advice
}

// adviceOnUnknown says what to do about the agent's calls of which nobody knows whether they took effect.
func (e *explanation) adviceOnUnknown(v ExplainView) (advice []ExplainAdvice) {
	for _, c := range e.now.UnresolvedOutcomes() {
		a := ExplainAdvice{Text: fmt.Sprintf("nobody knows whether the call of %s in step %d of execution %d took effect: look at the other side", c.Tool, c.Step, c.Execution)}
		if e.open() || e.name == "" && e.Server.Source != contract.FromRecords && !e.cut() {
			a.Text += "; until somebody resolves it, with --done or --not-done, the same call is not made again"
			a.Command = fmt.Sprintf("resolve %s %s --done --reason TEXT", v.ID, c.ToolExecutionID)
		}
		advice = append(advice, a)
	}
	return advice
}

// adviceOnTags says what an answer has in its text of calls and thinking, and which option reads them.
func (e *explanation) adviceOnTags() []ExplainAdvice {
	for _, s := range e.StepExecutions() {
		if said := openaichat.Unread(e.state.LLMConfig.Options, s.Step.Text()); said != "" && e.state.LLMConfig.Provider == openaichat.Name {
			return []ExplainAdvice{{Text: fmt.Sprintf("the text of step %d %s", s.Step.Number, said)}}
		}
	}
	return nil
}

// adviceOnEstimates tells, once, of an estimate that is less than half of what a later usage says, be the conversation longer
// by what was said between the two.
func (e *explanation) adviceOnEstimates() []ExplainAdvice {
	var joined, said, estimate int64
	step := 0
	for _, event := range e.Events {
		if received, ok := event.Data.(domain.MessageReceived); ok && !received.Began {
			joined += int64(received.Bytes) / 4
		}
	}
	for _, s := range e.StepExecutions() {
		lost := s.Step.Lost
		if !lost.Estimated {
			lost.InputTokens /= int64(max(1, s.Step.Tries-1)) // each try reads it all
		}
		used := []domain.Usage{lost}
		if s.Step.Response != nil {
			used = append(used, s.Step.Response.Usage)
		}
		for _, u := range used {
			switch {
			case u.Estimated:
				step, estimate, said = s.Step.Number, u.InputTokens, joined
			case step > 0 && u.InputTokens > 2*(estimate+said):
				return []ExplainAdvice{{Text: fmt.Sprintf("the model read about %d tokens in step %d by an estimate, as no usage was reported, and %d in step %d by its provider's word: "+
					"what budgets count where no usage is reported is too little", estimate, step, u.InputTokens, s.Step.Number)}}
			}
		}
		for _, m := range s.Step.Output {
			said += domain.EstimateTokens(m)
		}
	}
	return nil
}

// remedies say what to do; empty where the kind of the error says it.
var remedies = map[domain.Code]string{
	domain.CodeAuth:            "the provider refused the key: set a valid one in the worker's environment and start the worker again, then go on",
	domain.CodeQuota:           "the provider's account has no money or quota left: add some, or use another model, then go on",
	domain.CodeContextOverflow: "the conversation does not fit the model's window, or is more than the account may send at once: turn compaction on, set context_window, or use a model with a larger one",
	domain.CodeContextLost:     "the conversation could not be carried on: configure storage on the workers, which keeps it outside of history",
	domain.CodeHookFailed:      "a hook returned an error: mend it, start the worker again, then go on",
	domain.CodeUnknownTool:     "the worker does not have what the agent names: register it there, or take it out of the agent's definition",
	domain.CodeModelNotFound:   "no worker knows the model, or the provider does not: see the spelling of PROVIDER/NAME",
	domain.CodeTerminated:      "an operator terminated the workflow; the server's own log says who",
	domain.CodeTimedOut:        "the workflow reached a time-out set with the server's own tools; start it without one",
	domain.CodeTimeout:         "no worker finished the work in time: see that workers are up and stay up, or allow more time, then go on",
	domain.CodeWorkerShutdown:  "workers were told to stop each time: see why they restart, then go on",
	domain.CodeEmptyResponse:   "the model answered with nothing, twice: change the prompt or the model, or go on to try again",
	domain.CodeFiltered:        "the provider's filter withheld the answer: change the prompt or the model",
	domain.CodeInvalidOutput:   "the answer does not fit its schema: mend the schema or the prompt",
	domain.CodeMalformed:       "the provider's answers could not be read: see that the address is that of a model's API, then go on",
	domain.CodeGivenUp:         "the provider failed and says that trying again does not help: see its status page, or use another model, then go on",
	domain.CodeRerouted:        "workers of the task queue differ in their rate limits: give all of them the same (EVERSTEP_RATE_LIMITS), then go on",
	domain.CodeOutcomeUnknown:  "nobody knows whether a tool call took effect: look at the other side before you go on",
	domain.CodeInterrupted:     "", domain.CodeBlocked: "", domain.CodeDenied: "", domain.CodeNotRun: "", domain.CodeOutcomeUnresolved: "", "": "",
}

var remediesByKind = map[domain.Kind]string{
	domain.Invalid:     "the same request will fail again: mend what the message names",
	domain.Denied:      "it was not allowed: see what the message names",
	domain.Throttled:   "the other side has too much to do: wait a while, then go on",
	domain.Unavailable: "the other side failed or could not be reached: see that it is up, then go on",
	domain.TooLarge:    "something is larger than it may be: make it smaller as the message says",
	domain.Internal:    "the worker's log says more; this may be a fault of the program itself",
}

func remedy(err domain.Error) string {
	return cmp.Or(remedies[err.Code], remediesByKind[err.Kind], remediesByKind[domain.Internal])
}

// limits are those of the budget with what was used of them; nil: nobody can tell.
func (e *explanation) limits() []ExplainLimit {
	budget, known := e.state.Budget()
	if next := e.Head.Ledger.Execution; !known && next != nil {
		budget, known = next.Limit, true // it is to begin
	}
	if !known {
		e.miss("the budget: nobody can tell it any more")
		return nil
	}
	// Of two limits of time it is the deadline that was reached, if past.
	past := budget.Deadline != nil && e.over() && !e.asked.CompletedAt.Before(*budget.Deadline)
	used, timed := e.used()
	return e.limitsOf(budget, e.asked.Prior, used, timed, func(rule domain.LimitRule) bool {
		came := slices.ContainsFunc(e.state.Execution.Continuation.StopSignals, func(s domain.StopSignal) bool {
			return s.Reason == rule.Reason && s.Source != domain.SourceSessionBudget
		}) || e.asked.StopReason == rule.Reason && !e.asked.SessionLimit
		return came && (!rule.Unit.OfTime() || past == (rule.Unit == domain.UnitTime))
	})
}

// sessionLimits are those over the session, as they bound the execution.
func (e *explanation) sessionLimits() []ExplainLimit {
	before, has := e.state.Session()
	if !has {
		return nil
	}
	own := e.state.Spent(e.asked.CompletedAt).Less(e.state.Execution.ExecutionCounts.Prior)
	before.Spent = before.Spent.Less(own)
	used, timed := e.used()
	o := e.asked.Outcome
	if o.SessionSpent != nil {
		used = o.SessionSpent.Less(before.Spent)
	}
	return e.limitsOf(before.Budget, before.Spent, used, timed, func(rule domain.LimitRule) bool {
		return o.SessionSpent != nil && o.SessionLimit && o.StopReason == rule.Reason
	})
}

// limitsOf are the limits of a budget, with what was used of each before the execution and by it, as far as that is known. timed
// says that it is known how long it took.
func (e *explanation) limitsOf(budget domain.ExecutionBudget, prior, used domain.Spent, timed bool, reached func(domain.LimitRule) bool) []ExplainLimit {
	limits := []ExplainLimit{}
	for _, rule := range domain.LimitRules() {
		total, limited := rule.Total(budget)
		if !limited {
			continue
		}
		l := ExplainLimit{Limit: rule.Limit, Unit: rule.Unit, Reached: reached(rule), Default: budget.ByDefault(rule.Limit)}
		if rule.Unit == domain.UnitTime {
			l.Deadline = new(total.Time())
			limits = append(limits, l)
			continue
		}
		l.Total, l.Prior = new(total.Int()), new(rule.Used(prior, time.Time{}).Int())
		switch {
		case rule.Limit == domain.LimitCost:
			l.Used = domain.KnownCost(used.CostNanoUSD, used.Tokens, e.asked.Priced)
		case timed || rule.Limit != domain.LimitSeconds:
			l.Used = new(rule.Used(used, time.Time{}).Int())
		}
		if l.Used != nil {
			l.Left = new(max(*l.Total-*l.Used-*l.Prior, 0))
		}
		limits = append(limits, l)
	}
	return limits
}

// used is what the execution used, as it has counted itself. It reports false where nobody knows how long it took.
func (e *explanation) used() (spent domain.Spent, timed bool) {
	prior := e.state.Execution.ExecutionCounts.Prior
	spent = e.state.Spent(e.asked.CompletedAt).Less(prior)
	own, timed := e.Head.Ledger.Execution, e.over()
	if !timed && own != nil && e.Server.Source == contract.FromWorkflow { // else nobody knows how long it waits for people
		spent.Seconds, timed = own.Spent.Less(prior).Seconds, true
	}
	return spent, timed
}

// raise is the command that goes on with more of each limit that was reached, or used up.
func (e *explanation) raise(id string, limits []ExplainLimit) string {
	parts := []string{"extend", id}
	for _, l := range limits {
		if l.Reached || l.Limit.Rule().Exhausts && l.Left != nil && *l.Left == 0 { // without tool calls an agent still answers
			parts = append(parts, "--"+l.Limit.Flag(), e.raised(l))
		}
	}
	return strings.Join(parts, " ")
}

// raised is twice the old total, and more than what is used and the next inference reads, as its flag takes it.
func (e *explanation) raised(l ExplainLimit) string {
	if l.Deadline != nil {
		return "1h"
	}
	total := 2 * *l.Total
	if total == 0 { // one to begin with
		total = cmp.Or(map[domain.Unit]int64{
			domain.UnitTokens: 10_000, domain.UnitNanoUSD: 100_000_000, domain.UnitMilliseconds: 60_000,
		}[l.Unit], 10)
	}
	if l.Used != nil {
		least := *l.Used + *l.Prior + *l.Total
		switch price := e.price(); {
		case l.Unit == domain.UnitTokens:
			least += e.Head.Context
		case l.Unit == domain.UnitNanoUSD && price != nil:
			least += price.InputCost(e.Head.Context)
		}
		total = max(total, least)
	}
	switch l.Unit {
	case domain.UnitMilliseconds:
		return fmt.Sprintf("%g", max(time.Duration(total)*time.Millisecond, time.Second).Seconds())
	case domain.UnitNanoUSD:
		return domain.USD(total)
	default:
	}
	return fmt.Sprint(total)
}
