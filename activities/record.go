package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
)

// Record writes a range of the transcript to storage, and answers where it is.
// It may run any number of times: the same range is the same object under the
// same name, visible whole or not at all.
//
// A transcript that cannot be read back any more fails for good, with the code
// context_lost. A storage or a workflow that does not answer is tried again.
func (a *Activities) Record(ctx context.Context, request domain.RecordRequest) (domain.Segment, error) {
	defer pulse(ctx)()
	segment, err := a.config.Transcripts.Record(ctx, request)
	switch {
	case err == nil:
		return segment, nil
	case temporal.IsCanceledError(context.Cause(ctx)):
		return domain.Segment{}, ctx.Err()
	case ctx.Err() != nil:
		return domain.Segment{}, failure(domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted,
			"record: cut off before the segment was written"))
	}
	return domain.Segment{}, failure(domain.AsError(err))
}

// pulse heartbeats at once and then on a timer, until the function that it
// returns is called.
func pulse(ctx context.Context) (stop func()) {
	activity.RecordHeartbeat(ctx)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(min(max(activity.GetInfo(ctx).HeartbeatTimeout/20, 100*time.Millisecond), time.Second))
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
