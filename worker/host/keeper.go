package host

import (
	"context"
	"runtime/metrics"
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"everstep/activities/transcript"
)

// A keeper bounds by bytes what workflows take in memory, which the SDK bounds by their number: one takes
// 0.1 MB, or 2. When they take more than their share all are let go of, and those that have work come back
// as they get it, by a replay. Idle sessions do not: the SDK can drop no chosen one, so that is how they go
// first.
type keeper struct {
	share int64
	// held is how many bytes live in this process, apart from what is bounded otherwise, and how many
	// collections of the garbage there have been.
	held func() (bytes int64, collections uint64)
	// letGo lets go of all workflows. By its word the SDK wants workers stopped for that; what it does is
	// what its cache does with each for which it has no room, and waits for the end of a task.
	letGo func()
	log   log.Logger
}

const (
	keeperLooks = 5 * time.Second
	// shortRest is how long workflows are then left alone, since those at work are replayed. It doubles up
	// to longRest where that helps little: they are at work, or something else takes the memory.
	shortRest = time.Minute
	longRest  = time.Hour
)

func newKeeper(share int64, cache *transcript.Cache, log log.Logger) *keeper {
	return &keeper{share: share, log: log, letGo: worker.PurgeStickyWorkflowCache, held: func() (int64, uint64) {
		seen := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
		metrics.Read(seen)
		return int64(seen[0].Value.Uint64()+seen[1].Value.Uint64()) - cache.Size(), seen[2].Value.Uint64() //nolint:gosec // bytes of memory
	}}
}

// keep looks until the context ends.
func (k *keeper) keep(ctx context.Context) {
	look := time.NewTicker(keeperLooks)
	defer look.Stop()
	var last struct {
		at          time.Time
		bytes       int64
		collections uint64
	}
	rest, judged := shortRest, true
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		bytes, collections := k.held()
		if !judged && collections >= last.collections+2 { // what was let go of is collected by then
			if judged, rest = true, min(2*rest, longRest); last.bytes-bytes >= k.share/8 {
				rest = shortRest
			}
		}
		if !judged || bytes <= k.share || !last.at.IsZero() && time.Since(last.at) < rest {
			continue
		}
		k.log.Warn("letting go of the workflows in memory, which take more than their share; those at work come back",
			"mib", bytes>>20, "share_mib", k.share>>20)
		k.letGo()
		judged, last.at, last.bytes, last.collections = false, time.Now(), bytes, collections
	}
}
