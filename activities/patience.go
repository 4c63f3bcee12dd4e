package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
)

// A patience is how long a function that an activity runs in a goroutine of its
// own may take.
type patience struct {
	// limit is the function's own time. Then its context ends, and late is why.
	limit time.Duration
	late  error
	// shutdown is what it has left when the worker is told to stop.
	shutdown time.Duration
	// grace is how long it may go on after its context has ended.
	grace time.Duration
}

// await waits for what the function returns, and ends its context through cancel
// when its time is over. It is not ok where the function goes on though its
// context has ended: then it is abandoned, and may be running still.
func await[R any](ctx context.Context, cancel context.CancelCauseFunc, returned <-chan R, p patience) (run R, ok bool) {
	limit := time.NewTimer(p.limit)
	defer limit.Stop()
	stopping, ended := activity.GetWorkerStopChannel(ctx), ctx.Done()
	var shutdown, abandon <-chan time.Time
	for {
		select {
		case run := <-returned:
			return run, true
		case <-limit.C:
			cancel(p.late)
		case <-stopping:
			stopping, shutdown = nil, time.After(p.shutdown)
		case <-shutdown:
			cancel(worker.ErrWorkerShutdown)
		case <-ended:
			ended, abandon = nil, time.After(p.grace)
		case <-abandon:
			return run, false
		}
	}
}

// within is a limit, or what is left until the activity's deadline less the time
// that it takes to say so, where that is less.
func within(limit time.Duration, deadline time.Time, grace time.Duration) time.Duration {
	if deadline.IsZero() {
		return limit
	}
	left := time.Until(deadline)
	return max(min(limit, max(left-grace-time.Second, left/2)), 0)
}
