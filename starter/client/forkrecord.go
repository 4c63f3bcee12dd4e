package client

import (
	"cmp"
	"context"
	"slices"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/contract"
)

// forkedRecord is with what the workflow of a fork begins whose origin only records tell of.
func (c *Client) forkedRecord(ctx context.Context, kept keptPoint, a agent, o ForkOptions) (in contract.SessionInput, p pastPoint, err error) {
	held := cmp.Or(kept.newest.HeldTo, &contract.HeldTo{})
	if why := untold(kept); why != "" {
		if o.Definition == nil {
			return in, p, errorf(Refused, nil, "%s %s; its records are of an earlier version and do not tell to what that held it, so a fork cannot be held to it", kept.called(), why).
				next("`fork %s --agent FILE \"…\"` gives the fork a definition that says all that it may do", kept.called())
		}
		c.cfg.Progress(kept.called() + " " + why + ", and its records are of an earlier version, which do not tell to what that held it: only the definition that is given holds " + a.called())
	}
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

// untold is why something may have bound the origin of a fork that its records, of an earlier version, do not tell; empty:
// they tell, or nothing can have.
func untold(kept keptPoint) string {
	if kept.newest.HeldTo != nil {
		return ""
	}
	handed := func(s domain.StepExecution) bool { return s.Step.Agent != "" }
	for _, r := range kept.session {
		switch _, below := r.FinalState.ParentAgentID(); {
		case below:
			return "was a sub-agent"
		case forkedFrom(r.Origin, r.AgentID):
			return "was forked from another agent"
		case slices.ContainsFunc(r.Steps, handed):
			return "was handed over by another agent"
		}
	}
	return ""
}

// forkedFrom reports whether an execution, or one that it goes on from, was forked from that of another agent.
func forkedFrom(o *domain.Origin, id domain.AgentID) bool {
	for ; o != nil; o = o.Origin {
		if !o.AgentID.IsZero() && o.AgentID != id {
			return true
		}
	}
	return false
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
