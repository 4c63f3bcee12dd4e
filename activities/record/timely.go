package record

import (
	"context"
	"sync"
)

// A timely has nobody wait for a disk that hangs longer than the context lasts: what was begun goes on by itself, and a write
// that is left is not made visible any more. What it keeps objects in is opened when they are first asked for.
type timely struct{ open func() (objects, error) }

// Later is the store that open opens once something of it is asked for. The name is for people.
func Later(name string, open func() (*Store, error)) *Store {
	return &Store{timely{sync.OnceValues(func() (objects, error) {
		store, err := open()
		if err != nil {
			return nil, err
		}
		return store.objects, nil
	})}, name}
}

func timed[T any](ctx context.Context, t timely, do func(objects) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	told := make(chan answer, 1)
	go func() {
		var a answer
		within, err := t.open()
		if a.err = err; err == nil {
			a.value, a.err = do(within)
		}
		told <- a
	}()
	select {
	case a := <-told:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

func (t timely) write(ctx context.Context, key string, object []byte, over overwrite) error {
	return t.does(ctx, func(o objects) error { return o.write(ctx, key, object, over) })
}

func (t timely) read(ctx context.Context, key string) ([]byte, error) {
	return timed(ctx, t, func(o objects) ([]byte, error) { return o.read(ctx, key) })
}

func (t timely) list(ctx context.Context, folder string) ([]string, error) {
	return timed(ctx, t, func(o objects) ([]string, error) { return o.list(ctx, folder) })
}

func (t timely) folders(ctx context.Context) ([]string, error) {
	return timed(ctx, t, func(o objects) ([]string, error) { return o.folders(ctx) })
}

func (t timely) remove(ctx context.Context, key string) error {
	return t.does(ctx, func(o objects) error { return o.remove(ctx, key) })
}

func (t timely) close() error { return t.does(context.Background(), objects.close) }

func (t timely) does(ctx context.Context, do func(objects) error) error {
	_, err := timed(ctx, t, func(o objects) (struct{}, error) { return struct{}{}, do(o) })
	return err
}
