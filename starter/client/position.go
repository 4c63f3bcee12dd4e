package client

import (
	"context"

	"everstep/domain/account"
	"everstep/domain/contract"

	"everstep/workflows/replay"
)

// A target is the execution of an agent that a caller means.
type target struct {
	snapshot
	// asked is its number.
	asked int
	// outcome says how it ended; nil: it has not, or unread: nobody can read how.
	outcome *contract.Outcome
	unread  bool
}

// target locates the execution that a caller means; zero is the newest.
func (c *Client) target(ctx context.Context, id string, number int) (none target, _ error) {
	if number < 0 {
		return none, invalidf("execution: is %d; executions are counted from 1", number)
	}
	p, err := c.describe(ctx, id)
	switch {
	case err != nil:
		return none, err
	case number == p.number+1 && p.beginsNext():
		p.number, p.ended = number, nil
	case number > p.number:
		return none, notFound("execution: %s has no execution %d; its newest is %d", id, number, p.number)
	case number > 0 && number < p.number:
		return c.earlier(ctx, p, number)
	}
	return target{snapshot: p, asked: p.number, outcome: p.ended}, nil
}

// beginsNext reports whether messages that the newest execution has left unread begin the next one, as soon as that is recorded.
func (s snapshot) beginsNext() bool {
	return s.name != "" && s.open() && s.ended != nil && s.ended.Unread > 0
}

// earlier is an execution before the newest.
func (c *Client) earlier(ctx context.Context, p snapshot, number int) (target, error) {
	if p.name == "" {
		return c.earlierWorkflow(ctx, p, number)
	}
	t := target{snapshot: p, asked: number}
	all, err := c.accountOf(ctx, p, account.RequestOf(number, account.HeadOf, account.Executions), 0)
	if isAs[*replay.Error](err) {
		t.unread = true
		return t, nil
	}
	if err == nil && len(all.Executions) == 0 {
		err = p.vanished(number)
	}
	if err != nil {
		return t, p.fail(ctx, "reading the executions of", err)
	}
	t.outcome = &all.Executions[0].Outcome
	return t, nil
}

// earlierWorkflow finds an execution of an agent without a name, of which each has a workflow of its own, that knows the one before.
func (c *Client) earlierWorkflow(ctx context.Context, p snapshot, number int) (none target, _ error) {
	for p.number > number {
		before, err := c.previous(ctx, p.agent, p.firstRunID())
		var s snapshot
		if err == nil && before != "" {
			s, err = c.snapshot(ctx, p.agent, before)
		}
		switch {
		case deleted(err), err == nil && before == "":
			return none, p.vanished(number)
		case err != nil:
			return none, p.fail(ctx, "reading the history of", err)
		}
		p = s
	}
	if p.number != number {
		return none, p.vanished(number)
	}
	return target{snapshot: p, asked: number, outcome: p.ended}, nil
}

func (a agent) vanished(number int) *Error {
	return gone("execution: nothing is left of execution %d of %s", number, a.called())
}
