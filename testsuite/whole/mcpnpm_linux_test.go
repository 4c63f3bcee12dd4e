package whole_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/starter/client"
	"everstep/worker/host"
)

// published is the folder with the public MCP servers, which .ci/npm installs.
func published(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".ci", "cache", "npm"))
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(dir, "installed")); err != nil {
		t.Skip("SKIPPED: the public MCP servers are not used through executions: .ci/npm installs them")
	}
	return dir
}

// marked are the processes of node with that in their environment.
func marked(mark string) (pids []int) {
	found, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range found {
		folder := filepath.Dir(path)
		environ, err := os.ReadFile(path)
		program, _ := os.ReadFile(filepath.Join(folder, "comm"))
		pid, wrong := strconv.Atoi(filepath.Base(folder))
		if err == nil && wrong == nil && strings.Contains(string(environ), mark) && strings.HasPrefix(string(program), "node") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestPublicMCPServersThroughAnExecution: four of them serve one agent, which has all of
// their tools; the one that is at work is killed in the middle of a call, and serves the
// next.
func TestPublicMCPServersThroughAnExecution(t *testing.T) {
	t.Parallel()
	packages, ctx := published(t), within(t)
	dir, folder := t.TempDir(), t.TempDir()
	mark := "EVERSTEP_TEST_MARK=" + filepath.Base(dir) + strconv.Itoa(os.Getpid()) + strconv.FormatInt(time.Now().UnixNano(), 36)
	name, value, _ := strings.Cut(mark, "=")
	server := func(program, effect string, env map[string]string, args ...string) map[string]any {
		return map[string]any{"command": "npx", "args": append([]string{"--offline", program}, args...), "cwd": packages, "effect": effect, "env": env}
	}
	encoded, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"all":      server("mcp-server-everything", "at_most_once", map[string]string{name: value}),
		"files":    server("mcp-server-filesystem", "idempotent", map[string]string{}, folder),
		"memory":   server("mcp-server-memory", "at_most_once", map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")}),
		"thoughts": server("mcp-server-sequential-thinking", "at_most_once", map[string]string{}),
	}})
	require.NoError(t, err)
	file := filepath.Join(dir, "mcp.json")
	require.NoError(t, os.WriteFile(file, encoded, 0o600))
	s := start(t, host.Config{MCP: file, Dir: folder}) // the root, which the server of files goes by
	note := filepath.Join(folder, "note.txt")
	x, err := s.agents.Start(ctx, client.Start{Prompt: "go", Definition: scripted(writeScript(t, `
turns:
  - tool_calls:
      - {name: files__write_file, arguments: {path: `+note+`, content: written}}
      - {name: memory__create_entities, arguments: {entities: [{name: Ada, entityType: person, observations: [counts]}]}}
      - {name: thoughts__sequentialthinking, arguments: {thought: one, nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1}}
  - tool_calls: [{name: all__trigger-long-running-operation, arguments: {duration: 600, steps: 1200}}]
  - tool_calls:
      - {name: all__echo, arguments: {message: again}}
      - {name: files__read_text_file, arguments: {path: `+note+`}}
      - {name: memory__read_graph, arguments: {}}
  - {text: '{{ result "all__trigger-long-running-operation" }}|{{ result "all__echo" }}|{{ result "files__read_text_file" }}|{{ result "memory__read_graph" }}|{{ result "thoughts__sequentialthinking" }}'}
`), domain.AllToolsOf("all"), domain.AllToolsOf("files"), domain.AllToolsOf("memory"), domain.AllToolsOf("thoughts"))})
	require.NoError(t, err)
	var status account.Status
	require.Eventually(t, func() bool {
		status, err = s.agents.Status(ctx, x.ID)
		tells := len(status.Progress) == 1 && strings.Contains(status.Progress[0].Text, " of 1200")
		return err == nil && (tells || status.Status.Terminal())
	}, patience, 100*time.Millisecond, "the server tells its progress")
	if status.Status.Terminal() {
		result, err := s.agents.Result(ctx, x.ID, 0)
		require.Fail(t, "it has ended before", "%+v %v", result, err)
	}
	require.Equal(t, "all__trigger-long-running-operation", status.Progress[0].Tool)
	killed := marked(mark)
	require.NotEmpty(t, killed)
	for _, pid := range killed {
		_ = syscall.Kill(pid, syscall.SIGKILL) // the launcher may have ended with its server
	}
	result, err := s.agents.Wait(ctx, x.ID, 0)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status, "%v", result.Error)
	parts := strings.Split(result.Answer, "|")
	require.Len(t, parts, 5, result.Answer)
	require.Contains(t, parts[0], "outcome unknown: MCP server all was lost while the call ran")
	require.Equal(t, "Echo: again", parts[1])
	require.Contains(t, parts[2], "written")
	require.Contains(t, parts[3], "counts")
	require.Contains(t, parts[4], "thoughtNumber")
	s.worker.Stop()
	require.Eventually(t, func() bool { return len(marked(mark)) == 0 }, patience, 10*time.Millisecond, "nothing outlives the worker")
}
