package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"everstep/domain"
	"everstep/domain/progress"
	"everstep/starter/client/internal/history"
)

// reader reads the histories of an agent's workflow.
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
	now, err := c.snapshot(ctx, s.agent)
	if err != nil || now.firstRunID() != s.firstRunID() || now.runID() == runID {
		return "", false, err
	}
	return now.runID(), true, nil
}

// connection tells Config.Progress of news of the connection.
func (c *Client) connection(it history.Item) {
	switch {
	case it.Away != nil:
		c.cfg.Progress("the server does not answer; waiting for it to come back")
	case it.Back:
		c.cfg.Progress("the server is back")
	}
}

// A runWatcher tells that a chain of runs has got on, as often as it does,
// however slow the one is who wants to know. The history tells it, by a long poll.
type runWatcher struct {
	client *Client
	// news holds a token where something has happened since the last one.
	news chan struct{}

	mu sync.Mutex
	// runs are those seen so far, in order.
	runs []string
	over bool
	err  error
}

// watchRuns watches the chain that begins with a run until ctx ends.
func (c *Client) watchRuns(ctx context.Context, s snapshot, runID string) *runWatcher {
	w := &runWatcher{client: c, news: make(chan struct{}, 1), runs: []string{runID}}
	go w.read(ctx, s, runID)
	return w
}

func (w *runWatcher) read(ctx context.Context, s snapshot, runID string) {
	for it, err := range w.client.chain(ctx, s, runID) {
		if err != nil {
			w.note(func() { w.err = err })
			return
		}
		w.client.connection(it)
		switch it.Fact.(type) {
		case progress.TaskDone, progress.RunEnded:
			// The workflow changes by workflow tasks alone, so that the many events
			// of one need one look.
			w.note(func() {
				if w.runs[len(w.runs)-1] != it.Run {
					w.runs = append(w.runs, it.Run)
				}
			})
		}
	}
	w.note(func() { w.over = true })
}

func (w *runWatcher) note(change func()) {
	w.mu.Lock()
	change()
	w.mu.Unlock()
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// after says which run follows one, empty where there is none yet; over that
// none will come, and why. What follows from it about the run holds for all that
// is asked later.
func (w *runWatcher) after(runID string) (next string, over bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.runs, runID); i >= 0 && i+1 < len(w.runs) {
		next = w.runs[i+1]
	}
	return next, w.over, w.err
}

// along looks at each run of the chain whenever it has got on, until look
// answers true, or the chain is over: then it reports false.
func (w *runWatcher) along(ctx context.Context, runID string, look func(runID string) (bool, error)) (bool, error) {
	for {
		next, over, err := w.after(runID)
		if done, err := look(runID); done || err != nil {
			return done, err
		}
		switch {
		case next != "":
			runID = next
			continue
		case err != nil || over:
			return false, err
		}
		select {
		case <-w.news:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// FactsOf makes facts of a run's history as it was exported, in its order.
func FactsOf(exported *historypb.History, c converter.DataConverter) iter.Seq[progress.Recorded] {
	id := ""
	if events := exported.GetEvents(); len(events) > 0 {
		id = events[0].GetWorkflowExecutionStartedEventAttributes().GetOriginalExecutionRunId()
	}
	return history.Decode(c, id, exported.GetEvents())
}

// Audit holds what history alone tells of an execution against what the
// execution itself has kept, and says each difference in words: there is none,
// unless the worker and this program are of different versions. Number zero is
// the newest. The execution has to have ended. It needs a worker.
func (c *Client) Audit(ctx context.Context, id string, number int) ([]string, error) {
	p, number, err := c.locateExecution(ctx, id, number)
	if err != nil {
		return nil, err
	}
	outcome, err := c.outcome(ctx, p, number)
	if errors.Is(err, errUnfinished) {
		return nil, errorf(Refused, err, "execution %d of %s is in progress; audit it when it has ended", number, id)
	}
	if err != nil {
		return nil, fail(ctx, id, "reading the history of "+id, err)
	}
	e := explanation{position: p, number: number, want: outcome.ExecutionID, outcome: &outcome}
	if err := c.readHistory(ctx, &e); err != nil {
		return nil, fail(ctx, id, "reading the history of "+id, err)
	}
	var kept []domain.StepExecution
	for step, err := range c.Steps(ctx, id, number) {
		if err != nil {
			return nil, err
		}
		kept = append(kept, step)
	}
	return append(e.missing, e.at.Compare(e.then.Hooks, kept)...), nil
}
