package workflows

import (
	"fmt"

	"everstep/domain"
)

// guardBudget checks the budget before a step, unless the loop stops anyway:
// what is used up, and whether the next inference fits at all.
func (s *session) guardBudget() {
	if s.stopped() {
		return
	}
	budget, spent := s.budget(), s.spent()
	if reason, reached := budget.Limit(spent, s.now()); reached {
		s.signal(reason, guardBudget, limitMessage(reason, budget, spent))
		return
	}
	if _, short := s.reserve(); short != "" {
		s.signalShort(short)
	}
}

// budget is the execution's; the zero one sets no limit.
func (s *session) budget() domain.ExecutionBudget {
	budget, _ := s.state.Budget()
	return budget
}

// spent is what counts against the execution's totals: its own, and what its
// origins had spent. Time that it waited for people does not count.
func (s *session) spent() domain.Spent {
	own := s.state.Spent(s.now(), s.tally.toolCalls)
	waited := s.tally.waited
	if since := s.pause.since; !since.IsZero() {
		waited += s.now().Sub(since)
	}
	own.Seconds = max(own.Seconds-waited.Seconds(), 0)
	return own.Add(s.tally.prior)
}

// A reservation is what one inference may use.
type reservation struct {
	// output clamps the answer; zero is no clamp of the budget's.
	output int64
	// foreign says that the clamp is a hook's or the model's and not the budget's.
	foreign bool
	// short is the limit that clamps, for when it was the bound.
	short domain.StopReason
	// left is what the budget has for this inference with all its attempts, in
	// tokens, and cost in nano-dollars; zero is no limit.
	left, cost int64
}

// reserve sets aside what the next inference may use. What earlier tries in the
// same step have used is spent already. Where not even the smallest answer fits
// it answers with the reason.
func (s *session) reserve() (reservation, domain.StopReason) {
	var r reservation
	budget, spent, input := s.budget(), s.spent(), s.estimatedInput()
	least := max(s.resolved.MinOutputTokens, 1)
	clamp := func(output int64, reason domain.StopReason) {
		if r.short == "" || output < r.output {
			r.output, r.short = output, reason
		}
	}
	if limit := budget.MaxTokens; limit != nil {
		r.left = *limit - spent.Tokens
		if r.left-input < least {
			return r, domain.TokenLimitReached
		}
		clamp(r.left-input, domain.TokenLimitReached)
	}
	if limit, price := budget.MaxCostNanoUSD, s.resolved.Price; limit != nil && price != nil {
		r.cost = *limit - spent.CostNanoUSD
		room := r.cost - price.InputCost(input)
		output, priced := price.OutputFor(room, input)
		if room < 0 || priced && output < least {
			return r, domain.CostLimitReached
		}
		if priced {
			clamp(output, domain.CostLimitReached)
		}
	}
	switch bound := s.answerBound(); {
	case bound <= 0 || bound > r.output:
	case s.resolved.Definition.Model.MaxOutputTokens > 0:
		// The activity knows it too.
		r.output = 0
	default:
		r.output, r.foreign = bound, true
	}
	return r, ""
}

// answerBound is how long an answer can get without the budget; zero: unknown.
func (s *session) answerBound() int64 {
	if bound := s.resolved.Definition.Model.MaxOutputTokens; bound > 0 {
		return bound
	}
	return s.resolved.MaxOutputTokens
}

// bound reports whether it was the budget that limited the length of an answer:
// this reservation, or what lost attempts had taken of it.
func (r reservation) bound(reply domain.ModelReply) bool {
	return r.output > 0 && !r.foreign || (r.left > 0 || r.cost > 0) && !reply.Spent.IsZero()
}

// clamp is the limit that bounded the answer; empty where that was what lost
// attempts had taken.
func (r reservation) clamp() domain.StopReason {
	if r.output > 0 && !r.foreign {
		return r.short
	}
	return ""
}

// signalShort says that the next inference does not fit what is left.
func (s *session) signalShort(reason domain.StopReason) {
	budget, spent := s.budget(), s.spent()
	if reason == "" {
		reason = domain.TokenLimitReached
		if budget.MaxTokens == nil {
			reason = domain.CostLimitReached
		}
	}
	message := fmt.Sprintf("the next inference, estimated to read %d tokens, does not fit what is left", s.estimatedInput())
	switch {
	case reason == domain.TokenLimitReached && budget.MaxTokens != nil:
		message = fmt.Sprintf("max_tokens is %d, %d are used, and the next inference is estimated to read %d; extend it with a higher max_tokens to go on",
			*budget.MaxTokens, spent.Tokens, s.estimatedInput())
	case reason == domain.CostLimitReached && budget.MaxCostNanoUSD != nil:
		message = fmt.Sprintf("max_cost is $%s, $%s are spent, and the next inference is estimated to read %d tokens; extend it with a higher max_cost to go on",
			domain.USD(*budget.MaxCostNanoUSD), domain.USD(spent.CostNanoUSD), s.estimatedInput())
	}
	s.signal(reason, guardBudget, message)
}

// callsLeft is how many tool calls the budget still has; ok is false where it
// sets no limit.
func (s *session) callsLeft() (left int64, ok bool) {
	limit := s.budget().MaxToolCalls
	if limit == nil {
		return 0, false
	}
	return max(*limit-s.tally.prior.ToolCalls-s.tally.toolCalls, 0), true
}

func limitMessage(reason domain.StopReason, budget domain.ExecutionBudget, spent domain.Spent) string {
	const goOn = "; extend it with a higher %s to go on"
	switch {
	case reason == domain.StepsLimitReached && budget.MaxSteps != nil:
		return fmt.Sprintf("max_steps is %d and %d are done"+goOn, *budget.MaxSteps, spent.Steps, domain.LimitSteps)
	case reason == domain.TokenLimitReached && budget.MaxTokens != nil:
		return fmt.Sprintf("max_tokens is %d and %d are used"+goOn, *budget.MaxTokens, spent.Tokens, domain.LimitTokens)
	case reason == domain.CostLimitReached && budget.MaxCostNanoUSD != nil:
		return fmt.Sprintf("max_cost is $%s and $%s are spent"+goOn, domain.USD(*budget.MaxCostNanoUSD), domain.USD(spent.CostNanoUSD), domain.LimitCost)
	case reason == domain.TimeLimitReached && budget.MaxSeconds != nil && spent.Seconds >= *budget.MaxSeconds:
		return fmt.Sprintf("max_seconds is %v and %.1f are used"+goOn, *budget.MaxSeconds, spent.Seconds, domain.LimitSeconds)
	case reason == domain.TimeLimitReached:
		return "the deadline has passed; extend it with a later one to go on"
	}
	return "a limit is reached: " + string(reason)
}
