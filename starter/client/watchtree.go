package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"everstep/domain"
)

// A treeFollow follows an execution and the sub-agents below it. Each agent is followed by a goroutine of its own, which
// gives what it is told of that agent to the caller's.
type treeFollow[E any] struct {
	tells treeTeller[E]
	out   chan treeItem[E]
}

// A treeTeller tells of each agent of a tree.
type treeTeller[E any] interface {
	// of tells what happens in an execution of an agent, and marked says of it whose that is; false: it is left out.
	of(ctx context.Context, id string, number int, whose kin) iter.Seq2[E, error]
	marked(e E, whose kin) (E, bool)
	// child is the sub-agent that begins, or ends, with it; the zero id: none does.
	child(e E) (id domain.AgentID, name string, ends bool)
	// lost says that of a sub-agent nothing, or nothing more, can be told, and why. goesOn says of an error that more follows.
	lost(whose kin, why error) (E, error)
	goesOn(err error) bool
	// patience bounds the wait for what is to be told of a sub-agent that is over; zero: it is told to its end.
	patience() time.Duration
}

// A kin says where in its tree an agent is: by what names it was started, from the root on, whose path is empty.
type kin struct {
	agent domain.AgentID
	path  []string
}

func (k kin) name() string {
	if len(k.path) == 0 {
		return ""
	}
	return k.path[len(k.path)-1]
}

type treeItem[E any] struct {
	event E
	err   error
}

// A followedChild is a sub-agent that is followed beside the agent that started it.
type followedChild struct {
	// over is closed once that agent knows how it ended, done when all was told of it.
	over, done chan struct{}
	leave      context.CancelFunc
}

// childEvery is how often a sub-agent is looked for that is not there yet.
const childEvery = 200 * time.Millisecond

// followTree yields what is told of an execution, and of all below it.
func followTree[E any](ctx context.Context, id string, number int, tells treeTeller[E], yield func(E, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &treeFollow[E]{tells: tells, out: make(chan treeItem[E])}
	var err error
	go func() {
		defer close(f.out)
		err = f.agent(ctx, id, number, kin{})
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
func (f *treeFollow[E]) give(ctx context.Context, e E, err error) bool {
	select {
	case f.out <- treeItem[E]{e, err}:
		return true
	case <-ctx.Done():
		return false
	}
}

// within bounds a wait. What it returns ends that.
func (f *treeFollow[E]) within(leave context.CancelFunc) func() bool {
	if f.tells.patience() == 0 {
		return func() bool { return true }
	}
	return time.AfterFunc(f.tells.patience(), leave).Stop
}

// agent follows one agent and those below it to their ends.
func (f *treeFollow[E]) agent(ctx context.Context, id string, number int, whose kin) error {
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
		enough := f.within(cancel)
		below.Wait()
		enough()
		cancel()
	}()
	for event, err := range f.tells.of(ctx, id, number, whose) {
		switch {
		case err != nil && !f.tells.goesOn(err):
			return err
		case err != nil && !f.give(ctx, event, err):
			return ctx.Err()
		case err != nil:
			continue
		}
		event, wanted := f.tells.marked(event, whose)
		if !wanted {
			continue
		}
		childID, name, ends := f.tells.child(event)
		child, known := children[childID]
		if ends && known { // what it did comes first
			close(child.over)
			delete(children, childID)
			enough := f.within(child.leave)
			<-child.done
			enough()
		}
		if !f.give(ctx, event, nil) {
			return ctx.Err()
		}
		if !childID.IsZero() && !ends && !known {
			beside, leave := context.WithCancel(beside)
			child = followedChild{over: make(chan struct{}), done: make(chan struct{}), leave: leave}
			children[childID] = child
			below.Go(func() {
				defer close(child.done)
				defer leave()
				f.child(beside, child, kin{childID, append(slices.Clip(whose.path), name)})
			})
		}
	}
	return nil
}

// child follows a sub-agent, and says where that cannot be.
func (f *treeFollow[E]) child(ctx context.Context, child followedChild, whose kin) {
	for {
		over := false
		select {
		case <-child.over:
			over = true
		default:
		}
		err := f.agent(ctx, whose.agent.String(), 0, whose)
		switch {
		case err == nil, ctx.Err() != nil:
			return
		case over || !errors.Is(err, &Error{Class: NotFound}):
			event, err := f.tells.lost(whose, err)
			f.give(ctx, event, err)
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

// A treeWatch tells what Follow does of each agent of a tree.
type treeWatch struct {
	client *Client
	// missed is when it was last said that no worker takes what waits: one word is enough for all.
	mu     sync.Mutex
	missed time.Time
}

// childPatience bounds the wait for what is to be watched of a sub-agent that is over.
const childPatience = 5 * time.Second

func (w *treeWatch) patience() time.Duration { return childPatience }
func (w *treeWatch) goesOn(error) bool       { return false }

func (w *treeWatch) of(ctx context.Context, id string, number int, whose kin) iter.Seq2[Event, error] {
	return w.client.Follow(ctx, id, FollowOptions{Number: number, below: len(whose.path) > 0})
}

// marked leaves out what all agents of a tree would say of one server and its workers.
func (w *treeWatch) marked(e Event, whose kin) (Event, bool) {
	e.AgentID, e.Subagent, e.Depth = whose.agent, whose.name(), len(whose.path)
	switch e.Type {
	case EventReconnecting, EventReconnected:
		return e, e.Depth == 0
	case EventNoWorker:
		w.mu.Lock()
		defer w.mu.Unlock()
		if time.Since(w.missed) < 2*stalledAfter {
			return e, false
		}
		w.missed = time.Now()
	default:
	}
	return e, true
}

func (w *treeWatch) child(e Event) (id domain.AgentID, name string, ends bool) {
	if e.Type != EventTool && e.Type != EventToolDone {
		return id, "", false
	}
	return e.ChildID, e.ChildName, e.Type == EventToolDone
}

func (w *treeWatch) lost(whose kin, why error) (Event, error) {
	gone, _ := w.marked(Event{Type: EventGone, Time: time.Now(), Reason: why.Error()}, whose)
	return gone, nil
}
