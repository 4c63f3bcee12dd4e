//go:build !linux

package devserver

import (
	"context"
	"errors"
	"net"
	"syscall"
)

// A network of the server's own there is none here: nil is that of the machine.
type network struct{}

func newNetwork() (*network, error) { return nil, errShared }

func (*network) enter() error { return nil }

func (*network) dialInside(ctx context.Context, address string) (net.Conn, error) {
	return dialer().DialContext(ctx, "tcp4", address)
}

func rights(*syscall.SysProcAttr) error { return errShared }

// Shared says that the programs of other users reach a dev server here.
func Shared() error { return errShared }

var errShared = errors.New("only Linux has networks for one program")
