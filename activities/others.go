package activities

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"everstep/domain"
)

// inferring are the inferences under way on this worker.
type inferring struct {
	mu      sync.Mutex
	running map[chan struct{}]bool
}

// begin notes one, until the function that it returns is called.
func (i *inferring) begin() (end func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running == nil {
		i.running = map[chan struct{}]bool{}
	}
	own := make(chan struct{})
	i.running[own] = true
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.running, own)
		close(own)
	}
}

// othersPatience is how long a call whose worker was lost lets others go before it. Less
// than the time for a report, so that it takes nothing from the call's own.
const othersPatience = domain.ReportTime / 2

// wait lets those that are under way have their answers, for a while: what is to
// run now may take this worker with it.
func (i *inferring) wait(ctx context.Context) {
	i.mu.Lock()
	others := slices.Collect(maps.Keys(i.running))
	i.mu.Unlock()
	patience := time.After(othersPatience)
	for _, other := range others {
		select {
		case <-other:
		case <-patience:
			return
		case <-activity.GetWorkerStopChannel(ctx):
			return
		case <-ctx.Done():
			return
		}
	}
}
