//go:build unix

package wire

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwner makes sure that nobody but the worker's user, and root, can read
// or replace what is in a file.
func checkOwner(info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("has permissions %04o, which let others at it; run chmod 600 on it", mode)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("its owner cannot be told")
	}
	if stat.Uid != 0 && int64(stat.Uid) != int64(os.Geteuid()) {
		return errors.New("belongs to another user than the worker's; run chown on it")
	}
	return nil
}
