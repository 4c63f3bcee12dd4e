package devserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// errNotUp means that no supervisor answers on a state file: there is none, or
// it went away while it was asked.
var errNotUp = errors.New("no dev server is up on this state file")

// longestSocketPath is what every unix takes (Linux has 108, macOS 104).
const longestSocketPath = 100

// A reply is the one line that a supervisor sends on each connection, once the
// server answers or is known to have failed.
type reply struct {
	Server Server `json:"server,omitzero"`
	Error  string `json:"error,omitzero"`
}

// socketPath is where the supervisor of a state file listens.
func socketPath(stateFile string) (string, error) {
	if path := stateFile + ".sock"; len(path) <= longestSocketPath {
		return path, nil
	}
	dir, err := privateDir()
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

// connect reaches the supervisor of a state file and waits for its reply. While
// the connection is open, the server stays up.
func connect(ctx context.Context, stateFile string) (net.Conn, reply, error) {
	path, err := socketPath(stateFile)
	if err != nil {
		return nil, reply{}, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		if ctx.Err() != nil {
			return nil, reply{}, ctx.Err()
		}
		// EAGAIN is a full backlog: it is up, or going away.
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EAGAIN) {
			return nil, reply{}, errNotUp
		}
		return nil, reply{}, fmt.Errorf("reach the supervisor of the dev server: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	var r reply
	err = json.NewDecoder(conn).Decode(&r)
	if !stop() {
		err = ctx.Err()
	} else if err != nil {
		err = errNotUp // cut off: it is gone
	}
	if err != nil {
		_ = conn.Close() // nothing is held any more
		return nil, reply{}, err
	}
	return conn, r, nil
}
