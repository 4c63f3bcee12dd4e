package client

import (
	"context"
)

// earlier finds the workflow in which an agent without a name had an execution
// before its newest. Each of its workflows has one, and knows the one before.
func (c *Client) earlier(ctx context.Context, p position, number int) (position, error) {
	left := func() *Error {
		return gone("execution: nothing is left of execution %d of %s", number, p.called())
	}
	for p.number > number {
		before, err := c.previous(ctx, p.snapshot, p.firstRunID())
		if deleted(err) || err == nil && before == "" {
			return position{}, left()
		}
		if err != nil {
			return position{}, fail(ctx, p.called(), "reading the history of "+p.called(), err)
		}
		s, err := c.snapshotOf(ctx, p.agent, before)
		if deleted(err) {
			return position{}, left()
		}
		if err == nil {
			p, err = c.position(ctx, s)
		}
		if err != nil {
			return position{}, fail(ctx, s.called(), "reading the history of "+s.called(), err)
		}
	}
	if p.number != number {
		return position{}, left()
	}
	p.left = true
	return p, nil
}
