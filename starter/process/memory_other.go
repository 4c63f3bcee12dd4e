//go:build !linux

package process

// Memory is not known here.
func Memory(int) (bytes int64, known bool) { return 0, false }

// MachineLoad is not known here.
func MachineLoad() string { return "" }
