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

// reserve sets aside what the next inference may use; see Reserve.
func (s *session) reserve() (domain.Reservation, domain.Limit) {
	return s.budget().Reserve(s.Spent(), s.conversation.Input(s.resolved), s.resolved)
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
	s.limited(use.TooShortSignal(s.conversation.Input(s.resolved)))
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
