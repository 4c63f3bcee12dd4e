package record

import "context"

// A timely has nobody wait for a disk that hangs longer than the context lasts: what was begun goes on by itself, and a write
// that is left is not made visible any more.
type timely struct{ objects }

func timed[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	told := make(chan answer, 1)
	go func() {
		value, err := do()
		told <- answer{value, err}
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
	return errorOf(ctx, func() error { return t.objects.write(ctx, key, object, over) })
}

func (t timely) read(ctx context.Context, key string) ([]byte, error) {
	return timed(ctx, func() ([]byte, error) { return t.objects.read(ctx, key) })
}

func (t timely) list(ctx context.Context, folder string) ([]string, error) {
	return timed(ctx, func() ([]string, error) { return t.objects.list(ctx, folder) })
}

func (t timely) folders(ctx context.Context) ([]string, error) {
	return timed(ctx, func() ([]string, error) { return t.objects.folders(ctx) })
}

func (t timely) remove(ctx context.Context, folder string) error {
	return errorOf(ctx, func() error { return t.objects.remove(ctx, folder) })
}

func (t timely) removeOne(ctx context.Context, key string) error {
	return errorOf(ctx, func() error { return t.objects.removeOne(ctx, key) })
}

func errorOf(ctx context.Context, do func() error) error {
	_, err := timed(ctx, func() (struct{}, error) { return struct{}{}, do() })
	return err
}
