package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
	"everstep/starter/client/internal/history"
)

// FollowOptions choose what Follow shows.
type FollowOptions struct {
	// Number names the execution. Zero: the newest.
	Number int
	// Tree adds the events of its sub-agents and theirs, while those work: each names its agent (Event.AgentID). All of one
	// stand between the EventTool that started it and the EventToolDone of that call. The text of a sub-agent is not given as
	// it arrives.
	Tree bool
	// below says that it is a sub-agent of the tree.
	below bool
}

// Follow yields what happens in an execution, from its beginning to its end, as it happens, with the
// model's text and reasoning while they arrive: see EventText. It can be begun any number of times,
// costs the workflow nothing and needs no worker. Where the server goes away it says so, and goes on
// when that is back. Breaking out of the loop leaves the execution as it is. Of an execution that only records tell of it
// yields its steps, and neither attempts nor sub-agents.
func (c *Client) Follow(ctx context.Context, id string, o FollowOptions) iter.Seq2[Event, error] {
	return c.orKeptEvents(ctx, id, o.Number, c.liveFollow(ctx, id, o))
}

func (c *Client) liveFollow(ctx context.Context, id string, o FollowOptions) iter.Seq2[Event, error] {
	return sequence(ctx, id, "following ", func(yield func(Event, error) bool) error {
		if o.Tree {
			return followTree(ctx, id, o.Number, &treeWatch{client: c}, yield)
		}
		t, err := c.target(ctx, id, o.Number)
		if err != nil {
			return err
		}
		w := &watcher{client: c, target: t, yield: yield, below: o.below}
		if resumed, err := w.resume(ctx); resumed {
			return err
		}
		runID, err := c.beginning(ctx, t.snapshot, t.asked)
		if err != nil {
			return err
		}
		w.standing = standing{reducer: newWatchReducer(t.snapshot), link: c.link(c.reader(t.agent), t.runs(), runID)}
		return w.run(ctx)
	})
}

// beginning is the run in which an execution began, or the earliest after it that is there.
func (c *Client) beginning(ctx context.Context, s snapshot, number int) (string, error) {
	runID := s.runID()
	began, err := c.reader(s.agent).First(ctx, runID)
	for err == nil && began.Readable() && began.Continues != "" && progress.Carried(began.Input).Number >= number {
		before := began.Continues
		if began, err = c.reader(s.agent).First(ctx, before); deleted(err) {
			return runID, nil
		}
		runID = before
	}
	return runID, err
}

const (
	// textEvery is how often the live text is looked at on loopback, and farTextEvery
	// elsewhere: with the 600 ms between heartbeats there some of it comes every second.
	textEvery    = 200 * time.Millisecond
	farTextEvery = 300 * time.Millisecond
	workEvery    = time.Second
	// stalledAfter is how long work may wait for a worker without a word.
	stalledAfter = 5 * time.Second
)

// A watcher shows what happens in a chain of runs. It is used by one goroutine.
type watcher struct {
	client *Client
	target
	standing
	yield func(Event, error) bool
	// finished means that the caller has seen all that it wants, ended that the execution's end was among it, and given
	// that it has seen anything.
	finished, ended, given bool
	// stalled is since when work has waited for a worker, looked when that was
	// last not known; told that it was said.
	stalled time.Time
	looked  time.Time
	told    bool
	// why tells of calls that were not run.
	why reasons
	// below says that it is a sub-agent, beside which many may be watched.
	below bool
}

func (w *watcher) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	items := w.read(ctx)
	defer func() {
		cancel()
		var came []delivery
		for it := range items { // let the reader end
			came = append(came, it)
		}
		w.left = append(came, w.left...)
		w.remember()
	}()
	w.looked = time.Now()
	pace := w.pace()
	look := time.NewTimer(pace)
	defer look.Stop()
	for !w.finished {
		if now := w.pace(); now != pace {
			pace = now
			look.Reset(pace)
		}
		select {
		case it, ok := <-items:
			switch {
			case !ok && ctx.Err() != nil:
				return ctx.Err()
			case !ok:
				return w.vanished(w.asked)
			case it.err != nil:
				return it.err
			}
			w.item(ctx, it.Item)
			if !w.finished && w.reducer.number() > w.asked {
				return w.vanished(w.asked) // a later one began, so its end stood in what was deleted
			}
		case <-look.C:
			w.look(ctx)
			look.Reset(pace)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

type delivery struct {
	history.Item
	err error
}

// read has a goroutine read until ctx ends, which leaves what nobody has taken then.
func (w *watcher) read(ctx context.Context) <-chan delivery {
	items, left := make(chan delivery), w.left
	w.left = nil
	give := func(d delivery) bool {
		select {
		case items <- d:
			return true
		case <-ctx.Done():
			w.left = append(w.left, d)
			return false
		}
	}
	go func() {
		defer close(items)
		for i, d := range left {
			if !give(d) {
				w.left = append(w.left, left[i+1:]...)
				return
			}
		}
		for it, err := range w.link.items(ctx) {
			if !give(delivery{it, err}) {
				return
			}
		}
	}()
	return items
}

func (w *watcher) item(ctx context.Context, it history.Item) {
	switch {
	case it.Away != nil:
		w.give(Event{Type: EventReconnecting, Time: time.Now(), Number: w.reducer.number(), Reason: "the server does not answer"})
	case it.Back:
		w.give(Event{Type: EventReconnected, Time: time.Now(), Number: w.reducer.number()})
	default:
		w.stalled, w.looked = time.Time{}, time.Now()
		for _, e := range w.reducer.take(it.Recorded) {
			if it.Repeated || e.Type == EventNotRun && w.wants(e) && !w.reasoned(ctx, &e) {
				continue
			}
			w.show(e)
		}
	}
}

func (w *watcher) wants(e Event) bool { return !w.finished && e.Number == w.asked }

func (w *watcher) show(e Event) {
	if w.below {
		if e.Type == EventText || e.Type == EventReasoning || e.Type == EventWithdrawn || e.Type == EventWithheld {
			return
		}
		e.Shown = 0
	}
	if w.wants(e) {
		w.give(e)
		w.ended = w.ended || e.Type == EventEnded
		w.finished = w.finished || w.ended
	}
}

func (w *watcher) give(e Event) {
	w.given = true
	w.finished = w.finished || !w.yield(e, nil)
}

func (w *watcher) pace() time.Duration {
	switch {
	case !w.reducer.inferring() || w.below:
		return workEvery
	case w.client.cfg.Loopback:
		return textEvery
	default:
		return farTextEvery
	}
}

// look shows what the history does not tell until work has ended: live text,
// retries, and that no worker is up. A server that is away is the reader's to
// tell.
func (w *watcher) look(ctx context.Context) {
	if !w.reducer.agent.Execution.Running || w.reducer.number() != w.asked {
		return
	}
	call, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s, err := w.client.snapshot(call, w.agent, "")
	if err != nil || s.runID() != w.reducer.runID {
		return
	}
	work := w.client.pending(s)
	for _, e := range w.reducer.live(work, time.Now()) {
		w.stalled = time.Time{}
		w.show(e)
	}
	w.stall(ctx, s, work)
}

// stall says, once until work goes on, that no worker takes what waits, and why.
// The wait may have begun just after the look before.
func (w *watcher) stall(ctx context.Context, s snapshot, work []history.Pending) {
	now := time.Now()
	switch {
	case !stalls(s, work):
		w.stalled, w.told = time.Time{}, false
	case w.stalled.IsZero():
		w.stalled = w.looked
	case now.Sub(w.stalled) >= stalledAfter && !w.told:
		w.told = true
		e := Event{Type: EventNoWorker, Time: now, Number: w.reducer.number(), Reason: w.client.cfg.place(s.queue())}
		if waits := limited(work); len(waits) > 0 {
			e.Reason = unserved(waits[0])
			if w.client.served(ctx, waits[0].Limited) {
				e.Type, e.Reason = EventRateLimited, "it waits on task queue "+waits[0].Limited
			}
		}
		w.show(e)
	}
	w.looked = now
}

// stalls reports whether something waits for a worker and none is at work.
func stalls(s snapshot, work []history.Pending) bool {
	if s.GetPendingWorkflowTask().GetState() == enumspb.PENDING_WORKFLOW_TASK_STATE_SCHEDULED {
		return true
	}
	return !slices.ContainsFunc(work, func(w history.Pending) bool { return !w.Waiting }) &&
		slices.ContainsFunc(work, func(w history.Pending) bool { return !w.BackingOff })
}

// reasons are why calls were not run, which only a worker can tell.
type reasons struct {
	// mute means that no worker has answered, so that no other is waited for.
	mute bool
	// runID and step say which calls are held.
	runID string
	step  int
	calls []domain.ToolExecution
}

// reasoned adds why, where a worker tells; false: a hook has taken the call out of the answer.
func (w *watcher) reasoned(ctx context.Context, e *Event) bool {
	if w.why.runID != e.RunID || w.why.step != e.Step {
		w.why.runID, w.why.step, w.why.calls = e.RunID, e.Step, nil
		if !w.why.mute {
			page, err := glance(ctx, w.client, w.agent, e.RunID, contract.QuerySteps, contract.StepsRequest{Number: e.Number, From: e.Step})
			w.why.mute = errors.Is(err, errNoWorker)
			if err == nil && len(page.Steps) > 0 && page.Steps[0].Number == e.Step {
				w.why.calls = page.Steps[0].ToolExecutions
			}
		}
	}
	switch {
	case w.why.calls == nil:
		return true
	case e.Position >= len(w.why.calls):
		return false
	}
	call := w.why.calls[e.Position]
	e.Tool, e.Arguments, e.Error = call.Name(), call.Args(), call.Error
	return true
}
