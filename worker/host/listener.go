package host

import (
	"reflect"

	"everstep/domain"
)

// A Listener is told of the events of the agents that run on this worker, as
// they happen. Make one with On or OnAll.
//
// Listeners are best effort. Each has a goroutine of its own, so none slows an
// agent or another listener; one that does not keep up misses events, which is
// logged. After a crash events may come again; their sequence numbers tell. What
// has to be exact is read from the execution: query events, watch --events.
type Listener struct {
	name string
	// hear takes the events that the listener asked for, and ignores others.
	hear func(domain.Event)
	// wants reports whether an event is worth a place in the queue.
	wants func(domain.Event) bool
}

// On returns a listener to one type of event. Events come one after the other,
// those of one execution in their order. A listener that panics is told of the
// next event all the same.
func On[E domain.Event](hear func(E)) Listener {
	name := reflect.TypeFor[E]().String()
	if hear == nil {
		return Listener{name: name}
	}
	return Listener{
		name:  name,
		hear:  func(event domain.Event) { hear(event.(E)) },
		wants: func(event domain.Event) bool { _, ok := event.(E); return ok },
	}
}

// OnAll returns a listener to every event; see On.
func OnAll(hear func(domain.Event)) Listener {
	return Listener{name: "all events", hear: hear, wants: func(domain.Event) bool { return true }}
}
