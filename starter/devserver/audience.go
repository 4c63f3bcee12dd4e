package devserver

import "sync"

// An audience counts who uses the server. Safe for concurrent use.
type audience struct {
	mu      sync.Mutex
	count   int
	closed  bool
	changed chan struct{} // holds one token after a change
}

func newAudience() *audience { return &audience{changed: make(chan struct{}, 1)} }

// join adds one, unless the audience is closed.
func (a *audience) join() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.count++
	a.signal()
	return true
}

func (a *audience) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count--
	a.signal()
}

func (a *audience) empty() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count == 0
}

// closeIfEmpty lets nobody join any more, unless somebody is there. In one
// step, so that nobody is ever promised a server that is about to stop.
func (a *audience) closeIfEmpty() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == 0 {
		a.closed = true
	}
	return a.closed
}

func (a *audience) signal() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}
