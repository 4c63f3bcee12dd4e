package process

import "syscall"

// boundToParent keeps Ctrl-C away, and kills when the thread that started it ends.
func boundToParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
