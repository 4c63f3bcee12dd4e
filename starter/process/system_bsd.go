//go:build unix && !linux

package process

import "syscall"

// boundToParent makes a child that no Ctrl-C reaches. One that does not read its
// standard input goes on when this process is killed.
func boundToParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
