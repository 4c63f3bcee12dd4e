package client

import (
	"context"
	"iter"
	"math"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
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
// and goes on; any other error ends it. It needs a worker: for an execution in
// progress it waits until one is up, and Config.Progress is told.
func (c *Client) Events(ctx context.Context, id string, o EventsOptions) iter.Seq2[domain.Event, error] {
	return sequence(ctx, id, "reading the events of ", func(yield func(domain.Event, error) bool) error {
		err := c.events(ctx, id, o, yield)
		if lostToServer(err) {
			if a, r, ok, _ := c.kept(ctx, id, o.Number); ok {
				return errorf(Gone, err, "the events of execution %d of %s can no longer be read: its record does not have them", r.Number, a.called()).
					next("`watch %s --execution %d` shows its steps", a.called(), r.Number)
			}
		}
		return err
	})
}

func (c *Client) events(ctx context.Context, id string, o EventsOptions, yield func(domain.Event, error) bool) error {
	if o.After < 0 {
		return errorf(Invalid, nil, "after: is %d; events are counted from 1", o.After)
	}
	t, err := c.target(ctx, id, o.Number)
	if err != nil {
		return err
	}
	r := &eventReader{telling: telling{client: c, target: t, insists: t.running()}, last: o.After, yield: yield}
	parts, err := c.parts(ctx, t.agent, t.runID(), int(o.After)+1, t.part(func(took progress.Takeover) int { return took.FirstEvent }))
	if err != nil {
		return err
	}
	for _, part := range parts {
		if r.insists && part.runID == t.runID() {
			break
		}
		if done, err := r.read(ctx, part.runID); done || err != nil {
			return err
		}
	}
	if !r.insists {
		return r.unended(t.position)
	}
	done, err := c.along(ctx, t.snapshot, t.runID(), func(runID string) (bool, error) { return r.read(ctx, runID) })
	if done || err != nil {
		return err
	}
	now, err := c.locate(ctx, id)
	if err != nil {
		return err
	}
	return r.unended(now)
}

// An eventReader gives out the events of one execution, to one goroutine.
type eventReader struct {
	telling
	// last is the sequence number of the newest event given out.
	last  int64
	yield func(domain.Event, error) bool
}

func (r *eventReader) page(ctx context.Context, runID string, after int64) (contract.EventsPage, error) {
	return tell(ctx, &r.telling, runID, contract.QueryEvents, contract.EventsRequest{Number: r.asked, After: after})
}

// read gives out what a run has beyond the last event. done: there is no more, or none is wanted.
func (r *eventReader) read(ctx context.Context, runID string) (bool, error) {
	done := false
	held := joining[domain.Event, contract.EventsPage]{
		what:   "events",
		number: func(e domain.Event) int { return int(e.Head().Sequence) },
		ask: func(ctx context.Context, of part, from int, _ contract.LargePage) (contract.EventsPage, error) {
			return r.page(ctx, of.runID, int64(from-1))
		},
		open: func(page contract.EventsPage) (events []domain.Event, more bool) {
			if page.ExecutionID != r.want() {
				return nil, false
			}
			for _, event := range page.Events {
				events = append(events, event.Event)
			}
			done = page.Ended
			return events, page.More && !done
		},
	}
	next := int(r.last) + 1
	err := held.over(ctx, []part{{runID: runID, first: next, end: math.MaxInt}}, next, func(event domain.Event, err error) bool {
		if err == nil {
			r.last = event.Head().Sequence
		}
		more := r.yield(event, err)
		done = done || !more
		return more
	})
	return done, err
}

// unended says why there is no end among the events.
func (r *eventReader) unended(now position) error {
	if now.byServer && now.number == r.asked {
		return errorf(Failed, nil, "execution %d of %s was ended by the server (%s), so no event says how it ended", r.asked, r.called(), now.ended.Code)
	}
	return gone("the events of execution %d of %s after %d can no longer be read", r.asked, r.called(), r.last)
}
