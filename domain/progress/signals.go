package progress

import (
	"cmp"
	"slices"

	"everstep/domain"
)

// SourceBudget is the source of a limit's signal. It is recorded.
const SourceBudget = "budget"

// SourceSessionBudget is the source of the signal of a limit over the session. It is recorded.
const SourceSessionBudget = "session_budget"

// SourceOf is the source of the signal of a limit.
func SourceOf(use domain.LimitUse) string {
	if use.Session {
		return SourceSessionBudget
	}
	return SourceBudget
}

// Signals are the requests to stop that history tells of: those of people, the
// error with which the last step ended, and the limit that ended the execution.
func (e Execution) Signals() []domain.StopSignal {
	signals := slices.Clip(e.Stops)
	if e.Outcome == nil {
		return signals
	}
	if e.Outcome.StopReason == domain.ErrorForbade {
		if err := e.fatal(); err != nil {
			signals = append(signals, domain.SignalOf(err))
		}
		return signals
	}
	for _, use := range e.limits() {
		if use.Rule.Reason != e.Outcome.StopReason {
			continue
		}
		signal := use.ReachedSignal()
		if use.Rule.Unit.OfTime() {
			signal = use.TimeOverSignal()
			signal.Context = nil // how much of it was used is not known
		}
		signal.Source = SourceOf(use)
		return append(signals, signal)
	}
	return signals
}

func (e Execution) fatal() *domain.Error {
	if len(e.Done) == 0 {
		return nil
	}
	errs := e.Done[len(e.Done)-1].Errors
	if n := len(errs); n > 0 && errs[n-1].Code != domain.CodeInvalidOutput && errs[n-1].Code != domain.CodeInterrupted {
		return &errs[n-1]
	}
	return nil
}

// limits are those that the execution has used up, as far as its outcome tells.
// Since it is not known how long it waited for people, only an end in the middle
// of a step tells that time was over.
func (e Execution) limits() []domain.LimitUse {
	bounds, known := e.bounds()
	if !known {
		return nil
	}
	// In the middle of a step a limit is one that the next inference does not fit,
	// which was estimated in ways that history does not tell.
	cutOff, length := false, false
	if n := len(e.Done); n > 0 {
		finish, _ := e.Done[n-1].FinishReason()
		cutOff, length = e.Done[n-1].Interrupted, finish == domain.FinishLength
	}
	deadline := bounds.Own.Deadline
	passed := deadline != nil && !e.EndedAt.Before(*deadline)
	var used []domain.LimitUse
	for _, rule := range domain.LimitRules() {
		use, set := bounds.UseOf(rule.Limit, e.EndedAt)
		over := rule.Exhausts && !cutOff && !length && use.Used.Int() >= use.Total.Int()
		if rule.Unit.OfTime() {
			over = cutOff && passed == (rule.Unit == domain.UnitTime)
		}
		if set && over {
			used = append(used, use)
		}
	}
	return used
}

// spent is what an ended execution has used itself, of what its facts tell: not its time.
func (e Execution) spent() domain.Spent {
	var own domain.Spent
	for _, step := range e.Done {
		own = own.Add(step.Spent())
	}
	own.Steps += int64(e.Outcome.Steps - len(e.Done)) // beside its sub-agents'
	own.Tokens, own.CostNanoUSD = e.Outcome.Usage.TotalTokens(), e.Outcome.CostNanoUSD
	return own
}

// SpentAfter is what counts against the totals of an execution that goes on from this one,
// which had prior to go on from where its own facts do not tell; nil: unknown.
func (e Execution) SpentAfter(prior *domain.Spent) *domain.Spent {
	if prior = cmp.Or(e.Prior, prior); prior == nil || e.Outcome == nil || len(e.Done) < e.Outcome.Steps {
		return nil
	}
	return new(prior.Add(e.spent()))
}
