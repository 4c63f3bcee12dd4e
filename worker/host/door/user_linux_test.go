package door

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"everstep/activities/warden"
)

const otherUser = 65534

// needRoot skips a test where no other user can be had.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED with a second user: this takes root")
	}
}

// as runs a function on a thread of another user's, which ends with it.
func as(uid int, do func() error) (err error) {
	warden.OnThrowawayThread(func() {
		for _, call := range []func() error{
			func() error { return errnoOf(syscall.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0)) },
			func() error {
				return errnoOf(syscall.RawSyscall(unix.SYS_SETRESGID, uintptr(uid), uintptr(uid), uintptr(uid)))
			},
			func() error {
				return errnoOf(syscall.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)))
			},
			do,
		} {
			if err = call(); err != nil {
				return
			}
		}
	})
	return err
}

func errnoOf(_, _ uintptr, errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// guarded greets whom it takes. It returns its address and what was told.
func guarded(t *testing.T, network, address string) (at string, told *atomic.Int64) {
	t.Helper()
	peers, err := OpenPeers()
	require.NoError(t, err)
	plain, err := net.Listen(network, address)
	require.NoError(t, err)
	told = &atomic.Int64{}
	listener := peers.Own(plain, func(line string) {
		told.Add(1)
		t.Log(line)
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		require.NoError(t, peers.Close())
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "welcome")
			_ = conn.Close()
		}
	}()
	return plain.Addr().String(), told
}

// greeting is what whoever connects is told.
func greeting(network, address string) (string, error) {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	if network == "mptcp" {
		network = "tcp4"
		dialer.SetMultipathTCP(true)
	}
	conn, err := dialer.Dial(network, address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	text, _ := io.ReadAll(conn) // it may be cut off, after what it has said
	return string(text), nil
}

func expect(network, address, want string) error {
	text, err := greeting(network, address)
	if err == nil && text != want {
		err = fmt.Errorf("%s got %q", address, text)
	}
	return err
}

func TestOnlyThisUsersConnectionsAreTaken(t *testing.T) {
	t.Parallel()
	needRoot(t)
	for _, c := range []struct{ name, listens, at, dials, dialed string }{
		{"IPv4", "tcp4", "127.0.0.1:0", "tcp4", "127.0.0.1"},
		{"IPv4 by an IPv6 socket", "tcp4", "127.0.0.1:0", "mapped", "127.0.0.1"},
		{"IPv4 by MPTCP", "tcp4", "127.0.0.1:0", "mptcp", "127.0.0.1"},
		{"another loopback address", "tcp4", "127.3.2.1:0", "tcp4", "127.3.2.1"},
		{"IPv6", "tcp6", "[::1]:0", "tcp6", "[::1]"},
		{"both, by IPv4", "tcp", ":0", "tcp4", "127.0.0.1"},
		{"both, by IPv6", "tcp", ":0", "tcp6", "[::1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at, told := guarded(t, c.listens, c.at)
			try := func(want string) error {
				at := c.dialed + at[strings.LastIndexByte(at, ':'):]
				if c.dials == "mapped" {
					return expectMapped(at, want)
				}
				return expect(c.dials, at, want)
			}
			require.NoError(t, try("welcome"))
			for range 3 {
				require.NoError(t, as(otherUser, func() error { return try("") }))
			}
			require.NoError(t, try("welcome"))
			require.EqualValues(t, 1, told.Load(), "a refusal is told once")
		})
	}
}

// expectMapped connects by an IPv6 socket to an IPv4 address.
func expectMapped(address, want string) error {
	at, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), "socket")
	defer file.Close()
	if err := unix.Connect(fd, &unix.SockaddrInet6{Port: at.Port, Addr: [16]byte(at.IP.To16())}); err != nil {
		return err
	}
	text, _ := io.ReadAll(file) // it may be cut off
	if string(text) != want {
		return fmt.Errorf("%s got %q", address, text)
	}
	return nil
}

// TestManyConnectionsOfTwoUsers: none is taken for the other's, however fast they come and go.
func TestManyConnectionsOfTwoUsers(t *testing.T) {
	t.Parallel()
	needRoot(t)
	at, _ := guarded(t, "tcp4", "127.0.0.1:0")
	const connections = 300
	flood := func(want string) error {
		for range connections {
			if err := expect("tcp4", at, want); err != nil {
				return err
			}
		}
		return nil
	}
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() {
			if i%2 == 0 {
				errs[i] = flood("welcome")
			} else {
				errs[i] = as(otherUser, func() error { return flood("") })
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

// TestWhoHasLeftIsNobody: a connection that is closed or reset before it is looked at is of no user, root least of all,
// and stays that when the user connects from the same port.
func TestWhoHasLeftIsNobody(t *testing.T) {
	t.Parallel()
	needRoot(t)
	peers, err := OpenPeers()
	require.NoError(t, err)
	defer peers.Close()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()

	for name, leave := range map[string]func(*net.TCPConn) error{
		"closed": (*net.TCPConn).Close,
		"reset": func(conn *net.TCPConn) error {
			if err := conn.SetLinger(0); err != nil {
				return err
			}
			return conn.Close()
		},
	} {
		var port int
		require.NoError(t, as(otherUser, func() error {
			conn, err := net.Dial("tcp4", listener.Addr().String())
			if err != nil {
				return err
			}
			port = conn.LocalAddr().(*net.TCPAddr).Port
			if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n"); err != nil {
				return err
			}
			return leave(conn.(*net.TCPConn))
		}), name)
		left, err := listener.Accept()
		require.NoError(t, err)
		_, err = peers.user(left)
		require.ErrorIs(t, err, errGone, name)
		if name == "reset" { // the port is free again, and this user takes it
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}}
			own, err := dialer.Dial("tcp4", listener.Addr().String())
			require.NoError(t, err)
			uid, err := peers.owner(endpoint(own.LocalAddr()), endpoint(own.RemoteAddr()))
			require.NoError(t, err)
			require.Equal(t, os.Geteuid(), uid)
			_, err = peers.user(left)
			require.ErrorIs(t, err, errGone, "the connection of another user's that had the same addresses")
			require.NoError(t, own.Close())
		}
		require.NoError(t, left.Close())
	}
}
