package client

import (
	"context"
	"iter"
	"math"

	"everstep/domain"
	"everstep/domain/contract"
)

// EventsOptions choose events. The zero value is all of the newest execution.
type EventsOptions struct {
	// Number names the execution. Zero: the newest.
	Number int
	// After is the last sequence number that the caller has.
	After int64
}

// Events yields the events of an execution as they happen, each once, in order,
// to the end of the execution. It can be begun at any time, also after the end,
// and gives the same events each time; breaking out of the loop leaves the
// execution as it is. Where some can no longer be read it yields an error of
// class Gone that says which, and goes on; any other error ends it.
//
// The workflow is asked whenever its history has grown, so it needs a worker:
// for an execution in progress it waits until one is up, and Config.Progress is
// told.
func (c *Client) Events(ctx context.Context, id string, o EventsOptions) iter.Seq2[domain.Event, error] {
	return func(yield func(domain.Event, error) bool) {
		if err := c.events(ctx, id, o, yield); err != nil {
			yield(nil, readFailure(ctx, id, "reading the events of "+id, err))
		}
	}
}

func (c *Client) events(ctx context.Context, id string, o EventsOptions, yield func(domain.Event, error) bool) error {
	if o.After < 0 {
		return errorf(Invalid, nil, "after: is %d; events are counted from 1", o.After)
	}
	p, number, err := c.locateExecution(ctx, id, o.Number)
	if err != nil {
		return err
	}
	follows := number == p.number && p.ended == nil
	r := &eventReader{
		telling: telling{client: c, snapshot: p.snapshot, insists: follows},
		number:  number, id: p.executionID(number), last: o.After, yield: yield,
	}
	parts, held, err := c.parts(ctx, p.snapshot, int(o.After)+1, func(runID string) (holding, error) { return r.holds(ctx, runID) })
	if err != nil {
		return err
	}
	if !held && !follows {
		return gone("the events of execution %d of %s have left the runs that can still be asked", number, id)
	}
	for _, part := range parts {
		if follows && part.runID == p.runID() {
			break
		}
		if done, err := r.read(ctx, part.runID); done || err != nil {
			return err
		}
	}
	if follows {
		return r.follow(ctx, p)
	}
	return r.unended(p)
}

// An eventReader gives out the events of one execution. It is used by one
// goroutine.
type eventReader struct {
	telling
	number int
	id     domain.ExecutionID
	// last is the sequence number of the newest event given out.
	last  int64
	yield func(domain.Event, error) bool
}

// holds asks a run which events it has.
func (r *eventReader) holds(ctx context.Context, runID string) (holding, error) {
	page, err := tell(ctx, &r.telling, runID, contract.QueryEvents, contract.EventsRequest{Number: r.number, After: math.MaxInt64})
	if err != nil {
		return holding{}, unheld(err, !r.insists)
	}
	h := holding{part: part{runID: runID}, held: page.ExecutionID == r.id}
	if page.First > 0 {
		h.first, h.end = int(page.First), math.MaxInt
	}
	return h, nil
}

// read gives out what a run has beyond the last event. It reports true where
// that was the execution's last, or the caller wants no more.
func (r *eventReader) read(ctx context.Context, runID string) (bool, error) {
	for {
		page, err := tell(ctx, &r.telling, runID, contract.QueryEvents, contract.EventsRequest{Number: r.number, After: r.last})
		if err != nil {
			return false, err
		}
		if page.ExecutionID != r.id {
			return false, nil
		}
		for _, event := range page.Events {
			if !r.give(event.Event) {
				return true, nil
			}
		}
		if page.Ended || !page.More || len(page.Events) == 0 {
			return page.Ended, nil
		}
	}
}

// give gives out an event, unless it was before.
func (r *eventReader) give(event domain.Event) bool {
	sequence := event.Head().Sequence
	if sequence <= r.last {
		return true
	}
	missing := gone("events %d to %d can no longer be read", r.last+1, sequence-1)
	if sequence > r.last+1 && !r.yield(nil, missing) {
		return false
	}
	r.last = sequence
	return r.yield(event, nil)
}

// follow gives out events as they happen.
func (r *eventReader) follow(ctx context.Context, p position) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g := r.client.watchRuns(ctx, p.snapshot, p.runID())
	done, err := g.along(ctx, p.runID(), func(runID string) (bool, error) { return r.read(ctx, runID) })
	if done || err != nil {
		return err
	}
	now, err := r.client.locate(ctx, p.called())
	if err != nil {
		return err
	}
	return r.unended(now)
}

// unended says why there is no end among the events.
func (r *eventReader) unended(p position) error {
	if p.byServer && p.number == r.number {
		return errorf(Failed, nil, "execution %d of %s was ended by the server (%s), so no event says how it ended", r.number, p.called(), p.ended.Code)
	}
	return gone("the events of execution %d of %s after %d can no longer be read", r.number, p.called(), r.last)
}
