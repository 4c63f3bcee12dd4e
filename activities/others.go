package activities

import (
	"context"
	"maps"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"everstep/domain"
)

// inferring are the inferences under way on this worker, each by a channel that is closed when it has ended.
type inferring struct{ running sync.Map }

// begin notes one, until the function that it returns is called.
func (i *inferring) begin() (end func()) {
	own := make(chan struct{})
	i.running.Store(own, nil)
	return func() {
		i.running.Delete(own)
		close(own)
	}
}

// wait lets those that are under way have their answers, for a while: what is to
// run now may take this worker with it.
func (i *inferring) wait(ctx context.Context) {
	// Less than the time for a report, so that it takes nothing from the call's own.
	patience := time.After(domain.ReportTime / 2)
	for other := range maps.Collect(i.running.Range) { // not for those that begin meanwhile
		ended, _ := other.(chan struct{})
		select {
		case <-ended:
		case <-patience:
			return
		case <-activity.GetWorkerStopChannel(ctx):
			return
		case <-ctx.Done():
			return
		}
	}
}
