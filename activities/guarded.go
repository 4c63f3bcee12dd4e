package activities

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// A guarded function is a tool's or a hook's. It runs in a goroutine of its own, so
// that neither a panic nor one that never returns takes the worker with it.
type guarded struct {
	what  string
	names []any
	// limit is the function's own time; when it is over, its context ends.
	limit time.Duration
	// silence is how long it may go on with nothing heard of it; zero: without end.
	silence time.Duration
	heard   <-chan struct{}
	// shutdown is what it has left when the worker is told to stop.
	shutdown time.Duration
	// grace is how long it may go on after its context has ended.
	grace time.Duration
}

// An outcome is how a guarded function ended.
type outcome[R any] struct {
	result R
	err    error
	// cause is why its context had ended by then, if it had. One that goes on
	// regardless is abandoned: then it is the error too.
	cause error
}

var (
	// errLate is the cause of a context whose function has outlived its time.
	errLate = fmt.Errorf("it took longer than it may: %w", context.DeadlineExceeded)
	// errSilent is that of one that has told of no progress.
	errSilent = fmt.Errorf("%w: it told of no progress", errLate)
	// errPanicked is the error of a function that did not return.
	errPanicked = errors.New("it panicked")
)

// failure is why there is no result, nil where there is one: one of three errors, by how the function ended, else its own.
func (o outcome[R]) failure(panicked, late, stopped error) error {
	switch {
	case o.err == nil:
		return nil
	case errors.Is(o.err, errPanicked):
		return panicked
	case errors.Is(o.cause, context.DeadlineExceeded):
		return late
	case errors.Is(o.cause, worker.ErrWorkerShutdown):
		return stopped
	}
	return o.err
}

// runGuarded runs a function. Its context ends with the activity's, when its own
// time is over, and some time after the worker was told to stop.
func runGuarded[R any](ctx context.Context, g guarded, call func(context.Context) (R, error)) outcome[R] {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	returned := make(chan outcome[R], 1)
	go func() {
		own := outcome[R]{err: errPanicked}
		defer func() {
			if p := recover(); errors.Is(own.err, errPanicked) {
				logPanic(ctx, g.what, p, g.names...)
			}
			own.cause = context.Cause(ctx)
			returned <- own
		}()
		own.result, own.err = call(ctx)
	}()

	limit := time.After(g.limit)
	var silent <-chan time.Time
	silence := time.NewTimer(max(g.silence, 0))
	defer silence.Stop()
	if g.silence > 0 {
		silent = silence.C
	}
	stopping, ended := activity.GetWorkerStopChannel(ctx), ctx.Done()
	var shutdown, abandon <-chan time.Time
	for {
		select {
		case own := <-returned:
			return own
		case <-limit:
			cancel(errLate)
		case <-g.heard:
			silence.Reset(g.silence)
		case <-silent:
			cancel(errSilent)
		case <-stopping:
			stopping, shutdown = nil, time.After(g.shutdown)
		case <-shutdown:
			cancel(worker.ErrWorkerShutdown)
		case <-ended:
			ended, abandon = nil, time.After(g.grace)
		case <-abandon:
			cause := context.Cause(ctx)
			activity.GetLogger(ctx).Error(g.what+" goes on though its context has ended: abandoned", append(g.names, "cause", cause)...)
			return outcome[R]{err: cause, cause: cause}
		}
	}
}

func logPanic(ctx context.Context, what string, p any, names ...any) {
	activity.GetLogger(ctx).Error(what+" panicked", append(names, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))...)
}

// within is a limit, or what is left until a deadline less the time to say so.
func within(limit time.Duration, deadline time.Time, grace time.Duration) time.Duration {
	if deadline.IsZero() {
		return limit
	}
	left := time.Until(deadline)
	return max(min(limit, max(left-grace-time.Second, left/2)), 0)
}
