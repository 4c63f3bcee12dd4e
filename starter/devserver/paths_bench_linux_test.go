package devserver

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"everstep/worker/host/statefile"
)

// BenchmarkPaths is a step, an activity that does nothing, over each way to a dev server: its own port in the network of
// the machine, the relay before a network of its own, and connections that its supervisor hands out. -benchtime 1000x
// gives a thousand steps to each. The wall clock says little on a machine that does more; the processor time does.
func BenchmarkPaths(b *testing.B) {
	for _, path := range []struct {
		name           string
		shared, handed bool
	}{{"port", true, false}, {"relay", false, false}, {"handed", false, true}} {
		b.Run(path.name, func(b *testing.B) {
			self, err := os.Executable()
			require.NoError(b, err)
			cfg := Config{StateFile: filepath.Join(b.TempDir(), "dev.db")}
			if path.shared {
				cfg.Supervisor = []string{self, sharedCommand}
			}
			lease, err := Acquire(b.Context(), cfg)
			require.NoError(b, err)
			defer lease.Close()
			server := lease.Server()
			options := client.Options{HostPort: server.Address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))}
			if path.handed {
				options.ConnectionOptions.DialOptions = []grpc.DialOption{grpc.WithContextDialer(
					func(ctx context.Context, _ string) (net.Conn, error) { return statefile.Dial(ctx, server.StateFile) })}
			}
			c, err := client.DialContext(b.Context(), options)
			require.NoError(b, err)
			defer c.Close()
			w := worker.New(c, "steps", worker.Options{})
			w.RegisterActivity(step)
			w.RegisterWorkflow(steps)
			require.NoError(b, w.Start())
			defer w.Stop()
			take := func(n int) {
				run, err := c.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{TaskQueue: "steps"}, steps, n)
				require.NoError(b, err)
				require.NoError(b, run.Get(b.Context(), nil))
			}
			take(50) // warm
			processes := []string{"self", fmt.Sprint(server.PID), fmt.Sprint(startedBy(b, server.PID))}
			before := cpu(b, processes)
			b.ResetTimer()
			take(b.N)
			b.StopTimer()
			for i, used := range cpu(b, processes) {
				b.ReportMetric(float64((used-before[i]).Microseconds())/float64(b.N), []string{"worker", "server", "supervisor"}[i]+"-µs/op")
			}
		})
	}
}

func step(context.Context) error { return nil }

func steps(ctx workflow.Context, n int) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	for range n {
		if err := workflow.ExecuteActivity(ctx, step).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// cpu is the processor time that processes have used.
func cpu(b *testing.B, processes []string) (used []time.Duration) {
	b.Helper()
	for _, process := range processes {
		threads, err := filepath.Glob("/proc/" + process + "/task/*/schedstat")
		require.NoError(b, err)
		var sum int64
		for _, thread := range threads {
			text, err := os.ReadFile(thread)
			if err != nil {
				continue // it has ended
			}
			var nanoseconds int64
			_, err = fmt.Sscan(strings.Fields(string(text))[0], &nanoseconds)
			require.NoError(b, err)
			sum += nanoseconds
		}
		used = append(used, time.Duration(sum))
	}
	return used
}
