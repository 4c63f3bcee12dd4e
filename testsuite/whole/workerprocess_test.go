package whole_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	programs "everstep/starter/process"
	"everstep/worker/host"
)

// serve is the body of a worker that is a process of its own: it serves until its standard input ends. Its first
// arguments are the server's address and the queue.
func serve(ctx context.Context, args []string, config host.Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // nothing is sent
		cancel()
	}()
	config.Connection.Address, config.TaskQueue = args[0], args[1]
	return host.Run(ctx, config)
}

// process starts the test binary as a worker on the stack's queue, by the argument that makes it one and those that
// follow the address and the queue. Kill ends it as kill -9 does.
func (s *stack) process(t testing.TB, worker string, args ...string) *programs.Process {
	t.Helper()
	command := exec.Command(os.Args[0], append([]string{worker, s.address, s.queue}, args...)...)
	command.Stderr = os.Stderr
	started, err := programs.Start(command)
	require.NoError(t, err)
	t.Cleanup(started.Kill)
	return started
}
