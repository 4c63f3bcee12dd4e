package host

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"runtime/debug"
)

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
