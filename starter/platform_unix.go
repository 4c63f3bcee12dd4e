//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks without waiting.
func lockFile(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errServed
		}
		return err
	}
}
