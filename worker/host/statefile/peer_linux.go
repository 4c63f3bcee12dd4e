package statefile

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peer is the user who listens on the other side.
func peer(conn net.Conn, _ string) (uid int, err error) {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var credentials *unix.Ucred
	failed := raw.Control(func(fd uintptr) {
		credentials, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(failed, err); err != nil {
		return 0, err
	}
	return int(credentials.Uid), nil
}
