package whole_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/worker/host"
)

// boundWorker is the argument with which the test binary is a worker with MCP servers.
const boundWorker = "bound-worker"

// boundWork serves until its standard input ends.
func boundWork(ctx context.Context, args []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // nothing is sent
		cancel()
	}()
	return host.Run(ctx, host.Config{
		Connection: host.Connection{Address: args[0]}, TaskQueue: args[1], MCP: args[2],
		Approvals: domain.ApprovalsOf("allow"), Log: host.Log{Level: slog.LevelWarn},
	})
}

// works starts such a worker as a process of its own, and returns its id.
func (s *stack) works(t *testing.T, file string) (pid int) {
	t.Helper()
	worker := exec.Command(os.Args[0], boundWorker, s.address, s.queue, file)
	worker.Stderr = os.Stderr
	in, err := worker.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, worker.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = worker.Wait() // it was killed, maybe
	})
	return worker.Process.Pid
}
