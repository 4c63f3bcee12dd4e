package devserver

import "syscall"

// boundToParent makes a child that is killed when the thread that started it
// ends, however it ends.
func boundToParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
