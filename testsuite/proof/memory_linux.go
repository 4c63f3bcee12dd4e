package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// residentMemory is how much of the machine's memory a process holds, in bytes (its resident set). It answers false where that
// is not known.
func residentMemory(pid int) (bytes int64, known bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
}

// machineLoad is how many processes wanted a processor over the last minute; empty where that is not known.
func machineLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	load, _, _ := strings.Cut(string(text), " ")
	return load
}
