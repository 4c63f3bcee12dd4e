//go:build !unix

package statefile

import (
	"errors"
	"net"
	"os"
)

// Supported says that a supervisor cannot work here.
func Supported() error {
	return errors.New("a dev server of our own needs unix: run `temporal server start-dev` and give its address")
}

func owners(os.FileInfo) (user, group int, known bool) { return 0, 0, false }

func peer(net.Conn, string) (int, error) { return 0, Supported() }

func receive(net.Conn) (net.Conn, error) { return nil, Supported() }

// Hand cannot be done here.
func Hand(_, _ net.Conn) error { return Supported() }

// Lock locks nothing: there is no dev server of ours here either.
func Lock(*os.File) error { return nil }
