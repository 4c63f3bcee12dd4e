package transcript

import (
	"context"
	"fmt"
	"sync"
)

// turns lets one at a time do what others of the same name then need not. The
// zero value is ready.
type turns struct {
	mu   sync.Mutex
	busy map[string]chan struct{}
}

// enter waits for the name's turn, and returns the function that ends it.
func (t *turns) enter(ctx context.Context, name string) (func(), error) {
	for {
		t.mu.Lock()
		ahead := t.busy[name]
		if ahead == nil {
			if t.busy == nil {
				t.busy = make(map[string]chan struct{})
			}
			mine := make(chan struct{})
			t.busy[name] = mine
			t.mu.Unlock()
			return func() { t.leave(name, mine) }, nil
		}
		t.mu.Unlock()
		select {
		case <-ahead:
		case <-ctx.Done():
			return nil, fmt.Errorf("transcript: wait for another query of %s: %w", name, context.Cause(ctx))
		}
	}
}

func (t *turns) leave(name string, mine chan struct{}) {
	t.mu.Lock()
	delete(t.busy, name)
	t.mu.Unlock()
	close(mine)
}
