package client

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"everstep/domain"
	"everstep/domain/contract"
)

// A SessionExtended says what a session may use from now on.
type SessionExtended struct {
	// Execution is the newest one, or where Began says so the one that began.
	Execution
	Began bool `json:"began"`
	// InProgress says that it goes on under the new totals.
	InProgress bool `json:"in_progress"`
	// Budget has the totals in force, and Left what the session's executions leave of them.
	Budget domain.ExecutionBudget `json:"session_budget"`
	Left   domain.ExecutionBudget `json:"session_budget_left"`
	// Spent is what its executions have used, the one in progress included. Where that is as much as a total, or more,
	// nothing can begin, and what is in progress stops.
	Spent domain.Spent `json:"session_spent"`
}

// Account is the session's, as it stands now.
func (x SessionExtended) Account() domain.Holder {
	return domain.Holder{Budget: x.Budget, Spent: x.Spent}
}

// ExtendSession gives a session that has a budget over all its executions new totals of it, at least one. They hold for
// the execution in progress, too. In an open session nothing begins by that: Extend goes on with what was stopped, Send
// begins what is next. An agent without a name whose execution was stopped or failed goes on at once, as by Extend,
// since its workflow has ended. Totals replace those of the definition, so that a repeated call does no harm. There are
// no limits of time over a session. It needs a worker, as Send does.
func (c *Client) ExtendSession(ctx context.Context, id string, o ExtendOptions) (SessionExtended, error) {
	if err := (contract.ExtendSessionRequest{Budget: o.Budget, Lift: o.Lift}).Check(); err != nil {
		return SessionExtended{}, invalid(err)
	}
	o.RequestID = cmp.Or(requestID(o.RequestID, contract.UpdateExtendSession, o), uuid.NewString())
	return whereItStands(ctx, c, id, "extending", func(p snapshot) (SessionExtended, error) { return c.extendSessionAt(ctx, p, o) })
}

// extendSessionAt returns what the workflow refuses as it is.
func (c *Client) extendSessionAt(ctx context.Context, p snapshot, o ExtendOptions) (none SessionExtended, _ error) {
	switch {
	case p.ended == nil || p.open() && p.name != "":
	case p.ended.Status == domain.StatusCompleted:
		return none, p.nothingLeft()
	case p.name != "":
		return none, ended(p.called(), nil)
	default:
		began, err := c.goOn(ctx, p, o, true)
		return SessionExtended{Execution: began.Execution, Began: true, InProgress: true, Budget: began.account.Budget, Left: began.account.Left(), Spent: began.account.Spent}, err
	}
	reply, err := update(ctx, c, p.agent, o.RequestID, contract.UpdateExtendSession, contract.ExtendSessionRequest{
		Budget: o.Budget, Lift: o.Lift, By: c.cfg.By,
	})
	if err != nil {
		return none, err
	}
	return SessionExtended{
		Execution: p.begun(reply.Number, p.executionID(reply.Number), p.runID()), InProgress: reply.InProgress,
		Budget: reply.Account.Budget, Left: reply.Account.Left(), Spent: reply.Account.Spent,
	}, nil
}
