package whole_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCLIShell: a command runs in the folder; one whose worker is killed is ended with
// all that it has started, does not run again, and the model is told that nobody knows.
func TestCLIShell(t *testing.T) {
	t.Parallel()
	c := newCLI(t).on("PATH="+os.Getenv("PATH"), "EVERSTEP_BUILTIN_TOOLS=shell", "EVERSTEP_TEST_SECRET=sesame")
	model := c.script("shell.yaml", `turns:
  - tool_calls: [{name: shell, arguments: {script: "echo made > made; cat made; env; exit 3"}}]
  - tool_calls: [{name: shell, arguments: {script: "echo ran >> ran; setsid sleep 1000 & echo $$ $! > pids; sleep 1000"}}]
  - text: Done.
`)
	p := c.start("run", "--id", "sh", "--model", model, "--tool", "shell", "go")
	pids := filepath.Join(c.dir, "pids")
	var started []string
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(pids)
		started = strings.Fields(string(text))
		return err == nil && len(started) == 2
	}, patience, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(p.workerOf(), syscall.SIGKILL))
	for _, field := range started {
		pid, err := strconv.Atoi(field)
		require.NoError(t, err)
		require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, patience, 10*time.Millisecond, "%d goes on", pid)
	}
	got := p.wait()
	require.Equal(t, 0, got.code, got.err)
	require.Equal(t, "Done.\n", got.out)
	ran, err := os.ReadFile(filepath.Join(c.dir, "ran"))
	require.NoError(t, err)
	require.Equal(t, "ran\n", string(ran), "it ran once")
	dev := c.dev()
	said := c.ok("messages", "sh", "--json")
	require.Contains(t, said, "[exit 3 after ")
	require.Contains(t, said, "TERM=dumb")
	require.Contains(t, said, "outcome unknown")
	require.NotContains(t, said, "sesame")
	require.Equal(t, 0, dev.interrupt().wait().code)
}
