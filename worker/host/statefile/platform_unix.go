//go:build unix

package statefile

import (
	"os"
	"syscall"
)

// Supported is nil where a supervisor can work.
func Supported() error { return nil }

func ownedByMe(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
