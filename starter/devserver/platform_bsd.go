//go:build unix && !linux

package devserver

import "syscall"

// boundToParent can do nothing here: a server whose supervisor is killed goes
// on, and holds the lock of its state file until it is ended by hand.
func boundToParent() *syscall.SysProcAttr { return nil }
