package record

import (
	"context"
	"io"
	"sync"
	"syscall"
)

// Read reads a file whole or not at all.
func Read(r io.Reader) (records []Record, _ error) {
	err := readRecords(r, func(one Record) error {
		records = append(records, one)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// A Breaker stands between a store and what it keeps its objects in.
type Breaker struct {
	objects
	// heedless has it answer no sooner where nobody waits any more, as a disk does.
	heedless bool
	// During is done in the middle of a write, which is then made whoever waits for it.
	During func()

	mu     sync.Mutex
	fault  string
	mended chan struct{}
}

// Breaking puts one there.
func Breaking(s *Store, heedless bool) *Breaker {
	b := &Breaker{heedless: heedless, mended: make(chan struct{})}
	b.objects, _ = s.open() // it is open
	s.open = func() (objects, error) { return b, nil }
	return b
}

// Meet has a fault met from now on: torn, lost, slow, full, read-only; empty: none.
func (b *Breaker) Meet(fault string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fault = fault; fault == "" {
		close(b.mended)
		b.mended = make(chan struct{})
	}
}

// met is the fault, after the wait that a slow one is.
func (b *Breaker) met(ctx context.Context) (string, error) {
	b.mu.Lock()
	fault, mended := b.fault, b.mended
	b.mu.Unlock()
	if fault != "slow" {
		return fault, nil
	}
	if b.heedless {
		ctx = context.Background()
	}
	select {
	case <-mended:
		return "", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (b *Breaker) write(ctx context.Context, key string, object []byte, over overwrite) (bool, error) {
	fault, err := b.met(ctx)
	switch {
	case err != nil:
		return false, err
	case fault == "torn":
		object = object[:len(object)/2]
	case fault == "lost":
		return true, nil
	case fault == "full":
		return false, syscall.ENOSPC
	case fault == "read-only":
		return false, syscall.EROFS
	}
	if b.During != nil {
		b.During()
		ctx = context.WithoutCancel(ctx)
	}
	return b.objects.write(ctx, key, object, over)
}

func (b *Breaker) read(ctx context.Context, key string) ([]byte, error) {
	if _, err := b.met(ctx); err != nil {
		return nil, err
	}
	return b.objects.read(ctx, key)
}

func (b *Breaker) list(ctx context.Context, folder string) ([]string, error) {
	if _, err := b.met(ctx); err != nil {
		return nil, err
	}
	return b.objects.list(ctx, folder)
}

func (b *Breaker) folders(ctx context.Context) ([]string, error) {
	if _, err := b.met(ctx); err != nil {
		return nil, err
	}
	return b.objects.folders(ctx)
}

func (b *Breaker) remove(ctx context.Context, folder string) error {
	if fault, err := b.met(ctx); err != nil || fault == "read-only" {
		return orReadOnly(err)
	}
	return b.objects.remove(ctx, folder)
}

func (b *Breaker) removeOne(ctx context.Context, key string) error {
	if fault, err := b.met(ctx); err != nil || fault == "read-only" {
		return orReadOnly(err)
	}
	return b.objects.removeOne(ctx, key)
}

func orReadOnly(err error) error {
	if err != nil {
		return err
	}
	return syscall.EROFS
}

// undoing does something after each removal.
type undoing struct {
	objects
	after func()
}

func (u undoing) removeOne(ctx context.Context, key string) error {
	err := u.objects.removeOne(ctx, key)
	u.after()
	return err
}

// Undoing puts one there.
func Undoing(s *Store, after func()) {
	within, _ := s.open()
	s.open = func() (objects, error) { return undoing{within, after}, nil }
}
