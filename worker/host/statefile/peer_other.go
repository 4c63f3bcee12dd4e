//go:build unix && !linux

package statefile

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// peer is the user whose socket this is.
func peer(_ net.Conn, path string) (uid int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, errors.New("nothing says whose socket this is")
	}
	return int(stat.Uid), nil
}
