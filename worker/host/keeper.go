package host

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"runtime/debug"
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

const (
	// workflowBytes is about what an idle workflow takes while it is kept in
	// memory: 78 KB were measured with 50 KB of state. A keeper sees to those that take more.
	workflowBytes = 100 << 10
	// memoryShare is the part of the memory that workflows may take.
	memoryShare = 4
	// fewestWorkflows are kept however small the machine is.
	fewestWorkflows = 64
	// assumedMemory is reckoned with where the system does not tell.
	assumedMemory = 2 << 30
)

// workflowShare is what workflows may take in memory: a quarter of what this process
// may use, which is GOMEMLIMIT, else its control group's limit, else the machine's memory.
func workflowShare() int64 {
	memory := cmp.Or(totalMemory(os.ReadFile), assumedMemory)
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		memory = limit
	}
	return memory / memoryShare
}

// workflowsIn is how many workflows to keep in memory. The SDK counts them, and keeps
// 10,000 whatever the memory.
func workflowsIn(share int64) int {
	return int(max(share/workflowBytes, fewestWorkflows))
}

// totalMemory is the least of the machine's memory and the control group's
// limit, or zero where neither can be read.
func totalMemory(read func(string) ([]byte, error)) (total int64) {
	for _, source := range []struct {
		path, format string
		unit         int64
	}{
		{"/proc/meminfo", "MemTotal: %d kB", 1 << 10},
		{"/sys/fs/cgroup/memory.max", "%d", 1},
		{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "%d", 1},
	} {
		var n int64
		text, _ := read(source.path) // what cannot be read says nothing
		if _, err := fmt.Sscanf(string(text), source.format, &n); err == nil && n > 0 && (total == 0 || n*source.unit < total) {
			total = n * source.unit
		}
	}
	return total
}
