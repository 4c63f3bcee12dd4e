package statefile

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A Server is a dev server that answers.
type Server struct {
	// Address is host and port for clients, UIURL is the Web UI for people.
	Address string `json:"address"`
	UIURL   string `json:"ui_url"`
	// Namespace is the one that exists, with the search attributes AgentName,
	// AgentStatus and StopReason.
	Namespace string `json:"namespace"`
	// StateFile is absolute and free of symlinks.
	StateFile string `json:"state_file"`
	// LogFile is what the server prints, errors only.
	LogFile string `json:"log_file"`
	// Version is the server's version, Binary the CLI that it runs in.
	Version string `json:"version"`
	Binary  string `json:"binary"`
	// PID is the server's process, not the supervisor's.
	PID int `json:"pid"`
	// Shared says why programs of other users of this machine reach the server; empty: they do not.
	Shared string `json:"shared,omitzero"`
	// Started is true for the one call that brought it up.
	Started bool `json:"-"`
}

// Hold keeps up the dev server of ours that is up on a state file (empty: the default one), for as long as the connection is
// open. One that is starting is waited for. Where none is up, or one is about to stop, the connection is nil.
func Hold(ctx context.Context, stateFile string) (_ net.Conn, none Server, _ error) {
	if Supported() != nil {
		return nil, none, nil
	}
	stateFile, err := Resolve(stateFile)
	if err != nil {
		return nil, none, err
	}
	conn, r, err := Connect(ctx, stateFile)
	switch {
	case errors.Is(err, ErrNotUp):
		return nil, none, nil
	case err != nil:
		return nil, none, err
	case r.Error != "":
		_ = conn.Close() // it failed to start: there is nothing to hold
		return nil, none, nil
	}
	return conn, r.Server, nil
}

// Running reports which dev server of ours is up on a state file (empty: the
// default one), without keeping it up. One that is starting is waited for.
func Running(ctx context.Context, stateFile string) (Server, bool, error) {
	conn, server, err := Hold(ctx, stateFile)
	if conn != nil {
		_ = conn.Close() // it was only read from
	}
	return server, conn != nil, err
}

// ErrNotUp means that no supervisor answers on a state file: there is none, or
// it went away while it was asked.
var ErrNotUp = errors.New("no dev server is up on this state file")

// longestSocketPath is what every unix takes (Linux has 108, macOS 104).
const longestSocketPath = 100

// A Reply is the one line that a supervisor sends on each connection, once the
// server answers or is known to have failed.
type Reply struct {
	Server Server `json:"server,omitzero"`
	Error  string `json:"error,omitzero"`
}

// SocketPath is where the supervisor of a state file listens.
func SocketPath(stateFile string) (string, error) {
	if path := stateFile + ".sock"; len(path) <= longestSocketPath {
		return path, nil
	}
	dir, err := PrivateDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(stateFile))
	path := filepath.Join(dir, hex.EncodeToString(sum[:12])+".sock")
	if len(path) > longestSocketPath {
		return "", fmt.Errorf("socket path %q is too long: choose a shorter state file, or a shorter TMPDIR", path)
	}
	return path, nil
}

// longestReply is far more than a supervisor says.
const longestReply = 64 << 10

// checkPeer refuses whoever else listens in a folder that several may write to: what a worker
// is told here is the server that it serves.
func checkPeer(conn net.Conn, path string) error {
	uid, err := peer(conn, path)
	if err != nil {
		return fmt.Errorf("see whose dev server this is: %w", err)
	}
	return checkUser(uid, os.Getuid(), path)
}

func checkUser(uid, own int, path string) error {
	if uid == own || uid == 0 {
		return nil
	}
	return fmt.Errorf("%s is user %d's, not yours: choose a state file in a folder that only you write to", path, uid)
}

// Connect reaches the supervisor of a state file and waits for its reply. While
// the connection is open, the server stays up. It is an error if it is another user's,
// other than root's.
func Connect(ctx context.Context, stateFile string) (_ net.Conn, r Reply, _ error) {
	path, err := SocketPath(stateFile)
	if err != nil {
		return nil, r, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		if ctx.Err() != nil {
			return nil, r, ctx.Err()
		}
		// EAGAIN is a full backlog: it is up, or going away.
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EAGAIN) {
			return nil, r, ErrNotUp
		}
		return nil, r, fmt.Errorf("reach the supervisor of the dev server: %w", err)
	}
	if err := checkPeer(conn, path); err != nil {
		_ = conn.Close() // nothing is held
		return nil, r, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	line, err := bufio.NewReader(io.LimitReader(conn, longestReply)).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	stopped := stop()
	if stopped && err == nil {
		return conn, r, nil
	}
	_ = conn.Close() // nothing is held any more
	if !stopped {
		return nil, r, ctx.Err()
	}
	return nil, r, ErrNotUp // cut off: it is gone
}
