package client

import (
	"context"
	"iter"

	"everstep/domain"
	"everstep/domain/account"
)

// EventsOptions choose events. The zero value is all of the newest execution.
type EventsOptions struct {
	// Number names the execution. Zero: the newest.
	Number int
	// After is the last sequence number that the caller has.
	After int64
}

// Events yields the events of an execution as they happen, each once, in order,
// to its end. It can be begun at any time, also after the end, and gives the same
// events each time; breaking out of the loop leaves the execution as it is. Where
// some can no longer be read it yields an error of class Gone that says which,
// and goes on; any other error ends it. It needs no worker.
func (c *Client) Events(ctx context.Context, id string, o EventsOptions) iter.Seq2[domain.Event, error] {
	return sequence(ctx, id, "reading the events of ", func(yield func(domain.Event, error) bool) error {
		return c.events(ctx, id, o, yield)
	})
}

func (c *Client) events(ctx context.Context, id string, o EventsOptions, yield func(domain.Event, error) bool) error {
	if o.After < 0 {
		return errorf(Invalid, nil, "after: is %d; events are counted from 1", o.After)
	}
	number, err := c.numberOf(ctx, id, o.Number)
	if err != nil {
		return err
	}
	r := &eventReader{client: c, id: id, number: number, last: o.After, yield: yield}
	done, err := c.followed(ctx, id, r.look)
	if done || err != nil {
		return err
	}
	if r.cut != "" {
		return errorf(Failed, nil, "execution %d of %s was ended by the server (%s), so no event says how it ended", number, id, r.cut)
	}
	return gone("the events of execution %d of %s after %d can no longer be read", number, id, r.last)
}

// An eventReader gives out the events of one execution, to one goroutine.
type eventReader struct {
	client *Client
	id     string
	number int
	// last is the sequence number of the newest event given out.
	last  int64
	yield func(domain.Event, error) bool
	// cut says how the server has ended the workflow; empty: it has not.
	cut domain.Code
}

// look gives out what there is beyond the last event. done: there is no more, or none is wanted.
func (r *eventReader) look(ctx context.Context) (done bool, err error) {
	next := account.Cursor{Part: account.Events, Execution: r.number, Item: int(r.last) + 1}
	all, err := r.client.account(ctx, r.id, account.Request{Want: []account.Part{account.Events}, Execution: r.number, From: next})
	if err != nil {
		return false, err
	}
	left := false
	yieldAll(account.Events, all.Events, func(e domain.RecordedEvent) int { return int(e.Head().Sequence) }, all.Missing, func(e domain.RecordedEvent, err error) bool {
		if err == nil {
			r.last = e.Head().Sequence
		}
		left = !r.yield(e.Event, err)
		return !left
	})
	r.cut = all.Server.Ended
	newest := all.Head.Newest
	over := newest != nil && (newest.Number > r.number || newest.Ended != nil && !newest.Closed)
	if over && r.last == 0 && !left {
		return false, gone("the events of execution %d of %s can no longer be read", r.number, r.id)
	}
	return left || over, nil
}
