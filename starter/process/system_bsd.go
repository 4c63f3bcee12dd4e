//go:build unix && !linux

package process

import "syscall"

// boundToParent keeps Ctrl-C away. Who does not read its input outlives this process.
func boundToParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
