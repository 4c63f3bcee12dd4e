package client

import (
	"context"
	"sync"

	enumspb "go.temporal.io/api/enums/v1"
)

// A growth tells that a chain of runs has got on, as often as it does, however
// slow the one is who wants to know. The history tells it, by a long poll.
type growth struct {
	client *Client
	// news holds a token where something has happened since the last one.
	news chan struct{}

	mu sync.Mutex
	// runs are those seen so far, in order.
	runs []string
	over bool
	err  error
}

// growing watches the chain that begins with a run until ctx ends.
func (c *Client) growing(ctx context.Context, s snapshot, runID string) *growth {
	g := &growth{client: c, news: make(chan struct{}, 1), runs: []string{runID}}
	go g.read(ctx, s, runID)
	return g
}

func (g *growth) read(ctx context.Context, s snapshot, runID string) {
	for it, err := range g.client.chain(ctx, s, runID) {
		switch {
		case err != nil:
			g.note(func() { g.err = err })
			return
		case it.lost != nil:
			g.client.cfg.Progress("the server does not answer; waiting for it to come back")
		case it.back:
			g.client.cfg.Progress("the server is back")
		default:
			g.event(it)
		}
	}
	g.note(func() { g.over = true })
}

// event notes what may have changed the workflow. It changes by workflow tasks
// alone, so that the many events of one need one look.
func (g *growth) event(it item) {
	switch {
	case it.event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, closes(it.event.GetEventType()):
	default:
		return
	}
	g.note(func() {
		if g.runs[len(g.runs)-1] != it.runID {
			g.runs = append(g.runs, it.runID)
		}
	})
}

func (g *growth) note(change func()) {
	g.mu.Lock()
	change()
	g.mu.Unlock()
	select {
	case g.news <- struct{}{}:
	default:
	}
}

// A standing is how far a chain had got at some time.
type standing struct {
	// next is the run after the one that was asked about, empty where there is
	// none yet.
	next string
	// over means that none will come.
	over bool
	err  error
}

// at says how things stand for somebody who is at a run. What follows from it
// about the run holds for all that is asked later.
func (g *growth) at(runID string) standing {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := standing{over: g.over, err: g.err}
	for i, run := range g.runs[:len(g.runs)-1] {
		if run == runID {
			now.next = g.runs[i+1]
		}
	}
	return now
}

// along looks at each run of the chain whenever it has got on, until look
// answers true, or the chain is over: then it reports false.
func (g *growth) along(ctx context.Context, runID string, look func(runID string) (bool, error)) (bool, error) {
	for {
		now := g.at(runID)
		done, err := look(runID)
		switch {
		case err != nil || done:
			return done, err
		case now.next != "":
			runID = now.next
			continue
		case now.err != nil:
			return false, now.err
		case now.over:
			return false, nil
		}
		select {
		case <-g.news:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
