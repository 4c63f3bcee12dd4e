package workflows

import (
	"cmp"
	"fmt"

	"everstep/domain"
	"everstep/domain/contract"
)

// limitSession gives the session other totals; what was spent stays spent. Where it has had none it counts from here on.
func (b *budget) limitSession(budget domain.ExecutionBudget) {
	if _, has := b.agent.state.Session(); has || !budget.IsEmpty() {
		b.agent.account(budget)
	}
}

// account takes totals that were checked.
func (a *agent) account(budget domain.ExecutionBudget) {
	a.state = must(a.state.WithSessionBudget(budget, a.now()))
}

// upcomingAccount is the session's as the next execution begins with it.
func (b *budget) upcomingAccount() domain.Holder {
	account, _ := b.agent.state.Session()
	if next := b.config.Next; next != nil && next.Asks(contract.FieldSessionBudget) {
		account.Budget = next.Definition.SessionBudget
	}
	return account
}

// checkSessionLeft refuses what would begin an execution, or wait for one, of which the session's budget leaves nothing.
func (b *budget) checkSessionLeft(what string) error {
	use, reached := domain.Ledger{Session: b.upcomingAccount()}.Reached(b.agent.now())
	if !reached {
		return nil
	}
	return domain.Errorf(domain.Denied, "%s: nothing is left of the session's budget: %s; %s%s", what, use, use.GoOn(), b.extending(use))
}

// extending is how to extend what a limit is of; empty where that is what was asked for.
func (b *budget) extending(use domain.LimitUse) string {
	if !use.Session {
		return ""
	}
	return fmt.Sprintf(" (`extend %s --session --%s TOTAL`)", b.called(), use.Rule.Limit.Flag())
}

// called is how people call the agent.
func (b *budget) called() string { return cmp.Or(b.in.Name, b.in.AgentID.String()) }

func (c *commands) checkExtendSession(request contract.ExtendSessionRequest) error {
	account, has := c.agent.state.Session()
	totals := account.Budget.Extended(request.Budget, request.Lift)
	switch {
	case c.mail.Closed():
		return domain.Errorf(domain.Denied, "extend: the session is closed")
	case !has && c.session.budget.upcomingAccount().Budget.IsEmpty():
		return domain.Errorf(domain.Denied, "extend: the session has no budget; `update %s` gives it one, as session_budget in its definition", c.session.budget.called())
	case !has:
		return domain.Errorf(domain.Denied, "extend: the session has no budget before its next execution begins; `update %s` changes that one", c.session.budget.called())
	case request.Budget.IsZero() && len(request.Lift) == 0:
		return domain.Errorf(domain.Invalid, "extend: give at least one new total of the session, such as max_steps")
	case totals.MaxCostNanoUSD != nil && c.config.Resolved != nil && c.config.Resolved.Price == nil:
		return domain.Errorf(domain.Invalid, "max_cost: nobody knows what %s costs; extend another limit", c.agent.state.LLMConfig)
	}
	return request.Budget.CheckSession()
}

// extendSession takes what was checked. It bounds the execution in progress from now on, and begins none. A definition that
// waits and has the same totals leaves them as they are extended.
func (c *commands) extendSession(request contract.ExtendSessionRequest) contract.ExtendSessionReply {
	account, _ := c.agent.state.Session()
	totals := account.Budget.Extended(request.Budget, request.Lift)
	if next := c.config.Next; next != nil && next.Definition.SessionBudget.Equal(account.Budget) {
		extended := *next
		extended.Definition.SessionBudget = totals
		c.config.wait(extended)
	}
	c.agent.account(totals)
	account, _ = c.agent.state.Session()
	return contract.ExtendSessionReply{Number: c.agent.state.ExecutionCount, InProgress: c.agent.state.HasActiveExecution(), Account: account}
}
