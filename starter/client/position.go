package client

import (
	"context"
	"errors"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"

	"everstep/starter/client/internal/history"
	"everstep/workflows/replay"
)

// A position says where an agent stands, by what its workflow has noted in the memo.
type position struct {
	snapshot
	// number is that of the newest execution.
	number int
	// ended says how that execution ended; nil: it is in progress.
	ended *contract.Outcome
	// byServer means that the server ended it, and not the workflow.
	byServer bool
}

// locate finds out, without a worker, which execution is the newest and whether it has ended.
func (c *Client) locate(ctx context.Context, id string) (position, error) {
	s, err := c.describe(ctx, id)
	return s.position(), err
}

// position is where the agent stood when it was described.
func (s snapshot) position() position {
	p := position{snapshot: s, number: s.head.Number}
	if s.outcome != nil && s.outcome.Number >= p.number {
		p.number, p.ended = s.outcome.Number, s.outcome
		return p
	}
	if cut, ok := history.ServerEnd(s.info().GetStatus()); ok { // while it was in progress
		cut.AgentID, cut.ExecutionID, cut.Number = s.id, s.executionID(p.number), p.number
		p.ended, p.byServer = &cut, true
	}
	return p
}

// A target is the execution of an agent that a caller means.
type target struct {
	position
	// asked is its number.
	asked int
	// outcome says how it ended; nil: it has not, or unread: nobody can read how.
	outcome *contract.Outcome
	unread  bool
}

func (t target) want() domain.ExecutionID {
	if t.outcome != nil && !t.outcome.ExecutionID.IsZero() { // one of an earlier workflow has another than it would have in this one
		return t.outcome.ExecutionID
	}
	return t.executionID(t.asked)
}

// target locates the execution that a caller means; zero is the newest.
func (c *Client) target(ctx context.Context, id string, number int) (target, error) {
	if number < 0 {
		return target{}, errorf(Invalid, nil, "execution: is %d; executions are counted from 1", number)
	}
	p, err := c.locate(ctx, id)
	switch {
	case err != nil:
		return target{}, err
	case number == p.number+1 && p.beginsNext():
		p.number, p.ended = number, nil
	case number > p.number:
		return target{}, errorf(NotFound, nil, "execution: %s has no execution %d; its newest is %d", id, number, p.number)
	case number > 0 && number < p.number:
		return c.earlier(ctx, p, number)
	}
	return target{position: p, asked: p.number, outcome: p.ended}, nil
}

// beginsNext reports whether messages that the newest execution has left unread begin the next one, as soon as that is recorded.
func (p position) beginsNext() bool {
	return p.name != "" && p.open() && p.ended != nil && p.ended.Unread > 0
}

// earlier is an execution before the newest.
func (c *Client) earlier(ctx context.Context, p position, number int) (target, error) {
	if p.name == "" {
		return c.earlierWorkflow(ctx, p, number)
	}
	t := target{position: p, asked: number}
	all, err := c.accountOf(ctx, p.snapshot, account.Request{Want: []account.Part{account.HeadOf, account.Executions}, Execution: number})
	if _, differs := errors.AsType[*replay.Error](err); differs {
		t.unread = true
		return t, nil
	}
	if err == nil && len(all.Executions) == 0 {
		err = p.vanished(number)
	}
	if err != nil {
		return t, fail(ctx, p.called(), "reading the executions of "+p.called(), err)
	}
	t.outcome = &all.Executions[0].Outcome
	return t, nil
}

// earlierWorkflow finds an execution of an agent without a name, of which each has a workflow of its own, that knows the one before.
func (c *Client) earlierWorkflow(ctx context.Context, p position, number int) (target, error) {
	for p.number > number {
		before, err := c.previous(ctx, p.agent, p.firstRunID())
		var s snapshot
		if err == nil && before != "" {
			s, err = c.snapshot(ctx, p.agent, before)
		}
		switch {
		case deleted(err), err == nil && before == "":
			return target{}, p.vanished(number)
		case err != nil:
			return target{}, fail(ctx, p.called(), "reading the history of "+p.called(), err)
		}
		p = s.position()
	}
	if p.number != number {
		return target{}, p.vanished(number)
	}
	return target{position: p, asked: number, outcome: p.ended}, nil
}

func (a agent) vanished(number int) *Error {
	return gone("execution: nothing is left of execution %d of %s", number, a.called())
}
