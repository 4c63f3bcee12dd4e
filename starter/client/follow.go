package client

import (
	"context"
	"iter"

	"everstep/domain/progress"
)

// FollowOptions choose what Follow shows. The zero value shows the newest
// execution from its beginning to its end.
type FollowOptions struct {
	// Number is the execution to show from its beginning to its end. Zero: the
	// newest.
	Number int
	// FromNow leaves out what has happened already and goes on over the ends of
	// executions until the workflow itself ends. Number has no effect then.
	FromNow bool
}

// Follow yields what happens to an agent as it happens, with the model's text
// and reasoning while they arrive: see EventText. It can be begun at any
// time and by any number of callers, and costs the workflow nothing. It needs
// no worker. Where the server goes away it says so, and goes on when the server
// is back. It ends after EventEnded, or EventClosed with FromNow; an error ends
// it early. Breaking out of the loop leaves the execution as it is.
func (c *Client) Follow(ctx context.Context, id string, o FollowOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w, runID, err := c.watcher(ctx, id, o)
		if err == nil {
			w.yield = yield
			err = w.run(ctx, runID)
		}
		if err != nil {
			yield(Event{}, fail(ctx, id, "following "+id, err))
		}
	}
}

// watcher prepares to follow an agent, and says from which run on.
func (c *Client) watcher(ctx context.Context, id string, o FollowOptions) (*watcher, string, error) {
	number := o.Number
	if o.FromNow {
		number = 0
	}
	p, number, err := c.locateExecution(ctx, id, number)
	if err != nil {
		return nil, "", err
	}
	w := &watcher{client: c, snapshot: p.snapshot, reducer: newWatchReducer(p.snapshot), number: number}
	if o.FromNow {
		w.number, w.quietRun, w.quietUntil = 0, p.runID(), p.info().GetHistoryLength()
		return w, p.runID(), nil
	}
	runID, err := c.beginning(ctx, p.snapshot, number)
	return w, runID, err
}

// beginning returns the run in which an execution began, or the earliest after
// it that is still there.
func (c *Client) beginning(ctx context.Context, s snapshot, number int) (string, error) {
	runID := s.runID()
	for {
		began, err := c.reader(s.agent).First(ctx, runID)
		if err != nil {
			return "", err
		}
		before := began.Continues
		if !began.Readable() || before == "" || progress.Carried(began.Input).Number < number {
			return runID, nil
		}
		if _, err := c.reader(s.agent).First(ctx, before); deleted(err) {
			return runID, nil
		}
		runID = before
	}
}
