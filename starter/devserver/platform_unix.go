//go:build unix

package devserver

import (
	"os"
	"syscall"
)

// supported is nil where a supervisor can work.
func supported() error { return nil }

func ownedByMe(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

// ownSession makes a child that no signal of the terminal reaches.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// keepFilesPrivate has whatever this process and its children create readable
// by nobody else.
func keepFilesPrivate() { syscall.Umask(0o077) }

func keepFromChildren(file *os.File) { syscall.CloseOnExec(int(file.Fd())) }

func killed(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}
