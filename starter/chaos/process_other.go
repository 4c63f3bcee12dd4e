//go:build !linux

package chaos

import "syscall"

// boundToParent has no means here: the worker ends with its standard input.
func boundToParent() *syscall.SysProcAttr { return nil }
