package client

import (
	"context"
	"errors"

	"everstep/domain"
	"everstep/domain/progress"
)

// Wait waits until an execution has ended, in whatever way, and returns its
// result. Number zero is the newest execution at the time of the call. It
// polls nothing and needs no worker; it outlives restarts of the server.
func (c *Client) Wait(ctx context.Context, id string, number int) (Result, error) {
	p, number, err := c.locateExecution(ctx, id, number)
	if err != nil {
		return Result{}, err
	}
	outcome, err := c.outcome(ctx, p, number)
	last := p.runID()
	if errors.Is(err, errUnfinished) {
		outcome, last, err = c.await(ctx, p, number)
	}
	if err != nil {
		return Result{}, fail(ctx, id, "waiting for "+id, err)
	}
	return c.result(ctx, p, last, outcome)
}

// locateExecution locates an agent and the execution that a caller means; zero
// is the newest.
func (c *Client) locateExecution(ctx context.Context, id string, number int) (position, int, error) {
	if number < 0 {
		return position{}, 0, errorf(Invalid, nil, "execution: is %d; executions are counted from 1", number)
	}
	p, err := c.locate(ctx, id)
	switch {
	case err != nil:
		return position{}, 0, err
	case number > p.number:
		return position{}, 0, errorf(NotFound, nil, "execution: %s has no execution %d; its newest is %d", id, number, p.number)
	case number == 0:
		number = p.number
	case number < p.number && p.name == "":
		p, err = c.earlier(ctx, p, number)
		return p, number, err
	}
	return p, number, nil
}

// errUnfinished says that an execution is in progress.
var errUnfinished = errors.New("the execution is in progress")

// outcome returns how an execution ended, or errUnfinished.
func (c *Client) outcome(ctx context.Context, p position, number int) (domain.Outcome, error) {
	switch {
	case number < p.number:
		return c.past(ctx, p.snapshot, number)
	case p.ended == nil:
		return domain.Outcome{}, errUnfinished
	}
	return *p.ended, nil
}

// await follows the history until an execution has ended, and says in which run.
func (c *Client) await(ctx context.Context, p position, number int) (domain.Outcome, string, error) {
	last := p.runID()
	for it, err := range c.chain(ctx, p.snapshot, p.runID()) {
		if err != nil {
			return domain.Outcome{}, "", err
		}
		c.connection(it)
		if it.Fact == nil {
			continue
		}
		last = it.Run
		outcome, ok := progress.OutcomeOf(it.Fact)
		if ok && outcome.Number == number {
			return outcome, last, nil
		}
		if ok && outcome.Number > number {
			outcome, err := c.past(ctx, p.snapshot, number)
			return outcome, last, err
		}
	}
	outcome, err := c.closed(ctx, p, number)
	return outcome, last, err
}

// closed returns the outcome of an execution whose workflow has ended without
// saying it.
func (c *Client) closed(ctx context.Context, p position, number int) (domain.Outcome, error) {
	now, err := c.locate(ctx, p.called())
	if err != nil {
		return domain.Outcome{}, err
	}
	if now.firstRunID() == p.firstRunID() && now.number == number && now.ended != nil {
		return *now.ended, nil
	}
	return domain.Outcome{}, gone("execution: nothing is left of execution %d of %s", number, p.called())
}

// past looks through the runs, the newest first, for how an earlier execution
// ended.
func (c *Client) past(ctx context.Context, s snapshot, number int) (domain.Outcome, error) {
	for recorded, err := range c.reader(s.agent).BackwardsChain(ctx, s.runID()) {
		if err != nil {
			return domain.Outcome{}, goneIfDeleted(err, "execution %d of %s: its run has been deleted", number, s.called())
		}
		if outcome, ok := progress.OutcomeOf(recorded.Fact); ok && outcome.Number == number {
			return outcome, nil
		}
	}
	return domain.Outcome{}, gone("execution: nothing is left of execution %d of %s", number, s.called())
}
