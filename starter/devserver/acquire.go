package devserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"everstep/starter/process"
	"everstep/worker/host/statefile"
)

// patience is how long a caller tries to get hold of a server, not counting the
// time to find or build one. Longer than a start may take.
const patience = startPatience + 15*time.Second

// Acquire joins the dev server of a state file, or starts it, and returns when
// it answers. However many call it at once, in whatever processes, there is one
// server and all get it.
func Acquire(ctx context.Context, cfg Config) (*Lease, error) {
	if err := statefile.Supported(); err != nil {
		return nil, err
	}
	cfg, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(cfg.StateFile), 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the state file: %w", err)
	}
	if cfg.StateFile, err = statefile.Resolve(cfg.StateFile); err != nil {
		return nil, err
	}
	if err := statefile.CheckWriters(filepath.Dir(cfg.StateFile)); err != nil {
		return nil, fmt.Errorf("state file %s: %w: choose one in a folder that only you write to", cfg.StateFile, err)
	}
	a := acquisition{cfg: cfg, began: time.Now()}
	for {
		lease, err := a.attempt(ctx)
		if lease != nil || err != nil {
			return lease, err
		}
		waited := time.Since(a.began)
		switch {
		case waited <= patience:
		case a.failed != "":
			return nil, a.notStarted(a.failed)
		default:
			return nil, fmt.Errorf("state file %s is in use by a process that does not share it: end it (it holds %s), or choose another state file",
				cfg.StateFile, lockPath(cfg.StateFile))
		}
		if waited >= a.said+progressEvery {
			a.said = waited
			cfg.Progress(fmt.Sprintf("waiting for another dev server on this state file to start or stop, %s", waited.Round(time.Second)))
		}
		if err := process.Pause(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// Join holds the dev server of a state file (empty: the default one) that is up, and waits for one that is starting.
// It starts none: where none is up, or one is about to stop, the lease is nil.
func Join(ctx context.Context, stateFile string) (*Lease, error) {
	conn, server, err := statefile.Hold(ctx, stateFile)
	if conn == nil {
		return nil, err
	}
	return newLease(conn, server), nil
}

// An acquisition is one call of Acquire.
type acquisition struct {
	cfg    Config
	began  time.Time
	said   time.Duration // how long it had waited when it last said so
	binary Binary
	failed string // what another process's start failed of
}

// attempt returns neither a lease nor an error where it met another process that was coming or going.
func (a *acquisition) attempt(ctx context.Context) (*Lease, error) {
	conn, r, err := statefile.Connect(ctx, a.cfg.StateFile)
	switch {
	case err == nil && r.Error == "":
		if err := a.mismatch(r.Server); err != nil {
			_ = conn.Close()
			return nil, err
		}
		a.cfg.Progress(fmt.Sprintf("using the dev server that is already up: %s (process %d)", r.Server.Address, r.Server.PID))
		return newLease(conn, r.Server), nil
	case err == nil:
		// Somebody else's start failed; ours may not, since it may ask for less.
		_ = conn.Close()
		a.failed = r.Error
		return nil, nil
	case !errors.Is(err, statefile.ErrNotUp):
		return nil, err
	}
	if a.binary.Path == "" {
		began := time.Now()
		if a.binary, err = Find(ctx, a.cfg); err != nil {
			return nil, err
		}
		a.began = a.began.Add(time.Since(began))
		a.cfg.Progress("using " + a.binary.String())
	}
	ended, err := launch(a.cfg, a.binary)
	if errors.Is(err, statefile.ErrLocked) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return a.await(ctx, ended)
}

// mismatch says why a server that is up is not the one asked for; nil: it is.
func (a *acquisition) mismatch(server Server) error {
	check := func(field string, asked int, at string) error {
		if asked == 0 || at == net.JoinHostPort(loopback, strconv.Itoa(asked)) {
			return nil
		}
		return fmt.Errorf("%s %d: a dev server is already up on this state file, there at %s: leave the port out, end who uses it, or choose another state file",
			field, asked, at)
	}
	ui := strings.TrimPrefix(server.UIURL, "http://")
	return cmp.Or(check("port", a.cfg.Port, server.Address), check("ui port", a.cfg.UIPort, ui))
}

// await waits for the server of the supervisor that this call started.
func (a *acquisition) await(ctx context.Context, ended <-chan error) (*Lease, error) {
	conn, r, err := statefile.Connect(ctx, a.cfg.StateFile)
	switch {
	case err == nil && r.Error != "":
		_ = conn.Close()
		return nil, a.notStarted(r.Error)
	case err == nil:
		r.Server.Started = true
		a.cfg.Progress(fmt.Sprintf("started the dev server: %s, web UI %s", r.Server.Address, r.Server.UIURL))
		return newLease(conn, r.Server), nil
	case !errors.Is(err, statefile.ErrNotUp):
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case err := <-ended:
		if err == nil {
			return nil, nil
		}
		return nil, cmp.Or(statefile.Room(a.cfg.StateFile), fmt.Errorf("the supervisor of the dev server failed: %w%s", err, logTail(a.cfg.StateFile, 0)))
	}
}

// notStarted says why a server could not be started: that the disk is full, else what its supervisor says.
func (a *acquisition) notStarted(why string) error {
	return cmp.Or(statefile.Room(a.cfg.StateFile), errors.New("start the dev server: "+why))
}

// A Lease keeps a dev server up. It ends with [Lease.Close] or with the process
// that holds it, however that ends. Safe for concurrent use.
type Lease struct {
	// Server is the server that the lease is on.
	Server Server
	// Done is closed when the server is gone, or the lease.
	Done <-chan struct{}

	conn net.Conn
}

func newLease(conn net.Conn, server Server) *Lease {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, conn) // nothing more is sent: it returns when the connection ends
	}()
	return &Lease{Server: server, Done: done, conn: conn}
}

// Close gives the lease up and returns at once. When nobody holds another one,
// the server stops a moment later. A second Close does nothing.
func (l *Lease) Close() error {
	err := l.conn.Close()
	<-l.Done
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
