//go:build !linux

package main

// residentMemory is not known here.
func residentMemory(int) (bytes int64, known bool) { return 0, false }

// machineLoad is not known here.
func machineLoad() string { return "" }
