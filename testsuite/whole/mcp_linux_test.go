package whole_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/worker/host"
)

// mcpFile writes a file with that server, and returns it with the one of its notes.
func mcpFile(t testing.TB, more map[string]any, args ...string) (file, notes string) {
	t.Helper()
	dir := t.TempDir()
	file, notes = filepath.Join(dir, "mcp.json"), filepath.Join(dir, "notes")
	self, err := os.Executable()
	require.NoError(t, err)
	server := map[string]any{"command": self, "args": append([]string{mcpServer, notes}, args...)}
	for key, value := range more {
		server[key] = value
	}
	encoded, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"shop": server}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, encoded, 0o600))
	return file, notes
}

func notesOf(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return string(text)
}

// TestNoMCPServerOutlivesAWorkerThatIsKilled, nor what it has started, and the agent
// goes on with another.
func TestNoMCPServerOutlivesAWorkerThatIsKilled(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	file, notes := mcpFile(t, nil, "stays")
	c = c.on(host.MCPVariable + "=" + file)
	p := c.start("run", "--id", "w", "--model", c.script("s.yaml", `
turns:
  - {tool_calls: [{name: shop__linger, arguments: {}}]}
  - {tool_calls: [{name: shop__echo, arguments: {text: hello}}]}
  - {text: '{{ result "shop__linger" }}|{{ result "shop__echo" }}'}
`), "--tool", "shop__linger,shop__echo", "go")
	require.Eventually(t, func() bool { return strings.Count(notesOf(t, notes), "pid ") == 2 }, patience, 5*time.Millisecond, "%s", p.err)
	require.NoError(t, syscall.Kill(p.workerOf(), syscall.SIGKILL))
	for line := range strings.Lines(notesOf(t, notes)) {
		pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "pid ")))
		require.NoError(t, err)
		gone(t, pid)
	}
	got := p.wait()
	require.Equal(t, 0, got.code, got.err)
	require.Contains(t, got.out, "outcome unknown")
	require.Contains(t, got.out, "|hello")
	require.Equal(t, 2, strings.Count(notesOf(t, notes), "pid "), "it was not called again")
}

// workerOf is the process id of the worker that a command of the starter runs.
func (p *process) workerOf() int {
	p.t.Helper()
	var worker int
	require.Eventually(p.t, func() bool {
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		require.NoError(p.t, err)
		for _, file := range all {
			line, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(line), "starter\x00worker\x00") {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			require.NoError(p.t, err)
			if parentOf(pid) == p.cmd.Process.Pid {
				worker = pid
				return true
			}
		}
		return false
	}, patience, 10*time.Millisecond, "%v has no worker", p.cmd.Args)
	return worker
}

// parentOf is zero where the process has ended.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}
