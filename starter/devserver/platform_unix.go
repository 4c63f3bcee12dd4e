//go:build unix

package devserver

import (
	"os"
	"syscall"
)

// ownSession makes a child that no signal of the terminal reaches.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// keepFilesPrivate has whatever this process and its children create readable
// by nobody else.
func keepFilesPrivate() { syscall.Umask(0o077) }

// socketOfOne has a unix socket be this user's from the moment on that it is there. Linux alone does so; others refuse.
func socketOfOne(_, _ string, socket syscall.RawConn) error {
	return socket.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
}

func keepFromChildren(file *os.File) { syscall.CloseOnExec(int(file.Fd())) }

func killed(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}
