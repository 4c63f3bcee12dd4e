package workflows

import (
	"fmt"

	"everstep/domain"
)

// limited checks the budget before a step: what is used up, and whether the
// estimated input alone would be too much. A limit leaves no step behind.
func (s *session) limited() bool {
	if s.exhausted() {
		return true
	}
	if _, fits := s.reserve(); !fits {
		s.signalTokens()
		return true
	}
	return false
}

// exhausted checks what of the budget is used up.
func (s *session) exhausted() bool {
	reason, reached := s.budget().Limit(s.spent(), s.now())
	if reached {
		s.signal(reason, "budget", limitMessage(reason, s.budget(), s.spent()))
	}
	return reached
}

// budget is the execution's; the zero one sets no limit.
func (s *session) budget() domain.ExecutionBudget {
	budget, _ := s.state.Budget()
	return budget
}

// spent is what the execution has used so far.
func (s *session) spent() domain.Spent { return s.state.Spent(s.now(), s.tally.toolCalls) }

// A reservation is what one inference may use.
type reservation struct {
	// output clamps the answer; zero is no clamp of ours.
	output int64
	// left is what the budget has for this inference with all its attempts;
	// zero is no limit.
	left int64
}

// reserve sets aside what the next inference may use. What earlier tries in the
// same step have used is spent already. It answers false where not even the
// smallest answer fits.
func (s *session) reserve() (reservation, bool) {
	limit := s.budget().MaxTokens
	if limit == nil {
		return reservation{}, true
	}
	left := *limit - s.spent().Tokens
	output := left - s.estimatedInput()
	if output < max(s.resolved.MinOutputTokens, 1) {
		return reservation{}, false
	}
	if bound := s.resolved.Definition.Model.MaxOutputTokens; bound > 0 && bound <= output {
		return reservation{output: 0, left: left}, true
	}
	return reservation{output: output, left: left}, true
}

// bound reports whether it was the budget that limited the length of an answer:
// this reservation, or what lost attempts had taken of it.
func (r reservation) bound(reply domain.ModelReply) bool {
	return r.output > 0 || r.left > 0 && !reply.Spent.IsZero()
}

func (s *session) signalTokens() {
	budget, spent := s.budget(), s.spent()
	s.signal(domain.TokenLimitReached, "budget", fmt.Sprintf(
		"max_tokens is %d, %d are used, and the next inference is estimated to read %d", *budget.MaxTokens, spent.Tokens, s.estimatedInput()))
}

// callsLeft is how many tool calls the budget still has; ok is false where it
// sets no limit.
func (s *session) callsLeft() (left int64, ok bool) {
	limit := s.budget().MaxToolCalls
	if limit == nil {
		return 0, false
	}
	return max(*limit-s.tally.toolCalls, 0), true
}

func limitMessage(reason domain.StopReason, budget domain.ExecutionBudget, spent domain.Spent) string {
	switch {
	case reason == domain.StepsLimitReached && budget.MaxSteps != nil:
		return fmt.Sprintf("max_steps is %d and %d are done", *budget.MaxSteps, spent.Steps)
	case reason == domain.TokenLimitReached && budget.MaxTokens != nil:
		return fmt.Sprintf("max_tokens is %d and %d are used", *budget.MaxTokens, spent.Tokens)
	case reason == domain.TimeLimitReached:
		return "the time is over"
	}
	return "a limit is reached: " + string(reason)
}
