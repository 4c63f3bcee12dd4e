package workflows

import (
	"cmp"
	"fmt"

	"everstep/domain"
	"everstep/domain/contract"
)

// limitSession gives the session other totals, which were checked; what was spent stays spent. Where it has had none it counts from here on.
func (b *budget) limitSession(budget domain.ExecutionBudget) {
	if _, has := b.agent.state.Session(); has || !budget.IsEmpty() {
		b.agent.adopt(must(b.agent.state.WithSessionBudget(budget, b.agent.now())))
	}
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
func (b *budget) checkSessionLeft() error {
	use, reached := domain.Ledger{Session: b.upcomingAccount()}.Reached(b.agent.now())
	if !reached {
		return nil
	}
	return domain.Deniedf("send: nothing is left of the session's budget: %s; %s%s", use, use.GoOn(), b.extending(use))
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
