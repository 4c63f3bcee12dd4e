package shell

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// A namespace is what a keeper and its command are in. Processes in one cannot name
// those outside, and the kernel ends them all when the first of them, the keeper, ends.
type namespace string

const (
	// none: the system lets this user have no namespace. The keeper sweeps as well as it can.
	none namespace = ""
	// ofProcesses is one of processes alone, which root may have.
	ofProcesses namespace = "pid"
	// ofUsers is one of processes in one of users, which others may have where the
	// system lets them. The worker's user is itself there, and nobody else is anyone.
	ofUsers namespace = "user"
)

// possible is the best namespace that this user gets of this system.
func possible() namespace {
	for _, n := range []namespace{ofProcesses, ofUsers} {
		if n == ofUsers && Landlock() == 0 {
			break // this process hides its memory, and so could not map its user
		}
		try := exec.Cmd{Path: shellPath, Args: []string{"sh", "-c", "exit 0"}, Dir: "/", Env: []string{}, SysProcAttr: n.attributes()}
		if try.Run() == nil {
			return n
		}
	}
	return none
}

// attributes are those of a keeper, which is out of reach of Ctrl-C too.
func (n namespace) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	switch n {
	case none:
	case ofProcesses:
		a.Cloneflags = unix.CLONE_NEWPID
	case ofUsers:
		a.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN} // in there alone: to mount its /proc; confine drops it
	}
	return a
}

// inNamespace reports whether this process, a keeper, is the first of a namespace.
func inNamespace() bool { return os.Getpid() == 1 }

// ownProc has this thread, and what it starts, see in /proc the processes of its
// namespace alone. A system that refuses it shows the others, out of reach all the same.
func ownProc() {
	if unix.Unshare(unix.CLONE_NEWNS) == nil && unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") == nil {
		_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "") // refused: see above
	}
}
