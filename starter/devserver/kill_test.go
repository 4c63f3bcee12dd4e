//go:build linux

package devserver

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/worker/host/statefile"
)

func TestKilledUsersLetGo(t *testing.T) {
	t.Parallel()
	cfg := realConfig(t)
	starter, server := startUser(t, cfg)
	user, seen := startUser(t, cfg)
	require.Equal(t, server.PID, seen.PID)

	// The one that started it is only a user like any other.
	require.NoError(t, starter.Process.Kill())
	require.Never(t, func() bool {
		conn, err := net.DialTimeout("tcp", server.Address, testPatience)
		return err != nil || conn.Close() != nil
	}, 2*lastUserGrace, 50*time.Millisecond)

	require.NoError(t, user.Process.Kill())
	requireGone(t, cfg.StateFile)
	_, err := net.Dial("tcp", server.Address)
	require.Error(t, err)
}

func TestKilledServerEndsTheLease(t *testing.T) {
	t.Parallel()
	cfg := realConfig(t)
	lease, ended := launchAndJoin(t, cfg)
	process, err := os.FindProcess(lease.Server.PID)
	require.NoError(t, err)
	require.NoError(t, process.Kill())
	requireDone(t, lease)
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(testPatience):
		require.Fail(t, "the supervisor outlives its server")
	}
	again := acquire(t, cfg)
	require.NotEqual(t, lease.Server.PID, again.Server.PID)
}

// launchAndJoin does what Acquire does, and tells how the supervisor ends too.
func launchAndJoin(t *testing.T, cfg Config) (*Lease, <-chan error) {
	t.Helper()
	cfg, err := cfg.checked()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(cfg.StateFile), 0o700))
	ended, err := launch(cfg, Binary{Path: cfg.Binary, Version: minServer})
	require.NoError(t, err)
	_, err = launch(cfg, Binary{Path: cfg.Binary})
	require.ErrorIs(t, err, statefile.ErrLocked, "two servers on one file")
	conn, r, err := statefile.Connect(t.Context(), cfg.StateFile)
	require.NoError(t, err)
	require.Empty(t, r.Error)
	lease := newLease(conn, r.Server)
	t.Cleanup(func() { _ = lease.Close() })
	return lease, ended
}

func openFiles(t *testing.T, pid int) []string {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	var files []string
	for _, link := range links {
		if file, err := os.Readlink(link); err == nil { // else closed meanwhile
			files = append(files, file)
		}
	}
	return files
}
