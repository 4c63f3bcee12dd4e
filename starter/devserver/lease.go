package devserver

import (
	"context"
	"errors"
	"io"
	"net"
)

// A Lease keeps a dev server up. It ends with [Lease.Close] or with the process
// that holds it, however that ends. Safe for concurrent use.
type Lease struct {
	server Server
	conn   net.Conn
	done   chan struct{}
}

func newLease(conn net.Conn, server Server) *Lease {
	l := &Lease{server: server, conn: conn, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		_, _ = io.Copy(io.Discard, conn) // nothing more is sent: it returns when the connection ends
	}()
	return l
}

// Server is the server that the lease is on.
func (l *Lease) Server() Server { return l.server }

// Done is closed when the server is gone, or the lease.
func (l *Lease) Done() <-chan struct{} { return l.done }

// Close gives the lease up and returns at once. When nobody holds another one,
// the server stops a moment later. A second Close does nothing.
func (l *Lease) Close() error {
	err := l.conn.Close()
	<-l.done
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Running reports which dev server of ours is up on a state file (empty: the
// default one), without keeping it up. One that is starting is waited for.
func Running(ctx context.Context, stateFile string) (Server, bool, error) {
	if err := supported(); err != nil {
		return Server{}, false, nil
	}
	stateFile, err := resolveStateFile(stateFile)
	if err != nil {
		return Server{}, false, err
	}
	conn, r, err := connect(ctx, stateFile)
	if errors.Is(err, errNotUp) {
		return Server{}, false, nil
	}
	if err != nil {
		return Server{}, false, err
	}
	_ = conn.Close() // it was only read from
	return r.Server, r.Error == "", nil
}
