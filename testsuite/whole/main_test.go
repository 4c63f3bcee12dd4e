package whole_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/starter/devserver"
	"everstep/testsuite/proof/kills"
	"everstep/worker/host"
)

// TestMain lets the test binary be what its tests start: the supervisor of the
// dev server, and the workers that are killed.
func TestMain(m *testing.M) {
	host.Begin()
	commands := map[string]func(context.Context, []string) error{
		devserver.SupervisorCommand: devserver.Supervise,
		kills.WorkerCommand:         kills.Worker(nil),
		mortalWorker:                mortalWork,
		mcpServer:                   mcpServe,
		mcpTasks:                    mcpTasksServe,
		boundWorker:                 boundWork,
		recordsWorker:               recordsWork,
		recordedWorker:              recordedWork,
	}
	if len(os.Args) > 1 && commands[os.Args[1]] != nil {
		if err := commands[os.Args[1]](context.Background(), os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	sideBySide()
	code := m.Run()
	servers.close()
	os.Exit(code)
}

// sideBySide lets three times as many tests run at a time, where no number was asked
// for: those of this package wait for servers more than they compute.
func sideBySide() {
	const name = "test.parallel"
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == name })
	if !asked {
		_ = flag.Set(name, strconv.Itoa(3*runtime.GOMAXPROCS(0))) // it is a number
	}
}

// long leaves a test of half a minute or more to those who ask for all of them: .ci/long tests.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long: run without -short")
	}
}

// servers are the dev servers of this package's tests: one for most of them,
// and one that asks for continue-as-new early.
var servers serverSet

type serverSet struct {
	mu     sync.Mutex
	dir    string
	leases map[string]*devserver.Lease
}

// server returns the dev server of a name, which is started on first use.
func (s *serverSet) server(t testing.TB, name string, dynamic map[string]string) devserver.Server {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases == nil {
		dir, err := os.MkdirTemp("", "everstep-test-")
		if err != nil {
			t.Fatal(err)
		}
		s.dir, s.leases = dir, map[string]*devserver.Lease{}
	}
	if lease, ok := s.leases[name]; ok {
		return lease.Server
	}
	lease, err := devserver.Acquire(context.Background(), devserver.Config{
		StateFile: filepath.Join(s.dir, name+".db"), Dynamic: dynamic, Binary: os.Getenv("EVERSTEP_TEMPORAL"),
		Progress: func(line string) { fmt.Fprintln(os.Stderr, "dev server:", line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.leases[name] = lease
	return lease.Server
}

// restart stops a dev server and starts it again, on the same state.
func (s *serverSet) restart(t testing.TB, name string) {
	t.Helper()
	s.mu.Lock()
	address := s.leases[name].Server.Address
	require.NoError(t, s.leases[name].Close())
	delete(s.leases, name)
	s.mu.Unlock()
	require.Eventually(t, func() bool { // to ask its supervisor would keep it up
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = conn.Close() // it was only tried
		}
		return err != nil
	}, patience, 20*time.Millisecond)
	s.server(t, name, nil)
}

func (s *serverSet) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, lease := range s.leases {
		_ = lease.Close()
	}
	_ = os.RemoveAll(s.dir)
}
