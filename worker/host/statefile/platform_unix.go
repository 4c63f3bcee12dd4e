//go:build unix

package statefile

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// Supported is nil where a supervisor can work.
func Supported() error { return nil }

// owners are the user and the group of a file.
func owners(info os.FileInfo) (user, group int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(stat.Uid), int(stat.Gid), true
}

// receive asks a supervisor for a connection to its server.
func receive(supervisor net.Conn) (net.Conn, error) {
	asked := supervisor.(*net.UnixConn)
	if _, err := asked.Write([]byte{'c'}); err != nil {
		return nil, err
	}
	rights := make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := asked.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return nil, err
	}
	none := errors.New("none came")
	messages, err := syscall.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, none
	}
	files, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(files) != 1 {
		return nil, none
	}
	file := os.NewFile(uintptr(files[0]), "connection")
	defer file.Close() // the connection has its own
	return net.FileConn(file)
}

// Hand hands a TCP connection over to whoever is at the other end of a unix socket.
func Hand(to, conn net.Conn) error {
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		return fmt.Errorf("hand over a connection: %w", err)
	}
	defer file.Close()
	_, _, err = to.(*net.UnixConn).WriteMsgUnix([]byte{'c'}, syscall.UnixRights(int(file.Fd())), nil)
	return err
}

// Lock takes the lock of a file without waiting, or returns [ErrLocked]. It is
// held until the file is closed here and in every process that inherited it, and
// ends with them however they end.
func Lock(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		}
		return err
	}
}
