package devserver

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"everstep/worker/host/statefile"
)

func dial(t *testing.T, server Server) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{
		HostPort: server.Address, Namespace: server.Namespace,
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestAcquireStartsAndCloseStops(t *testing.T) {
	t.Parallel()
	cfg := realConfig(t)
	_, up, err := statefile.Running(t.Context(), cfg.StateFile)
	require.NoError(t, err)
	require.False(t, up)

	lease, err := Acquire(t.Context(), cfg)
	require.NoError(t, err)
	server := lease.Server
	require.True(t, server.Started)
	require.Equal(t, cfg.StateFile, server.StateFile)
	require.Equal(t, cfg.Binary, server.Binary)
	require.True(t, strings.HasPrefix(server.Address, "127.0.0.1:"), server.Address)
	require.GreaterOrEqual(t, compareVersions(server.Version, minServer), 0)

	attributes, err := dial(t, server).OperatorService().ListSearchAttributes(t.Context(),
		&operatorservice.ListSearchAttributesRequest{Namespace: server.Namespace})
	require.NoError(t, err)
	for _, name := range []string{"AgentName", "AgentStatus", "StopReason"} {
		require.Equal(t, enumspb.INDEXED_VALUE_TYPE_KEYWORD, attributes.CustomAttributes[name], name)
	}
	require.Eventually(t, func() bool {
		response, err := http.Get(server.UIURL)
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	}, testPatience, 20*time.Millisecond, "no web UI")
	require.FileExists(t, server.StateFile+"-wal", "SQLite is not in WAL mode")
	for path, mode := range map[string]os.FileMode{
		filepath.Dir(server.StateFile): 0o700,
		server.StateFile:               0o600,
		server.LogFile:                 0o600,
		server.StateFile + ".sock":     0o600,
		lockPath(server.StateFile):     0o600,
	} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), path)
	}

	seen, up, err := statefile.Running(t.Context(), cfg.StateFile)
	require.NoError(t, err)
	require.True(t, up)
	require.Equal(t, server.PID, seen.PID)
	require.False(t, seen.Started)

	require.NoError(t, lease.Close())
	require.NoError(t, lease.Close(), "a second close does nothing")
	requireDone(t, lease)
	requireGone(t, cfg.StateFile)
	_, err = net.Dial("tcp", server.Address)
	require.Error(t, err)
	require.NoFileExists(t, server.StateFile+".sock")
	_, up, err = statefile.Running(t.Context(), cfg.StateFile)
	require.NoError(t, err)
	require.False(t, up)
}

func acquireAtOnce(t *testing.T, cfg Config, n int) []*Lease {
	t.Helper()
	var callers sync.WaitGroup
	leases, errs := make([]*Lease, n), make([]error, n)
	for i := range n {
		callers.Go(func() { leases[i], errs[i] = Acquire(t.Context(), cfg) })
	}
	callers.Wait()
	require.NoError(t, errors.Join(errs...))
	return leases
}

func TestManyCallersShareOneServer(t *testing.T) {
	t.Parallel()
	cfg := realConfig(t)
	leases := acquireAtOnce(t, cfg, 10)
	started := 0
	for _, lease := range leases {
		require.Equal(t, leases[0].Server.PID, lease.Server.PID)
		if lease.Server.Started {
			started++
		}
	}
	require.Equal(t, 1, started)
	for _, lease := range leases[1:] {
		require.NoError(t, lease.Close())
	}
	// Longer than the grace: the one that is left keeps it up.
	require.Never(t, func() bool {
		select {
		case <-leases[0].Done:
			return true
		default:
			return false
		}
	}, 2*lastUserGrace, 20*time.Millisecond)
	require.NoError(t, leases[0].Close())
	requireGone(t, cfg.StateFile)
}

// Users who come while the server is stopping get the next one, all the same one.
func TestAcquireWhileTheServerGoesAway(t *testing.T) {
	t.Parallel()
	cfg := realConfig(t)
	lease, err := Acquire(t.Context(), cfg)
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, lease.Close())
		require.Eventually(t, func() bool {
			_, err := os.Stat(cfg.StateFile + ".sock")
			return os.IsNotExist(err)
		}, testPatience, time.Millisecond)
		before := lease.Server.PID
		leases := acquireAtOnce(t, cfg, 3)
		lease = leases[0]
		require.NotEqual(t, before, lease.Server.PID)
		for _, other := range leases[1:] {
			require.Equal(t, lease.Server.PID, other.Server.PID)
			require.NoError(t, other.Close())
		}
	}
	require.NoError(t, lease.Close())
	requireGone(t, cfg.StateFile)
}

func TestStateSurvivesARestart(t *testing.T) {
	t.Parallel()
	cfg := realConfig(t)
	first, err := Acquire(t.Context(), cfg)
	require.NoError(t, err)
	run, err := dial(t, first.Server).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "kept", TaskQueue: "nobody-listens",
	}, "any")
	require.NoError(t, err)
	require.NoError(t, first.Close())
	requireDone(t, first)
	requireGone(t, cfg.StateFile)

	second := acquire(t, cfg)
	require.True(t, second.Server.Started)
	require.NotEqual(t, first.Server.PID, second.Server.PID)
	found, err := dial(t, second.Server).DescribeWorkflowExecution(t.Context(), "kept", "")
	require.NoError(t, err)
	require.Equal(t, run.GetRunID(), found.GetWorkflowExecutionInfo().GetExecution().GetRunId())
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, found.GetWorkflowExecutionInfo().GetStatus())
}

func TestPorts(t *testing.T) {
	t.Parallel()
	cfg := realConfig(t)
	taken, err := listen(localhost(), 0)
	require.NoError(t, err)
	defer taken.Close()

	asked := cfg
	asked.Port = number(taken)
	_, err = Acquire(t.Context(), asked)
	require.ErrorContains(t, err, "is taken by another program")
	asked = cfg
	asked.UIPort = number(taken)
	_, err = Acquire(t.Context(), asked)
	require.ErrorContains(t, err, "ui port")
	requireGone(t, cfg.StateFile)

	// Two servers are up at once, whoever has the preferred ports.
	lease := acquire(t, cfg)
	other := cfg
	other.StateFile = filepath.Join(t.TempDir(), "other.db")
	otherLease := acquire(t, other)
	require.NotEqual(t, lease.Server.Address, otherLease.Server.Address)
	require.NotEqual(t, lease.Server.UIURL, otherLease.Server.UIURL)

	asked = cfg
	asked.Port = otherLease.port(t)
	_, err = Acquire(t.Context(), asked)
	require.ErrorContains(t, err, "a dev server is already up on this state file, there at "+lease.Server.Address)
	asked.Port = lease.port(t)
	same, err := Acquire(t.Context(), asked)
	require.NoError(t, err)
	require.NoError(t, same.Close())
}

func (l *Lease) port(t *testing.T) int {
	t.Helper()
	address, err := net.ResolveTCPAddr("tcp", l.Server.Address)
	require.NoError(t, err)
	return address.Port
}

func TestLongAndLinkedStateFiles(t *testing.T) {
	t.Parallel()
	cfg := realConfig(t)
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	cfg.StateFile = filepath.Join(dir, "dev.db")
	lease := acquire(t, cfg)
	require.NoFileExists(t, cfg.StateFile+".sock")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	server, up, err := statefile.Running(t.Context(), filepath.Join(link, "dev.db"))
	require.NoError(t, err)
	require.True(t, up)
	require.Equal(t, lease.Server.PID, server.PID)
}

func TestBrokenBinaries(t *testing.T) {
	t.Parallel()
	const version = "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)"
	stateFile := filepath.Join(t.TempDir(), "dev.db")

	_, err := Acquire(t.Context(), Config{StateFile: stateFile, Binary: script(t, version, "echo the disk is '\033[31m'on fire >&2; exit 3")})
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "the disk is [31mon fire")
	requireGone(t, stateFile)

	_, err = Acquire(t.Context(), Config{StateFile: stateFile, Binary: filepath.Join(t.TempDir(), "none")})
	require.ErrorContains(t, err, "name another temporal CLI")

	_, err = Acquire(t.Context(), Config{StateFile: stateFile, Binary: script(t, version, "exit 0"), Supervisor: []string{"/bin/sh", "-c", "echo no such command; exit 2"}})
	require.ErrorContains(t, err, "exit status 2")
	require.ErrorContains(t, err, "no such command")

	_, err = Acquire(t.Context(), Config{StateFile: stateFile, Binary: script(t, version, "exit 0"), Supervisor: []string{"/none"}})
	require.ErrorContains(t, err, "find the supervisor")

	// One that never answers: the caller's patience counts, and nothing stays.
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = Acquire(ctx, Config{StateFile: stateFile, Binary: script(t, version, "exec sleep 60")})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	requireGone(t, stateFile)
}

func TestIncompleteStateFileIsSetAside(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"empty": "", "half made": "SQLite for"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := realConfig(t)
			require.NoError(t, os.MkdirAll(filepath.Dir(cfg.StateFile), 0o700))
			require.NoError(t, os.WriteFile(cfg.StateFile, []byte(text), 0o600))
			require.NoError(t, os.WriteFile(lockPath(cfg.StateFile), []byte("made by one that was killed"), 0o600))
			acquire(t, cfg)
			kept, err := os.ReadFile(cfg.StateFile + ".incomplete")
			require.NoError(t, err)
			require.Equal(t, text, string(kept))
			mark, err := os.ReadFile(lockPath(cfg.StateFile))
			require.NoError(t, err)
			require.Empty(t, mark)
		})
	}
	t.Run("foreign", func(t *testing.T) {
		t.Parallel()
		cfg := realConfig(t)
		require.NoError(t, os.MkdirAll(filepath.Dir(cfg.StateFile), 0o700))
		require.NoError(t, os.WriteFile(cfg.StateFile, []byte("something of the user's"), 0o600))
		_, err := Acquire(t.Context(), cfg)
		require.ErrorContains(t, err, "server start-dev")
		kept, err := os.ReadFile(cfg.StateFile)
		require.NoError(t, err)
		require.Equal(t, "something of the user's", string(kept))
		requireGone(t, cfg.StateFile)
	})
}
