package host

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/log"

	"everstep/domain"
)

// A Listener is told of the events of the agents that run on this worker, as
// they happen. Make one with On or OnAll.
//
// Listeners are best effort: none slows an agent or another listener, and one
// that does not keep up misses events, which is logged. After a crash events may
// come again; their sequence numbers tell. What has to be exact is read from the
// execution: Follow of starter/client, watch --json.
type Listener struct {
	// kind is that of the events that it hears; empty: all.
	kind domain.EventType
	hear func(domain.Event)
}

// On returns a listener to one type of event. Events come one after the other,
// those of one execution in their order. A listener that panics is told of the
// next event all the same.
func On(kind domain.EventType, hear func(domain.Event)) Listener { return Listener{kind, hear} }

// OnAll returns a listener to every event; see On.
func OnAll(hear func(domain.Event)) Listener { return Listener{hear: hear} }

func (l Listener) name() string { return cmp.Or(string(l.kind), "all events") }

const (
	// listenerQueue is how many events wait for a listener before some are lost.
	listenerQueue = 1024
	// lossEvery is how many lost events, or panics, are told of in one log line.
	lossEvery = 1000
	// drainTime is what listeners have to hear what still waits when the worker
	// stops.
	drainTime = time.Second
)

// A dispatcher hands events to listeners. Emit never waits, whatever they do.
type dispatcher struct {
	queues []*queue
	log    log.Logger
	// guard keeps Emit from sending on what Close has closed.
	guard  sync.RWMutex
	closed bool
}

// A queue is one listener with what it has not heard yet.
type queue struct {
	listener Listener
	events   chan domain.Event
	done     chan struct{}
	lost     atomic.Int64
	panicked atomic.Int64
	// deaf is set when nothing is to be heard any more.
	deaf atomic.Bool
}

// newDispatcher starts a goroutine for each listener. One without a function is
// refused.
func newDispatcher(listeners []Listener, logger log.Logger) (*dispatcher, error) {
	d := &dispatcher{log: logger}
	if i := slices.IndexFunc(listeners, func(l Listener) bool { return l.hear == nil }); i >= 0 {
		return d, invalid("listeners[%d]: has no function; make it with On or OnAll", i)
	}
	for _, l := range listeners {
		q := &queue{listener: l, events: make(chan domain.Event, listenerQueue), done: make(chan struct{})}
		d.queues = append(d.queues, q)
		go d.run(q)
	}
	return d, nil
}

// Emit puts an event into the queues of those who want it. It never waits: where
// a queue is full the event is lost for that listener, and counted.
func (d *dispatcher) Emit(event domain.Event) {
	d.guard.RLock()
	defer d.guard.RUnlock()
	if d.closed {
		return
	}
	for _, q := range d.queues {
		if kind := q.listener.kind; kind != "" && kind != event.Type {
			continue
		}
		select {
		case q.events <- event:
		default:
			d.count(&q.lost, "a listener does not keep up: events are lost for it", q)
		}
	}
}

// emit is Emit, or nil where nobody listens, so that nothing is done for nobody.
func (d *dispatcher) emit() func(domain.Event) {
	if len(d.queues) == 0 {
		return nil
	}
	return d.Emit
}

// Close lets listeners hear what waits, for a second at most. One that goes on
// then is left to itself.
func (d *dispatcher) Close() {
	d.guard.Lock()
	if d.closed {
		d.guard.Unlock()
		return
	}
	d.closed = true
	for _, q := range d.queues {
		close(q.events)
	}
	d.guard.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	for _, q := range d.queues {
		select {
		case <-q.done:
		case <-ctx.Done():
		}
		q.deaf.Store(true)
		select {
		case <-q.done:
		default:
			d.log.Warn("a listener goes on though the worker has stopped: left to itself", "listener", q.listener.name(), "unheard", len(q.events))
		}
		if lost := q.lost.Load(); lost > 0 {
			d.log.Warn("a listener has missed events", "listener", q.listener.name(), "lost", lost)
		}
	}
}

func (d *dispatcher) run(q *queue) {
	defer close(q.done)
	for event := range q.events {
		if !q.deaf.Load() {
			d.tell(q, event)
		}
	}
}

// tell survives what the listener does.
func (d *dispatcher) tell(q *queue, event domain.Event) {
	defer func() {
		if p := recover(); p != nil {
			d.count(&q.panicked, "a listener panicked", q, "event", string(event.Type),
				"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	q.listener.hear(event)
}

// count logs the first of many and then every thousandth, with how many there were.
func (d *dispatcher) count(counter *atomic.Int64, message string, q *queue, more ...any) {
	if n := counter.Add(1); n%lossEvery == 1 {
		d.log.Warn(message, append([]any{"listener", q.listener.name(), "so_far", n}, more...)...)
	}
}
