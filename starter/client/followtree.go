package client

import (
	"context"
	"slices"
	"sync"
	"time"

	"everstep/domain"
)

// A treeFollow follows an execution and the sub-agents below it. Each agent is followed by a goroutine of its own, which
// gives what it is told of that agent to the caller's.
type treeFollow struct {
	client *Client
	out    chan treeItem
	// missed is when it was last said that no worker takes what waits: that is told once for all.
	mu     sync.Mutex
	missed time.Time
}

// A kin says where in its tree an agent is: by what names it was started, from the root on, whose path is empty.
type kin struct {
	agent domain.AgentID
	path  []string
}

type treeItem struct {
	event Event
	err   error
}

// A followedChild is a sub-agent that is followed beside the agent that started it.
type followedChild struct {
	// over is closed once that agent knows how it ended, done when all was told of it.
	over, done chan struct{}
	leave      context.CancelFunc
}

const (
	// childEvery is how often a sub-agent is looked for that is not there yet.
	childEvery = 200 * time.Millisecond
	// childPatience bounds the wait for what is to be told of a sub-agent whose workflow has ended without an outcome.
	childPatience = 5 * time.Second
)

// followTree yields what Follow does of an execution, and of all below it.
func followTree(ctx context.Context, c *Client, id string, o FollowOptions, yield func(Event, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &treeFollow{client: c, out: make(chan treeItem)}
	var err error
	go func() {
		defer close(f.out)
		err = f.agent(ctx, id, o, kin{})
	}()
	for it := range f.out {
		if !yield(it.event, it.err) {
			cancel()
			for range f.out { // let them end
			}
			return nil
		}
	}
	return err
}

// give hands what is told to the caller. It reports false where nobody wants it any more.
func (f *treeFollow) give(ctx context.Context, e Event, err error) bool {
	select {
	case f.out <- treeItem{e, err}:
		return true
	case <-ctx.Done():
		return false
	}
}

// agent follows one agent and those below it to their ends.
func (f *treeFollow) agent(ctx context.Context, id string, o FollowOptions, whose kin) error {
	children, earlier := map[domain.AgentID]followedChild{}, []domain.SubagentSpawning(nil)
	var below sync.WaitGroup
	beside, cancel := context.WithCancel(ctx)
	defer func() {
		for _, child := range children { // its parent has ended without a word of it
			close(child.over)
			time.AfterFunc(childPatience, child.leave)
		}
		below.Wait()
		cancel()
	}()
	begin := func(spawned domain.SubagentSpawning) {
		if _, known := children[spawned.ChildID]; known {
			return
		}
		beside, leave := context.WithCancel(beside)
		child := followedChild{over: make(chan struct{}), done: make(chan struct{}), leave: leave}
		children[spawned.ChildID] = child
		below.Go(func() {
			defer close(child.done)
			defer leave()
			f.child(beside, child, kin{spawned.ChildID, append(slices.Clip(whose.path), spawned.Subagent)})
		})
	}
	follow := func(event Event, err error) bool {
		event, wanted := f.marked(event, whose)
		switch {
		case err != nil:
			return f.give(ctx, event, err)
		case event.earlier: // of the sub-agents that began before, those are followed that have not ended before
			switch recorded := event.Recorded.Data.(type) {
			case domain.SubagentSpawning:
				earlier = append(earlier, recorded)
			case domain.SubagentCompleted:
				earlier = slices.DeleteFunc(earlier, func(s domain.SubagentSpawning) bool { return s.ChildID == recorded.ChildID })
			}
			if event.Type == "" {
				for _, spawned := range earlier {
					begin(spawned)
				}
			}
			return true
		case !wanted:
			return true
		}
		if ended, ok := event.Recorded.Data.(domain.SubagentCompleted); ok { // what it did comes first
			if child, known := children[ended.ChildID]; known {
				delete(children, ended.ChildID)
				child.join(ended.Lost)
			}
		}
		if !f.give(ctx, event, nil) {
			return false
		}
		if spawned, ok := event.Recorded.Data.(domain.SubagentSpawning); ok {
			begin(spawned)
		}
		return true
	}
	o.Tree, o.below = false, len(whose.path) > 0
	if err := f.client.followOne(ctx, id, o, follow); err != nil {
		return err
	}
	return ctx.Err()
}

// join waits until all was told of a sub-agent that has ended; of one that is lost its workflow may not tell of an end.
func (child followedChild) join(lost bool) {
	close(child.over)
	if lost {
		defer time.AfterFunc(childPatience, child.leave).Stop()
	}
	<-child.done
}

// child follows a sub-agent, and says where that cannot be.
func (f *treeFollow) child(ctx context.Context, child followedChild, whose kin) {
	for {
		over := false
		select {
		case <-child.over:
			over = true
		default:
		}
		err := f.agent(ctx, whose.agent.String(), FollowOptions{}, whose)
		switch {
		case err == nil, ctx.Err() != nil:
			return
		case over || !Is(err, NotFound):
			lost, _ := f.marked(Event{Type: EventGone, Time: time.Now(), Reason: err.Error()}, whose)
			f.give(ctx, lost, nil)
			return
		}
		select { // it was asked for a moment ago
		case <-child.over:
		case <-time.After(childEvery):
		case <-ctx.Done():
			return
		}
	}
}

// marked says whose event it is, and reports false for what all agents of a tree would say of one server and its workers.
func (f *treeFollow) marked(e Event, whose kin) (Event, bool) {
	e.AgentID, e.Path = whose.agent, whose.path
	switch e.Type {
	case EventReconnecting, EventReconnected:
		return e, len(whose.path) == 0
	case EventNoWorker:
		f.mu.Lock()
		defer f.mu.Unlock()
		if time.Since(f.missed) < 2*stalledAfter {
			return e, false
		}
		f.missed = time.Now()
	default:
	}
	return e, true
}
