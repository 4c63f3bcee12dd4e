package whole_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// TestASessionWithAStatefulServer is one agent's alone, over its steps and executions. Where the server is killed, the next
// call is made in a new one, and the model is told.
func TestASessionWithAStatefulServer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `{"mcpServers": {"shop": {"command": %q, "args": [%q], "stateful": true, "effect": "read_only"}}}`, os.Args[0], mcpServer), 0o600))
	s := start(t, host.Config{MCP: file, Approvals: domain.ApprovalsOf("allow")})
	begin := func(name string) (id string) {
		const calls = "  - {tool_calls: [{name: shop__count, arguments: {}}]}\n"
		id = s.named(name)
		s.ended(t, s.starts(t, client.Start{ID: id, Prompt: "go", Definition: scripted(writeScript(t, "turns:\n"+calls+calls+"  - {text: one}\n"+calls+calls+"  - {text: two}\n"), "shop__count")}))
		return id
	}
	results := func(id string) (all []string) {
		for _, e := range s.messages(t, id) {
			if e.Message.ToolResult != nil {
				all = append(all, e.Message.ToolResult.Content)
			}
		}
		return all
	}
	count := func(result, format string) (pid int) {
		_, err := fmt.Sscanf(result, format+" by %d", &pid)
		require.NoError(t, err, result)
		return pid
	}
	ann, bob := begin("ann"), begin("bob")
	of := results(ann)
	server := count(of[0], "1")
	require.Equal(t, server, count(of[1], "2"))
	require.NotEqual(t, server, count(results(bob)[0], "1"), "each agent has its own")
	bound := s.status(t, ann).MCPSessions
	require.Len(t, bound, 1)
	require.True(t, contract.IsOwnQueue(bound[0].TaskQueue, s.queue))

	require.NoError(t, syscall.Kill(server, syscall.SIGKILL))
	s.ended(t, s.sent(t, ann, client.SendOptions{Prompt: "more"}))
	of = results(ann)[2:]
	require.Contains(t, of[0], "was lost: its program has ended (exit status 137)")
	require.NotContains(t, of[1], "lost", "it was told")
	require.NotEqual(t, server, count(of[1], "2"), "nothing is pretended")
	explained := s.explains(t, ann, 2)
	require.Equal(t, "its program has ended (exit status 137)", explained.Sessions[0].Reason)
	s.closes(t, ann)
}
