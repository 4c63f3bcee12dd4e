package whole_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
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

// A counter is an agent that has a session with a stateful server.
type counter struct {
	*stack
	t  *testing.T
	id string
	// last is the number of the newest execution, and reads are the results of its calls.
	last  int
	reads []string
}

// count begins an agent with a script.
func (s *stack) count(t *testing.T, name, script string) *counter {
	t.Helper()
	c := &counter{stack: s, t: t, id: s.named(name)}
	_, err := s.agents.Start(within(t), client.Start{ID: c.id, Prompt: "go", Definition: scripted(writeScript(t, script), "shop__count", "shop__ponder", "shop__linger")})
	require.NoError(t, err)
	return c
}

func (c *counter) send() *counter {
	c.t.Helper()
	_, err := c.agents.Send(within(c.t), c.id, client.SendOptions{Prompt: "more"})
	require.NoError(c.t, err)
	return c
}

// ended waits for the next execution, and reads what its calls came to.
func (c *counter) ended() []string {
	c.t.Helper()
	c.last++
	result, err := c.agents.Wait(within(c.t), c.id, c.last)
	require.NoError(c.t, err)
	require.Equal(c.t, domain.StatusCompleted, result.Outcome.Status, "%v", result.Error)
	c.reads = nil
	for _, e := range collect(c.t, c.agents.Messages(within(c.t), c.id)) {
		if e.Message.ToolResult != nil {
			c.reads = append(c.reads, e.Message.ToolResult.Content)
		}
	}
	return c.reads
}

// countOf is the count and the server's process that a result tells, and what it tells before.
func countOf(t *testing.T, result string) (n, pid int, notice string) {
	t.Helper()
	notice, told, found := strings.Cut(result, "\n\n")
	if !found {
		notice, told = "", result
	}
	_, err := fmt.Sscanf(told, "%d by %d", &n, &pid)
	require.NoError(t, err, result)
	return n, pid, notice
}

// bound is the agent's session, as status tells.
func (c *counter) bound() contract.Bound {
	c.t.Helper()
	status, err := c.agents.Status(within(c.t), c.id)
	require.NoError(c.t, err)
	require.Len(c.t, status.MCPSessions, 1)
	require.Equal(c.t, "shop", status.MCPSessions[0].Server)
	require.True(c.t, contract.IsOwnQueue(status.MCPSessions[0].TaskQueue, c.queue))
	return status.MCPSessions[0]
}

func (c *counter) killWorker() (pid int) {
	c.t.Helper()
	number, _, _ := strings.Cut(c.bound().Worker, "@")
	pid, err := strconv.Atoi(number)
	require.NoError(c.t, err)
	require.NoError(c.t, syscall.Kill(pid, syscall.SIGKILL))
	return pid
}

const counts = `
turns:
  - {tool_calls: [{name: shop__count, arguments: {}}, {name: shop__count, arguments: {}}]}
  - {tool_calls: [{name: shop__count, arguments: {}}]}
  - {text: one}
  - {tool_calls: [{name: shop__count, arguments: {}}]}
  - {tool_calls: [{name: shop__count, arguments: {}}]}
  - {text: two}
  - {tool_calls: [{name: shop__count, arguments: {}}]}
  - {tool_calls: [{name: shop__count, arguments: {}}]}
  - {text: three}
`

// TestASessionWithAStatefulServer is one agent's alone, over its steps and executions. Where its worker is killed, or the
// server, the next call is made in a new one, and the model is told.
func TestASessionWithAStatefulServer(t *testing.T) {
	long(t)
	t.Parallel()
	file, _ := mcpFile(t, map[string]any{"stateful": true, "effect": "read_only"})
	s := connect(t, "plain", nil)
	s.process(t, boundWorker, file)
	s.process(t, boundWorker, file)
	ann, bob := s.count(t, "ann", counts), s.count(t, "bob", counts)
	var servers []int
	for _, c := range []*counter{ann, bob} {
		var seen []int
		var server int
		for _, result := range c.ended() {
			n, pid, notice := countOf(t, result)
			require.Empty(t, notice)
			require.True(t, server == 0 || pid == server)
			seen, server = append(seen, n), pid
		}
		require.ElementsMatch(t, []int{1, 2}, seen[:2], "the calls of one step share it")
		require.Equal(t, 3, seen[2])
		servers = append(servers, server)
	}
	require.NotEqual(t, servers[0], servers[1], "each agent has its own")

	killed := ann.bound()
	ann.killWorker()
	gone(t, servers[0])
	reads := ann.send().ended()[3:]
	n, server, notice := countOf(t, reads[0])
	require.Equal(t, 1, n, "nothing is pretended")
	require.Equal(t, "[The session of this agent with MCP server shop was lost: its worker does not answer, and has probably ended. This call was made in a new one. "+
		"What earlier calls had set up there, such as open pages, logins or values, is gone; set it up again where you need it.]", notice)
	n, again, notice := countOf(t, reads[1])
	require.Equal(t, 2, n)
	require.Equal(t, server, again)
	require.Empty(t, notice, "it was told")
	require.NotEqual(t, killed.Worker, ann.bound().Worker)

	require.NoError(t, syscall.Kill(server, syscall.SIGKILL))
	gone(t, server)
	reads = ann.send().ended()[5:]
	n, server, notice = countOf(t, reads[0])
	require.Equal(t, 1, n)
	require.Contains(t, notice, "was lost: its program has ended (exit status 137)")
	n, again, notice = countOf(t, reads[1])
	require.Equal(t, 2, n)
	require.Equal(t, server, again)
	require.Empty(t, notice)

	for number, reasons := range map[int][]string{
		2: {"its worker does not answer, and has probably ended", ""},
		3: {"its program has ended (exit status 137)", ""},
	} {
		explained, err := s.agents.Explain(within(t), ann.id, number)
		require.NoError(t, err)
		require.Len(t, explained.Sessions, len(reasons))
		for i, reason := range reasons {
			require.Equal(t, reason, explained.Sessions[i].Reason)
			require.Equal(t, reason == "", explained.Sessions[i].EndedAt == nil)
			require.NotEmpty(t, explained.Sessions[i].Worker)
			require.NotZero(t, explained.Sessions[i].Since)
		}
	}
	at := newCLI(t).at(s)
	require.Contains(t, at.ok("status", ann.id), "with MCP server shop on worker "+ann.bound().Worker+" since ")
	require.Contains(t, at.ok("explain", ann.id), ": its program has ended (exit status 137)")

	_, err := s.agents.Close(within(t), ann.id)
	require.NoError(t, err)
	gone(t, server)
}
