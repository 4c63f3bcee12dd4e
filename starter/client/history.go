package client

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sort"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

func (c *Client) reader(a agent) history.Reader {
	return history.Reader{
		Service: c.temporal.WorkflowService(), Converter: c.cfg.Converter, Namespace: c.cfg.Namespace, Workflow: a.workflowID(),
	}
}

// previous is the run that one goes on from, that of an earlier workflow too.
func (c *Client) previous(ctx context.Context, a agent, runID string) (string, error) {
	began, err := c.reader(a).First(ctx, runID)
	return began.Previous(), err
}

// untilClosed waits until a run and those that go on from it have ended, and says how the last one did.
func (c *Client) untilClosed(ctx context.Context, a agent, first, runID string) (history.RunEnded, error) {
	for {
		ended, err := c.reader(a).Closed(ctx, runID, c.connection)
		next := ended.Next
		if err == nil && ended.Terminated { // as by a reset, after which another run goes on
			var now snapshot
			if now, err = c.snapshot(ctx, a, ""); err == nil && now.firstRunID() == first && now.runID() != runID {
				next = now.runID()
			}
		}
		if err != nil || next == "" {
			err = goneIfDeleted(err, "run %s of %s has been deleted", runID, a.called())
			return ended, a.fail(ctx, "waiting for the end of", err)
		}
		runID = next
	}
}

// connection tells that the server is away, and why; nil: that it is back.
func (c *Client) connection(away error) {
	if away != nil {
		c.cfg.Progress("the server does not answer; waiting for it to come back")
		return
	}
	c.cfg.Progress("the server is back")
}

// A Moment is an event of an agent's execution. What is read of it is as the workflow task has left it in which the event came:
// an agent decides in such tasks, each of which may have several events.
type Moment struct {
	// Execution is its number; zero is the newest.
	Execution int
	// Event is the event's sequence number in the execution, from 1.
	Event int
}

// StatusAt says what an agent was doing at a moment, by a replay of its history, and when that was. It needs no worker. What
// only the server knows, such as attempts and heartbeats, is not told.
func (c *Client) StatusAt(ctx context.Context, id string, at Moment) (v account.Status, when time.Time, err error) {
	r, all, err := c.accountAt(ctx, id, at)
	if err != nil {
		return v, when, err
	}
	v = r.headStatus(all)
	v.History.Events, v.AtEvent = int64(len(r.upTo)), at.Event
	for _, event := range r.upTo {
		v.History.Bytes += int64(proto.Size(event))
	}
	return v, r.upTo[len(r.upTo)-1].GetEventTime().AsTime(), nil
}

// MessagesAt yields the agent's transcript as Messages does, as it was at a moment, and says what of it the model was not shown.
func (c *Client) MessagesAt(ctx context.Context, id string, at Moment) (iter.Seq2[domain.Entry, error], domain.Edits, error) {
	_, all, err := c.accountAt(ctx, id, at, account.Messages)
	if err != nil {
		return nil, domain.Edits{}, err
	}
	return func(yield func(domain.Entry, error) bool) {
		yieldAll(account.Messages, all.Messages, account.MessageIndex, all.Missing, yield)
	}, all.Head.Position.Edits, nil
}

// accountAt reads parts of an account as they were at a moment, and its head.
func (c *Client) accountAt(ctx context.Context, id string, at Moment, want ...account.Part) (accountReader, account.Account, error) {
	r, err := c.readerAt(ctx, id, at)
	if err != nil {
		return r, account.Account{}, fail(ctx, id, "reading the history of "+id, goneIfDeleted(err, "event: the history of event %d of %s has been deleted", at.Event, id))
	}
	r.request = account.RequestOf(0, append(want, account.HeadOf)...)
	all, err := r.read(ctx)
	return r, all, fail(ctx, id, "reading the account of "+id, err)
}

// readerAt finds the run in which an event came, and reads it up to the event's workflow task.
func (c *Client) readerAt(ctx context.Context, id string, at Moment) (r accountReader, err error) {
	if at.Event < 1 {
		return r, invalidf("event: is %d; events are counted from 1", at.Event)
	}
	newest, err := c.execution(ctx, id, at.Execution)
	switch {
	case err != nil:
		return r, err
	case newest.Server.Source == contract.FromRecords:
		return r, gone("event: only the records are left of %s, and they do not tell how it was at an event", id)
	case len(newest.Executions) == 0:
		return r, notFound("event: %s has no event yet", id)
	}
	a, _ := agentOf(id) // it was read
	e, last := newest.Executions[0], 0
	for runID := e.RunID; runID != ""; {
		run, err := c.described(ctx, a, runID)
		if err != nil {
			return r, err
		}
		r = accountReader{client: c, snapshot: run, request: account.RequestOf(e.Number, account.Events)}
		if r.upTo, err = r.history(ctx, runID); err != nil {
			return r, err
		}
		held := r.replayed(ctx, runID)
		if held.err != nil {
			return r, held.err
		}
		n := len(held.Events)
		if last == 0 && n > 0 {
			last = int(held.Events[n-1].Sequence)
		}
		if at.Event > last {
			return r, notFound("event: execution %d of %s has no event %d; it has those from 1 to %d", e.Number, id, at.Event, last)
		}
		if n > 0 && int64(at.Event) >= held.Events[0].Sequence {
			return r.until(ctx, int64(at.Event))
		}
		if runID, err = c.previous(ctx, a, runID); err != nil {
			return r, err
		}
	}
	return r, gone("event: the run with event %d of execution %d of %s can no longer be read", at.Event, e.Number, id)
}

// until returns the reader of a run up to the workflow task in which an event came.
func (r accountReader) until(ctx context.Context, event int64) (_ accountReader, err error) {
	ends := taskEnds(r.upTo)
	whole, runID := r.upTo, r.runID()
	first := sort.Search(len(ends)-1, func(i int) bool {
		r.upTo = whole[:ends[i]]
		told := r.replayed(ctx, runID)
		err = cmp.Or(err, told.err)
		return err != nil || slices.ContainsFunc(told.Events, func(e domain.Event) bool { return e.Sequence == event })
	})
	r.upTo = whole[:ends[first]]
	return r, err
}

// taskEnds are the places in a history behind each completed workflow task, and what it has done: where the next task begins.
func taskEnds(events []*historypb.HistoryEvent) (ends []int) {
	completed := false
	for i, e := range events {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			completed = true
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:
			if completed {
				ends = append(ends, i)
			}
			completed = false
		default:
		}
	}
	return append(ends, len(events))
}
