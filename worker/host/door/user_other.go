//go:build !linux

package door

import (
	"errors"
	"net"
	"os"
)

// Peers tells nothing here.
type Peers struct{}

// OpenPeers says that it cannot be told here whose a connection is.
func OpenPeers() (*Peers, error) { return nil, errUnknown }

var errUnknown = errors.New("this system does not say whose connection one is")

// PeersOf returns what tells nothing.
func PeersOf(*os.File) *Peers { return &Peers{} }

// File is none.
func (*Peers) File() *os.File { return nil }

// Close does nothing.
func (*Peers) Close() error { return nil }

func (*Peers) user(net.Conn) (int, error) { return 0, errUnknown }
