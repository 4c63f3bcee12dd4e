package process

import "syscall"

// boundToParent makes a child that no Ctrl-C reaches and that is killed when the
// thread that started it ends.
func boundToParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
