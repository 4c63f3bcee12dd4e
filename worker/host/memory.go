package host

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	// workflowBytes is about what one workflow takes while it is kept in
	// memory: 78 KB were measured with 50 KB of state.
	workflowBytes = 100 << 10
	// memoryShare is the part of the memory that workflows may take.
	memoryShare = 4
	// fewestWorkflows are kept however small the machine is.
	fewestWorkflows = 64
	// assumedMemory is reckoned with where the system does not tell.
	assumedMemory = 2 << 30
)

// stickyWorkflows is how many workflows to keep in memory: as many as fit a
// quarter of what this process may use, which is GOMEMLIMIT, else its control
// group's limit, else the machine's memory. The SDK counts them, and keeps
// 10,000 whatever the memory.
func stickyWorkflows() int {
	memory := int64(assumedMemory)
	if total := totalMemory(os.ReadFile); total > 0 {
		memory = total
	}
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		memory = limit
	}
	return workflowsIn(memory)
}

func workflowsIn(memory int64) int {
	return int(max(memory/memoryShare/workflowBytes, fewestWorkflows))
}

// totalMemory is the least of the machine's memory and the control group's
// limit, or zero where neither can be read.
func totalMemory(read func(string) ([]byte, error)) int64 {
	total := int64(0)
	if text, err := read("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) == 3 && fields[0] == "MemTotal:" {
				kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
				total = kilobytes << 10
			}
		}
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := read(path)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && limit > 0 && (total == 0 || limit < total) {
			total = limit
		}
	}
	return total
}
