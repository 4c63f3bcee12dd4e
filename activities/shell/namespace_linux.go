package shell

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A namespace is how a keeper and its command get namespaces of their own. Processes in them cannot name those outside,
// and the kernel ends them all when the first of them, the keeper, ends; they have no network but among themselves, and
// the files that enclose shows them.
type namespace string

const (
	// none: the system lets this user have no namespaces. The keeper sweeps as well as it can.
	none namespace = ""
	// asRoot is without one of users, which root may have.
	asRoot namespace = "root"
	// ofUsers is with one of users, which others may have where the system lets them. The worker's user is itself there,
	// and nobody else is anyone.
	ofUsers namespace = "user"
)

// attributes are those of a keeper, which is out of reach of Ctrl-C too.
func (n namespace) attributes(network bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if n == none {
		return a
	}
	a.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	if !network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if n == ofUsers {
		a.Cloneflags |= unix.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN} // in there alone, for its mounts and its network; confine drops them
	}
	return a
}

// settle finds out what confines commands here, by running one.
func (s *Shell) settle() error {
	s.hold = Hold{Landlock: Landlock(), Seccomp: hasSeccomp(), Network: s.config.Network}
	for _, s.namespace = range []namespace{asRoot, ofUsers} {
		err := s.try()
		if err == nil {
			s.hold.Namespaces, s.hold.Why = true, ""
			return nil
		}
		s.hold.Why = strings.TrimPrefix(err.Error(), "the command was not run: ")
	}
	s.namespace = none
	if s.hold.Landlock == 0 {
		// What is in this process's memory and environment is not for commands of the same user.
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return err
		}
	}
	if err := s.try(); err != nil {
		return fmt.Errorf("no command can be run: %w", err)
	}
	return nil
}

// try runs a command that does nothing.
func (s *Shell) try() error {
	ctx, cancel := context.WithTimeout(context.Background(), readyPatience)
	defer cancel()
	ended, err := s.run(ctx, order{Command: []string{shellPath, "-c", ":"}}, s.dir, time.Minute)
	if err == nil && ended.Exit != 0 {
		err = fmt.Errorf("a command that does nothing ends with %d: %s", ended.Exit, ended.output.String())
	}
	return err
}
