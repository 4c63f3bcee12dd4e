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
	totals := ExtendOptions{Budget: o.Budget, Lift: o.Lift}
	totals.RequestID = cmp.Or(requestID(o.RequestID, contract.UpdateExtendSession, totals), uuid.NewString())
	return whereItStands(ctx, c, id, "extending", func(p snapshot) (SessionExtended, error) { return c.extendSessionAt(ctx, p, totals) })
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
		gone, err := c.goOn(ctx, p, extension{ExtendOptions: ExtendOptions{RequestID: o.RequestID}, session: &o})
		if err != nil {
			return none, err
		}
		return SessionExtended{Execution: gone.Execution, Began: true, InProgress: true, Budget: gone.account.Budget, Left: gone.account.Left(), Spent: gone.account.Spent}, nil
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

// An extension is what an agent whose workflow has ended goes on with: totals of its next execution, or of its session.
type extension struct {
	ExtendOptions
	session *ExtendOptions
}

// rebudgeted is a state with other totals for its session.
func (x extension) rebudgeted(p snapshot, state domain.AgentState) (domain.AgentState, error) {
	if x.session == nil {
		return state, nil
	}
	account, has := state.Session()
	if !has {
		return state, refused("extend: the session of %s has no budget", p.called()).next("`extend %s` gives its executions other limits", p.called())
	}
	with, err := state.WithSessionBudget(account.Budget.Extended(x.session.Budget, x.session.Lift), state.UpdatedAt)
	if err != nil {
		return state, invalid(err)
	}
	return with, nil
}
