package whole_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/starter/client"
)

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, patience, 5*time.Millisecond, "process %d is still there", pid)
}

// TestASessionWithAStatefulServer goes over steps, and ends with the agent. Where its worker is killed, the next call is made in a
// new one by another worker, and the model is told once.
func TestASessionWithAStatefulServer(t *testing.T) {
	long(t)
	t.Parallel()
	const two = "  - {tool_calls: [{name: shop__count, arguments: {}}]}\n  - {tool_calls: [{name: shop__count, arguments: {}}]}\n  - {text: counted}\n"
	file, _ := mcpFile(t, map[string]any{"stateful": true, "effect": "read_only"})
	s := connect(t, "plain", nil)
	for range 2 {
		s.process(t, boundWorker, file)
	}
	id := s.named("counts")
	s.answers(t, client.Start{ID: id, Definition: scripted(writeScript(t, "turns:\n"+two+two), "shop__count")})
	worker, _, _ := strings.Cut(s.status(t, id).MCPSessions[0].Worker, "@")
	pid, err := strconv.Atoi(worker)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	s.sends(t, id)
	var counts []string
	var servers []int
	by := regexp.MustCompile(` by (\d+)$`)
	for _, e := range s.messages(t, id) {
		if r := e.Message.ToolResult; r != nil {
			counts = append(counts, by.ReplaceAllString(r.Content, ""))
			server, err := strconv.Atoi(by.FindStringSubmatch(r.Content)[1])
			require.NoError(t, err)
			servers = append(servers, server)
		}
	}
	require.Equal(t, []string{"1", "2", "[The session of this agent with MCP server shop was lost: its worker does not answer, and has probably ended. " +
		"This call was made in a new one. What earlier calls had set up there, such as open pages, logins or values, is gone; set it up again where you need it.]\n\n1", "2"}, counts)
	require.Equal(t, []int{servers[0], servers[0], servers[3], servers[3]}, servers)
	gone(t, servers[0])
	require.NotEqual(t, worker, s.status(t, id).MCPSessions[0].Worker)
	s.closes(t, id)
	gone(t, servers[3])
}
