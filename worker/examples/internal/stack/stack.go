// Package stack is what tests of the examples run on: a dev server, a worker in
// the test's process and a client. [Main] is for their TestMain, then [Start].
// Agents that call no server of Temporal's are tested without it, by package
// testsuite.
package stack

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/devserver"
	"everstep/worker/host"
)

// Main runs the tests, or the dev server's supervisor where the test binary was
// started to be that.
func Main(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == devserver.SupervisorCommand {
		if err := devserver.Supervise(context.Background(), os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	m.Run()
}

// Start brings up a dev server and a worker, and returns the client of its
// agents.
func Start(t *testing.T, config host.Config) *client.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "everstep-example-")
	require.NoError(t, err)
	lease, err := devserver.Acquire(t.Context(), devserver.Config{
		StateFile: filepath.Join(dir, "dev.db"), Binary: os.Getenv("EVERSTEP_TEMPORAL"),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = lease.Close()
		_ = os.RemoveAll(dir) // what the server still writes there is of no use
	})
	config.Connection.Address = lease.Server.Address
	config.TaskQueue = "example-" + uuid.NewString()
	config.Dir, config.Log.Level = t.TempDir(), slog.LevelError
	temporal, err := host.Dial(t.Context(), config.Connection)
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	worker, err := host.Start(t.Context(), temporal, config)
	require.NoError(t, err)
	t.Cleanup(worker.Stop)
	return client.New(temporal, client.Config{TaskQueue: config.TaskQueue, Loopback: true})
}

// Script returns the model that plays a script.
func Script(t *testing.T, script string) domain.LLMConfig {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.yaml")
	require.NoError(t, os.WriteFile(path, []byte(script), 0o600))
	return domain.LLMConfig{Provider: "scripted", Model: path}
}
