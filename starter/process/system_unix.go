//go:build unix

package process

import (
	"errors"
	"os"
	"syscall"
)

// Lock takes the lock of a file without waiting, or returns [ErrLocked]. It is
// held until the file is closed here and in every process that inherited it, and
// ends with them however they end.
func Lock(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		}
		return err
	}
}
