package devserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"everstep/activities/warden"
)

// A network is one of the server's own (a network namespace), with a loopback and nothing else: what listens in there is
// reached by nobody outside. This process alone can put threads of its own into it. Nil is the network of the machine.
type network struct{ namespace *os.File }

// newNetwork makes one. It is gone when this process and all that it has started in there are.
func newNetwork() (*network, error) {
	n := &network{}
	var err error
	warden.OnThrowawayThread(func() {
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("get a network namespace: %w", err)
			return
		}
		if err = raiseLoopback(); err != nil {
			err = fmt.Errorf("raise loopback in a network namespace: %w", err)
			return
		}
		n.namespace, err = os.Open("/proc/thread-self/ns/net")
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_LOOPBACK | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// enter moves the thread of the caller, who has locked it and never unlocks it. What the thread starts is in there too,
// without the rights of this process (see rights).
func (n *network) enter() error {
	if n == nil {
		return nil
	}
	return errors.Join(unix.Setns(int(n.namespace.Fd()), unix.CLONE_NEWNET),
		unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
}

// dialInside opens a TCP connection to an address within the network, which nobody outside reaches. A thread of its own enters
// the namespace to make the socket; the socket belongs to that namespace, so any goroutine may use the connection or hand it on.
// Give a literal IPv4 address: a name would be looked up by other threads. A nil network is the machine's own.
func (n *network) dialInside(ctx context.Context, address string) (conn net.Conn, err error) {
	warden.OnThrowawayThread(func() {
		if err = n.enter(); err == nil {
			conn, err = dialer().DialContext(ctx, "tcp4", address) // an address: it is dialed by this goroutine
		}
	})
	return conn, err
}

// rights has a process that is started be able to make a network, as root is. Others are where the system lets them have
// a namespace of users: the process's user is itself in there, and nobody else is anyone.
func rights(attributes *syscall.SysProcAttr) error {
	if os.Geteuid() == 0 {
		return nil
	}
	get := func(attributes *syscall.SysProcAttr) {
		attributes.Cloneflags = unix.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		attributes.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN} // in there alone
	}
	var tried syscall.SysProcAttr
	get(&tried)
	tried.Cloneflags |= unix.CLONE_NEWNET
	try := exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", "exit 0"}, Dir: "/", Env: []string{}, SysProcAttr: &tried}
	if err := try.Run(); err != nil {
		return fmt.Errorf("get a network namespace as user %d: %w", os.Geteuid(), err)
	}
	get(attributes)
	return nil
}

// Shared says why the programs of other users reach a dev server that is started by this user on this machine. Nil: they
// do not.
func Shared() error {
	peers, err := confine(&syscall.SysProcAttr{})
	if err != nil {
		return err
	}
	_ = peers.Close() // it was only tried
	if os.Geteuid() != 0 {
		return nil
	}
	n, err := newNetwork()
	if err != nil {
		return err
	}
	return n.namespace.Close()
}
