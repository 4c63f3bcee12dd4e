package whole_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	programs "everstep/starter/process"
	"everstep/worker/host"
)

// taskServing is a process of such a server; start begins another one at the same address.
type taskServing struct {
	t       *testing.T
	dir     string
	process *programs.Process
}

func (s *taskServing) start() (address string) {
	s.t.Helper()
	self, err := os.Executable()
	require.NoError(s.t, err)
	address = strings.TrimSpace(notesOf(s.t, filepath.Join(s.dir, "address")))
	if address == "" {
		address = "127.0.0.1:0"
	}
	require.NoError(s.t, os.RemoveAll(filepath.Join(s.dir, "address")))
	program := exec.Command(self, mcpTasks, s.dir, address)
	program.Stderr = os.Stderr
	s.process, err = programs.Start(program) // which ends with this process, and not with whatever thread has started it
	require.NoError(s.t, err)
	s.t.Cleanup(s.process.Kill)
	require.Eventually(s.t, func() bool {
		address = notesOf(s.t, filepath.Join(s.dir, "address"))
		return address != ""
	}, patience, 5*time.Millisecond)
	return address
}

// TestACallThatIsATaskOutlivesWorkerAndServer: the server is killed, and then the worker, in the middle of the
// call; both come back, and it is answered once.
func TestACallThatIsATaskOutlivesWorkerAndServer(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	server := &taskServing{t: t, dir: t.TempDir()}
	c = c.on(host.MCPVariable + "=" + taskFile(t, server.start()))
	p := c.start("run", "--id", "w", "--model", c.script("s.yaml", `
turns:
  - {tool_calls: [{name: works__build, arguments: {}}]}
  - {text: 'it is {{ result "works__build" }}'}
`), "--tool", "works__build", "go")
	p.untilErr("goes on at its server: working: hammering")
	require.Contains(t, c.json("status", "w")["doing"], "works__build goes on at its server: working: hammering; asked again at ")
	server.process.Kill()
	require.NoError(t, syscall.Kill(p.workerOf(), syscall.SIGKILL))
	server.start()
	require.NoError(t, os.WriteFile(filepath.Join(server.dir, "finish"), nil, 0o600))
	got := p.wait()
	require.Equal(t, 0, got.code, got.err)
	require.Equal(t, "it is built\n", got.out)
	require.Equal(t, "built\n", notesOf(t, filepath.Join(server.dir, "ledger")), "called once")
	require.Empty(t, notesOf(t, filepath.Join(server.dir, "taken back")))
}

// taskFile names a server with tasks.
func taskFile(t *testing.T, address string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `{"mcpServers": {"works": {"url": "http://%s"}}}`, address), 0o600))
	return file
}
