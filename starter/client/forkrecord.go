package client

import (
	"context"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/contract"
)

// forkedRecord is with what the workflow of a fork begins whose origin only records tell of.
func (c *Client) forkedRecord(ctx context.Context, kept keptPoint, a agent, o ForkOptions) (in contract.SessionInput, p pastPoint, err error) {
	held := kept.newest.HeldTo
	if p, err = c.pastOf(ctx, kept); err != nil {
		return in, p, err
	}
	if o.Definition == nil {
		c.cfg.Progress("records do not tell which tools an agent may use, nor its hooks and approvals: " + a.called() + " has none; give its definition, for example by --agent")
	}
	if in, err = c.forkInput(ctx, p, kept.newest.FinalState, definitionOf(kept.newest, held.Budget), a, o); err != nil {
		return in, p, err
	}
	in.Carry.Handed = held.Handed
	if above := held.Above; len(above.Policies)+len(above.Approvals) > 0 {
		in.Above = &above
	}
	return in, p, c.hand(ctx, p, &in)
}

// definitionOf is what a record tells of an agent's definition: its model, its system prompt, what it answers in and its
// budgets; neither tools nor hooks, approvals or sub-agents, which whoever forks it has to give.
func definitionOf(r record.Record, budget domain.ExecutionBudget) domain.Definition {
	d := domain.Definition{Model: r.FinalState.LLMConfig(), SystemPrompt: r.FinalState.SystemPrompt(), Format: r.FinalState.ResponseFormat(), Budget: budget}
	if account, has := r.FinalState.Session(); has {
		d.SessionBudget = account.Budget
	}
	return d
}
