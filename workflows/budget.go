package workflows

import (
	"everstep/domain"
	"everstep/workflows/internal/mailbox"
)

// guardBudget checks the budget before a step, unless the loop stops anyway:
// what is used up, and whether the next inference fits at all.
func (s *session) guardBudget() {
	if s.mail.Stopped() {
		return
	}
	budget, spent := s.budget(), s.Spent()
	if use, reached := budget.Reached(spent, s.now()); reached {
		s.limited(use.ReachedSignal())
		return
	}
	if _, short := s.reserve(); short != "" {
		s.signalShort(short)
	}
}

// A reservation is what one inference may use.
type reservation struct {
	// output clamps the answer; zero is no clamp of the budget's.
	output int64
	// foreign says that the clamp is a hook's or the model's and not the budget's.
	foreign bool
	// short is the limit that clamps, for when it was the bound.
	short domain.Limit
	// left is what the budget has for this inference with all its attempts, in
	// tokens, and cost in nano-dollars; zero is no limit.
	left, cost int64
	// permit is to ask the model.
	permit mailbox.Permit
}

// reserve sets aside what the next inference may use. What earlier tries in the
// same step have used is spent already. Where not even the smallest answer fits
// it answers with the limit.
func (s *session) reserve() (reservation, domain.Limit) {
	var r reservation
	budget, spent, input := s.budget(), s.Spent(), s.estimatedInput()
	least := max(s.resolved.MinOutputTokens, 1)
	clamp := func(output int64, limit domain.Limit) {
		if r.short == "" || output < r.output {
			r.output, r.short = output, limit
		}
	}
	if limit := budget.MaxTokens; limit != nil {
		r.left = *limit - spent.Tokens
		if r.left-input < least {
			return r, domain.LimitTokens
		}
		clamp(r.left-input, domain.LimitTokens)
	}
	if limit, price := budget.MaxCostNanoUSD, s.resolved.Price; limit != nil && price != nil {
		r.cost = *limit - spent.CostNanoUSD
		room := r.cost - price.InputCost(input)
		output, priced := price.OutputFor(room, input)
		if room < 0 || priced && output < least {
			return r, domain.LimitCost
		}
		if priced {
			clamp(output, domain.LimitCost)
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
func (r reservation) clamp() domain.Limit {
	if r.output > 0 && !r.foreign {
		return r.short
	}
	return ""
}

// signalShort says that the next inference does not fit what is left of a
// limit; the empty one is that which lost attempts had taken of.
func (s *session) signalShort(limit domain.Limit) {
	budget := s.budget()
	if limit == "" {
		limit = domain.LimitTokens
		if budget.MaxTokens == nil {
			limit = domain.LimitCost
		}
	}
	use, _ := budget.UseOf(limit, s.Spent(), s.now())
	s.limited(use.TooShortSignal(s.estimatedInput()))
}

// limited adds the stop by a limit.
func (s *session) limited(signal domain.StopSignal) {
	signal.Source = mailbox.SourceBudget
	s.Signal(signal)
}

// callsLeft is how many tool calls the budget still has; ok is false where it
// sets no limit.
func (s *session) callsLeft() (left int64, ok bool) {
	limit := s.budget().MaxToolCalls
	if limit == nil {
		return 0, false
	}
	return max(*limit-s.prior.ToolCalls-s.toolCalls, 0), true
}
