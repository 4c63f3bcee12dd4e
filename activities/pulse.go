package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// pulse heartbeats at once and then on a timer, with the same details, until
// the function that it returns is called. A cancellation reaches an activity
// only with its next heartbeat.
func pulse(ctx context.Context, details ...any) (stop func()) {
	activity.RecordHeartbeat(ctx, details...)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	every := min(max(activity.GetInfo(ctx).HeartbeatTimeout/20, 100*time.Millisecond), time.Second)
	go func() {
		defer close(done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				activity.RecordHeartbeat(ctx, details...)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
