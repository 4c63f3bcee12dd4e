package mcp

import (
	"context"
	"sync"
	"time"
)

// A sending is how far a call's request got. The transports note it: the SDK's
// errors do not say whether a request may have reached its server.
type sending struct {
	mu sync.Mutex
	// begun says that a byte of it may have left.
	begun bool
	// status is of the HTTP response; zero: there was none. wait is what it asks to wait.
	status int
	wait   time.Duration
}

type sendingKey struct{}

func withSending(ctx context.Context) (context.Context, *sending) {
	s := new(sending)
	return context.WithValue(ctx, sendingKey{}, s), s
}

// sendingOf is the call that a context is of, nil where it is of none.
func sendingOf(ctx context.Context) *sending {
	s, _ := ctx.Value(sendingKey{}).(*sending)
	return s
}

func (s *sending) note(change func(*sending)) {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		change(s)
	}
}

func (s *sending) hasBegun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

func (s *sending) answered() (status int, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status, s.wait
}
