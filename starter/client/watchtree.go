package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"everstep/domain"
)

// A treeFollow follows an execution and the sub-agents below it. Each agent is followed by a goroutine of its own, which
// gives its events to the caller's.
type treeFollow struct {
	client *Client
	events chan Event
	// missed is when it was last said that no worker takes what waits: one word is enough for all.
	mu     sync.Mutex
	missed time.Time
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
	// childPatience bounds the wait for what is to be told of a sub-agent that is over.
	childPatience = 5 * time.Second
)

// followTree yields what Follow does, and the events of all below the execution.
func (c *Client) followTree(ctx context.Context, id string, o FollowOptions, yield func(Event, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &treeFollow{client: c, events: make(chan Event)}
	var err error
	go func() {
		defer close(f.events)
		err = f.agent(ctx, id, o, Event{})
	}()
	for event := range f.events {
		if !yield(event, nil) {
			cancel()
			for range f.events { // let them end
			}
			return nil
		}
	}
	return err
}

// give hands an event to the caller. It reports false where nobody wants it any more.
func (f *treeFollow) give(ctx context.Context, e Event) bool {
	select {
	case f.events <- e:
		return true
	case <-ctx.Done():
		return false
	}
}

// agent follows one agent and those below it to their ends. whose is what all its events say of it.
func (f *treeFollow) agent(ctx context.Context, id string, o FollowOptions, whose Event) error {
	children := map[domain.AgentID]followedChild{}
	var below sync.WaitGroup
	beside, cancel := context.WithCancel(ctx)
	defer func() {
		for _, child := range children {
			select {
			case <-child.over:
			default:
				close(child.over)
			}
		}
		patience := time.AfterFunc(childPatience, cancel)
		below.Wait()
		patience.Stop()
		cancel()
	}()
	for event, err := range f.client.Follow(ctx, id, FollowOptions{Number: o.Number, below: whose.Depth > 0}) {
		if err != nil {
			return err
		}
		event.AgentID, event.Subagent, event.Depth = whose.AgentID, whose.Subagent, whose.Depth
		child, known := children[event.ChildID]
		switch {
		case !f.wanted(event):
			continue
		case event.Type == EventToolDone && known: // what it did comes first
			close(child.over)
			delete(children, event.ChildID)
			patience := time.AfterFunc(childPatience, child.leave)
			<-child.done
			patience.Stop()
		}
		if !f.give(ctx, event) {
			return ctx.Err()
		}
		if event.Type == EventTool && !event.ChildID.IsZero() && !known {
			beside, leave := context.WithCancel(beside)
			child = followedChild{over: make(chan struct{}), done: make(chan struct{}), leave: leave}
			children[event.ChildID] = child
			below.Go(func() {
				defer close(child.done)
				defer leave()
				f.child(beside, child, Event{AgentID: event.ChildID, Subagent: event.ChildName, Depth: whose.Depth + 1})
			})
		}
	}
	return nil
}

// child follows a sub-agent, and says where that cannot be.
func (f *treeFollow) child(ctx context.Context, child followedChild, whose Event) {
	for {
		over := false
		select {
		case <-child.over:
			over = true
		default:
		}
		err := f.agent(ctx, whose.AgentID.String(), FollowOptions{}, whose)
		switch {
		case err == nil, ctx.Err() != nil:
			return
		case over || !errors.Is(err, &Error{Class: NotFound}):
			gone := whose
			gone.Type, gone.Time, gone.Reason = EventGone, time.Now(), err.Error()
			f.give(ctx, gone)
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

// wanted leaves out what all agents of a tree would say of one server and its workers.
func (f *treeFollow) wanted(e Event) bool {
	switch e.Type {
	case EventReconnecting, EventReconnected:
		return e.Depth == 0
	case EventNoWorker:
		f.mu.Lock()
		defer f.mu.Unlock()
		if time.Since(f.missed) < 2*stalledAfter {
			return false
		}
		f.missed = time.Now()
	default:
	}
	return true
}
