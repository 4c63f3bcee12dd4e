package client

import (
	"context"
	"iter"
	"slices"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"everstep/domain/progress"
	"everstep/starter/client/internal/history"
)

func (c *Client) reader(a agent) history.Reader {
	return history.Reader{
		Service: c.temporal.WorkflowService(), Converter: c.cfg.Converter, Namespace: c.cfg.Namespace, Workflow: a.workflowID(),
	}
}

// History yields all that the histories of an agent's workflow record, the
// oldest first, from a run on and over those that continue it; the empty run is
// the workflow's first. It needs no worker and does not wait for more. What
// cannot be read is among the facts; an error ends it.
func (c *Client) History(ctx context.Context, id, runID string) iter.Seq2[progress.Recorded, error] {
	return func(yield func(progress.Recorded, error) bool) {
		s, err := c.describe(ctx, id)
		if err != nil {
			yield(progress.Recorded{}, err)
			return
		}
		if runID == "" {
			runID = s.firstRunID()
		}
		for runID != "" {
			next := ""
			for recorded, err := range c.reader(s.agent).Forwards(ctx, runID) {
				if err != nil {
					yield(progress.Recorded{}, fail(ctx, id, "reading the history of "+id, goneIfDeleted(err, "run %s of %s has been deleted", runID, id)))
					return
				}
				if !yield(recorded, nil) {
					return
				}
				if ended, ok := recorded.Fact.(progress.RunEnded); ok {
					next = ended.Next
				}
			}
			runID = next
		}
	}
}

// previous returns the run that a run goes on from, that of an earlier workflow
// too, empty where there is none.
func (c *Client) previous(ctx context.Context, a agent, runID string) (string, error) {
	began, err := c.reader(a).First(ctx, runID)
	return began.Previous(), err
}

// chain yields the history of a run and of those that follow it, from the
// beginning of the run on, and waits for more. It ends after the fact with
// which the last run ended. Where the server goes away it says so once and
// tries again until ctx ends.
func (c *Client) chain(ctx context.Context, s snapshot, runID string) iter.Seq2[history.Item, error] {
	return func(yield func(history.Item, error) bool) {
		reset := false
		for runID != "" {
			var ended progress.RunEnded
			for it, err := range c.reader(s.agent).Follow(ctx, runID, reset) {
				if err != nil {
					err = goneIfDeleted(err, "run %s of %s has been deleted", runID, s.called())
					yield(history.Item{}, fail(ctx, s.called(), "following "+s.called(), err))
					return
				}
				if !yield(it, nil) {
					return
				}
				if end, ok := it.Fact.(progress.RunEnded); ok {
					ended = end
				}
			}
			var err error
			if runID, reset, err = c.following(ctx, s, runID, ended); err != nil {
				yield(history.Item{}, fail(ctx, s.called(), "following "+s.called(), err))
				return
			}
		}
	}
}

// following returns the run that goes on from the one that ended, empty where
// none does, and whether it was reset.
func (c *Client) following(ctx context.Context, s snapshot, runID string, ended progress.RunEnded) (string, bool, error) {
	if ended.How != progress.Terminated {
		return ended.Next, false, nil
	}
	now, err := c.snapshot(ctx, s.agent, "")
	if err != nil || now.firstRunID() != s.firstRunID() || now.runID() == runID {
		return "", false, err
	}
	return now.runID(), true, nil
}

func (c *Client) connection(it history.Item) {
	switch {
	case it.Away != nil:
		c.cfg.Progress("the server does not answer; waiting for it to come back")
	case it.Back:
		c.cfg.Progress("the server is back")
	}
}

// A news says how far a chain of runs has got: those seen so far, in order, and
// over that no other will come, and why.
type news struct {
	runs []string
	over bool
	err  error
}

// along looks at each run of the chain that begins with one whenever it has got
// on, however slow the look is, until look answers true, or the chain is over:
// then it reports false. The history tells it, by a long poll.
func (c *Client) along(ctx context.Context, s snapshot, runID string, look func(runID string) (bool, error)) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	newest := make(chan news, 1)
	go c.report(ctx, s, runID, newest)
	now := news{runs: []string{runID}}
	for at := 0; ; {
		// What is known of the run by now holds for all that is asked from now on.
		if done, err := look(now.runs[at]); done || err != nil {
			return done, err
		}
		switch {
		case at+1 < len(now.runs):
			at++
			continue
		case now.over:
			return false, now.err
		}
		select {
		case now = <-newest:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// report reads a chain to its end. What it has to say replaces what nobody has
// taken yet.
func (c *Client) report(ctx context.Context, s snapshot, runID string, newest chan news) {
	n := news{runs: []string{runID}}
	tell := func() {
		select {
		case <-newest:
		default:
		}
		newest <- n
	}
	defer tell()
	for it, err := range c.chain(ctx, s, runID) {
		if n.err = err; err != nil {
			break
		}
		c.connection(it)
		switch it.Fact.(type) {
		case progress.TaskDone, progress.RunEnded:
			// The workflow changes by workflow tasks alone, so that the many events
			// of one need one look.
			if n.runs[len(n.runs)-1] != it.Run {
				n.runs = append(slices.Clip(n.runs), it.Run)
			}
			tell()
		}
	}
	n.over = true
}

// FactsOf makes facts of a run's history as it was exported, in its order.
func FactsOf(exported *historypb.History, c converter.DataConverter) iter.Seq[progress.Recorded] {
	id := ""
	if events := exported.GetEvents(); len(events) > 0 {
		id = events[0].GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId()
	}
	return history.Decode(c, id, exported.GetEvents())
}
