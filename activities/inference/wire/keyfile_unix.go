//go:build unix

package wire

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwner makes sure that only the worker's user and root can read or replace a file.
func checkOwner(info fs.FileInfo, mounted bool) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("its owner cannot be told")
	}
	return permitted(info.Mode().Perm(), int64(stat.Uid), int64(os.Geteuid()), mounted)
}

// permitted says whether a key may be in a file with a mode and an owner. Docker and
// Kubernetes can only mount secrets so that others of the container may read them.
func permitted(mode fs.FileMode, owner, worker int64, mounted bool) error {
	others := fs.FileMode(0o077)
	if mounted {
		others = 0o022
	}
	switch {
	case mode&others != 0 && mounted:
		return fmt.Errorf("has permissions %04o, which let others write to it; mount it so that they cannot", mode)
	case mode&others != 0:
		return fmt.Errorf("has permissions %04o, which let others at it; run chmod 600 on it, or mount it as a secret below %s", mode, secretsFolder)
	case owner != 0 && owner != worker:
		return errors.New("belongs to another user than the worker's; run chown on it")
	}
	return nil
}
