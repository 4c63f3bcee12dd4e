package workflows

import (
	"cmp"
	"fmt"

	"everstep/domain"
	"everstep/domain/contract"
)

// limitSession gives the session other totals; what was spent stays spent. Where it has had none it counts from here on.
func (s *session) limitSession(budget domain.ExecutionBudget) {
	if _, has := s.agent.state.Session(); has || !budget.IsEmpty() {
		s.agent.account(budget)
	}
}

// account takes totals that were checked.
func (a *agent) account(budget domain.ExecutionBudget) {
	a.state = must(a.state.WithSessionBudget(budget, a.now()))
}

// upcomingAccount is the session's as the next execution begins with it.
func (s *session) upcomingAccount() domain.Holder {
	account, _ := s.agent.state.Session()
	if next := s.config.Next; next != nil && next.Asks(contract.FieldSessionBudget) {
		account.Budget = next.Definition.SessionBudget
	}
	return account
}

// checkSessionLeft refuses what would begin an execution, or wait for one, of which the session's budget leaves nothing.
func (s *session) checkSessionLeft(what string) error {
	use, reached := domain.Ledger{Session: s.upcomingAccount()}.Reached(s.agent.now())
	if !reached {
		return nil
	}
	return domain.Errorf(domain.Denied, "%s: nothing is left of the session's budget: %s; %s%s", what, use, use.GoOn(), s.extending(use))
}

// extending is how to extend what a limit is of; empty where that is what was asked for.
func (s *session) extending(use domain.LimitUse) string {
	if !use.Session {
		return ""
	}
	return fmt.Sprintf(" (`extend %s --session --%s TOTAL`)", s.called(), use.Rule.Limit.Flag())
}

// called is how people call the agent.
func (s *session) called() string { return cmp.Or(s.in.Name, s.in.AgentID.String()) }

func (s *session) checkExtendSession(request contract.ExtendSessionRequest) error {
	account, has := s.agent.state.Session()
	totals := account.Budget.Extended(request.Budget, request.Lift)
	switch {
	case s.mail.Closed():
		return domain.Errorf(domain.Denied, "extend: the session is closed")
	case !has && s.upcomingAccount().Budget.IsEmpty():
		return domain.Errorf(domain.Denied, "extend: the session has no budget; `update %s` gives it one, as session_budget in its definition", s.called())
	case !has:
		return domain.Errorf(domain.Denied, "extend: the session has no budget before its next execution begins; `update %s` changes that one", s.called())
	case request.Budget.IsZero() && len(request.Lift) == 0:
		return domain.Errorf(domain.Invalid, "extend: give at least one new total of the session, such as max_steps")
	case totals.MaxCostNanoUSD != nil && s.config.Resolved != nil && s.config.Resolved.Price == nil:
		return domain.Errorf(domain.Invalid, "max_cost: nobody knows what %s costs; extend another limit", s.agent.state.LLMConfig)
	}
	return request.Budget.CheckSession()
}

// extendSession takes what was checked. It bounds the execution in progress from now on, and begins none. A definition that
// waits and has the same totals leaves them as they are extended.
func (s *session) extendSession(request contract.ExtendSessionRequest) contract.ExtendSessionReply {
	account, _ := s.agent.state.Session()
	totals := account.Budget.Extended(request.Budget, request.Lift)
	if next := s.config.Next; next != nil && next.Definition.SessionBudget.Equal(account.Budget) {
		extended := *next
		extended.Definition.SessionBudget = totals
		s.config.wait(extended)
	}
	s.agent.account(totals)
	account, _ = s.agent.state.Session()
	return contract.ExtendSessionReply{Number: s.agent.state.ExecutionCount, InProgress: s.agent.state.HasActiveExecution(), Account: account}
}
