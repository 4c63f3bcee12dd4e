package client

import (
	"context"
	"iter"
	"sync"

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

// History yields what the histories of an agent's workflow record, the oldest first, from a run on, or
// from the first where that is empty. It needs no worker and does not wait for more. What cannot be
// read is among the facts; an error ends it.
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
			if runID = next; runID == "" && s.settling != nil {
				runID, s = s.newest().runID(), s.newest()
			}
		}
	}
}

// A recordedRun is what the history of a run records, and why no more of it can be read, if so.
type recordedRun struct {
	all []progress.Recorded
	err error
}

// askedAtOnce bounds how many histories are read side by side.
const askedAtOnce = 3

// histories yields what some runs record, in their order, and reads meanwhile those that come next.
func (c *Client) histories(ctx context.Context, a agent, runs []string) iter.Seq[recordedRun] {
	return func(yield func(recordedRun) bool) {
		var reading sync.WaitGroup
		defer reading.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		begun := make([]chan recordedRun, 0, len(runs))
		for i := range runs {
			for k := len(begun); k < min(i+askedAtOnce, len(runs)); k++ {
				done := make(chan recordedRun, 1)
				begun = append(begun, done)
				reading.Go(func() {
					var run recordedRun
					for recorded, err := range c.reader(a).Forwards(ctx, runs[k]) {
						if run.err = err; err == nil {
							run.all = append(run.all, recorded)
						}
					}
					done <- run
				})
			}
			if !yield(<-begun[i]) {
				return
			}
		}
	}
}

// previous is the run that one goes on from, that of an earlier workflow too.
func (c *Client) previous(ctx context.Context, a agent, runID string) (string, error) {
	began, err := c.reader(a).First(ctx, runID)
	return began.Previous(), err
}

// A runs is the chain of an agent's runs, as far as following it takes. Whoever waits for long
// holds it, and not all that the server has said of the workflow.
type runs struct {
	agent
	first string
}

func (s snapshot) runs() runs { return runs{s.agent, s.firstRunID()} }

// chain yields the history of a run and of those that follow it, and waits for more, once. It ends
// after the fact with which the last run ended; a server that goes away it tries until ctx ends.
func (c *Client) chain(ctx context.Context, r history.Reader, s runs, runID string) iter.Seq2[history.Item, error] {
	return c.link(r, s, runID).items(ctx)
}

// link is chain that can be left and taken up again.
func (c *Client) link(r history.Reader, s runs, runID string) *link {
	return &link{runs: s, client: c, reader: r, run: runID}
}

// A link is the run of a chain that is being followed. It holds what is needed for that,
// because the stack of one that waits is memory.
type link struct {
	runs

	client *Client
	reader history.Reader
	run    string
	// reset says that it goes on from a part of the run before, and ended how it ended.
	reset bool
	ended progress.RunEnded
	yield func(history.Item, error) bool
	// following is the run's own, once it has been begun.
	following *history.Following
}

// items are those that were not given out yet. Ranged over again, it goes on. It is used by one goroutine at a time.
func (l *link) items(ctx context.Context) iter.Seq2[history.Item, error] {
	return func(yield func(history.Item, error) bool) { l.follow(ctx, yield) }
}

func (l *link) follow(ctx context.Context, yield func(history.Item, error) bool) {
	l.yield = yield
	for on := true; on && l.run != ""; on = on && l.next(ctx) {
		if l.following == nil {
			l.following = l.reader.Following(l.run, l.reset)
		}
		for it, err := range l.following.Items(ctx) {
			if on = l.pass(ctx, it, err); !on {
				break
			}
		}
	}
}

// pass passes on what comes of the run.
func (l *link) pass(ctx context.Context, it history.Item, err error) bool {
	if err != nil {
		return l.fails(ctx, goneIfDeleted(err, "run %s of %s has been deleted", l.run, l.called()))
	}
	if end, ok := it.Fact.(progress.RunEnded); ok {
		l.ended = end
	}
	return l.yield(it, nil)
}

// next goes on to the run that follows, if there is one.
func (l *link) next(ctx context.Context) bool {
	ended := l.ended
	l.ended, l.following = progress.RunEnded{}, nil
	var err error
	if l.run, l.reset, err = l.client.following(ctx, l.runs, l.run, ended); err != nil {
		return l.fails(ctx, err)
	}
	return true
}

// fails ends the chain.
func (l *link) fails(ctx context.Context, err error) bool {
	l.yield(history.Item{}, fail(ctx, l.called(), "following "+l.called(), err))
	return false
}

// following is the run that goes on from one, and whether it was reset.
func (c *Client) following(ctx context.Context, s runs, runID string, ended progress.RunEnded) (string, bool, error) {
	if ended.How != progress.Terminated {
		return ended.Next, false, nil
	}
	now, err := c.snapshot(ctx, s.agent, "")
	if err != nil || now.firstRunID() != s.first || now.runID() == runID {
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

// along looks at each run of the chain from one on whenever it has got on, until look answers
// true, or the chain is over: then it reports false.
func (c *Client) along(ctx context.Context, s snapshot, runID string, look func(runID string) (bool, error)) (bool, error) {
	if done, err := look(runID); done || err != nil {
		return done, err
	}
	changed := false
	for it, err := range c.chain(ctx, c.reader(s.agent), s.runs(), runID) {
		if err != nil {
			return false, err
		}
		c.connection(it)
		switch it.Fact.(type) {
		case progress.TaskDone, progress.RunEnded: // the workflow changes by workflow tasks alone
			changed = true
		}
		if !it.Last || !changed {
			continue
		}
		changed = false
		if done, err := look(it.Run); done || err != nil {
			return done, err
		}
	}
	return false, nil
}

// FactsOf makes facts of a run's history as it was exported, in its order.
func FactsOf(exported *historypb.History, c converter.DataConverter) iter.Seq[progress.Recorded] {
	id := ""
	if events := exported.GetEvents(); len(events) > 0 {
		id = events[0].GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId()
	}
	return history.Decode(c, id, exported.GetEvents())
}
