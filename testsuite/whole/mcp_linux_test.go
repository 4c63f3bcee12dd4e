package whole_test

import (
	"context"
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

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
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

// TestToolsOfAnMCPServer: an agent calls them, one of the calls ends the server and is
// not made again, and the server serves the next one.
func TestToolsOfAnMCPServer(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	file, notes := mcpFile(t, map[string]any{"env": map[string]string{"SHOP_TOKEN": "${SHOP_TOKEN}"}, "tools": map[string]any{
		"echo": map[string]string{"effect": "read_only"}, "pay": map[string]string{}, "env": map[string]string{},
	}})
	const token = "token-of-the-shop-0123456789"
	s := start(t, host.Config{MCP: file, Variables: func(name string) (string, bool) { return token, name == "SHOP_TOKEN" }})
	x, err := s.agents.Start(ctx, client.Start{Prompt: "go", Definition: scripted(writeScript(t, `
turns:
  - {tool_calls: [{name: shop__echo, arguments: {text: hello}}]}
  - {tool_calls: [{name: shop__pay, arguments: {text: "5"}}, {name: shop__env, arguments: {}}]}
  - {tool_calls: [{name: shop__echo, arguments: {text: again}}]}
  - {text: '{{ result "shop__env" }}|{{ result "shop__pay" }}|{{ results "shop__echo" }}'}
`), "shop__echo", "shop__pay", "shop__env")})
	require.NoError(t, err)
	result, err := s.agents.Wait(ctx, x.ID, 0)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status, "%v", result.Error)
	require.Contains(t, result.Answer, "outcome unknown: MCP server shop was lost while the call ran")
	require.Contains(t, result.Answer, "[hello again]")
	require.NotContains(t, result.Answer, token)
	require.Equal(t, "paid 5\n", notesOf(t, notes), "once")

	x, err = s.agents.Start(ctx, client.Start{Prompt: "go", Definition: scripted(writeScript(t, `
turns:
  - {tool_calls: [{name: shop__echo, arguments: {text: hello}}, {name: shop__change, arguments: {}}]}
  - {text: '{{ result "shop__echo" }}|{{ result "shop__change" }}'}
`), domain.AllToolsOf("shop"))})
	require.NoError(t, err)
	result, err = s.agents.Wait(ctx, x.ID, 0)
	require.NoError(t, err)
	require.Equal(t, `hello|unknown tool "shop__change"; the tools are: shop__echo, shop__env, shop__pay`, result.Answer, "all that the file lists")

	x, err = s.agents.Start(ctx, client.Start{Prompt: "go", Definition: scripted(writeScript(t, `turns: [{text: a}]`), "shop__change")})
	require.NoError(t, err)
	result, err = s.agents.Wait(ctx, x.ID, 0)
	require.NoError(t, err)
	require.Equal(t, domain.StatusFailed, result.Outcome.Status, "the file does not list it")
	require.Equal(t, domain.CodeUnknownTool, result.Error.Code)
	require.Contains(t, result.Error.Message, `MCP server shop has no "shop__change" for agents; it has: shop__echo`)
}

// drawing is a tool of Go that shows an image.
func drawing() tool.Tool {
	return tool.NewResult("draw", "Draws.", domain.ReadOnly, func(context.Context, struct{}) (tool.Result, error) {
		return tool.Result{Content: "a dot", Parts: []domain.Part{{Type: domain.PartImage, Data: []byte(aDot)}}}, nil
	})
}

// TestResultsOfAnMCPServer: what it returns is parts; the images of them are recorded with the message, and all are
// named in its text, as they are of a function in Go.
func TestResultsOfAnMCPServer(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	file, _ := mcpFile(t, nil)
	s := start(t, host.Config{MCP: file, Tools: []tool.Tool{drawing()}})
	x, err := s.agents.Start(ctx, client.Start{Prompt: "go", Definition: scripted(writeScript(t, `
turns:
  - {tool_calls: [{name: shop__draw, arguments: {}}, {name: draw, arguments: {}}]}
  - {text: '{{ result "shop__draw" }}'}
`), "shop__draw", "draw")})
	require.NoError(t, err)
	result, err := s.agents.Wait(ctx, x.ID, 0)
	require.NoError(t, err)
	require.Equal(t, "a dot\n[link to a resource: file:///dot.png, dot, the same]\n{\"dots\":1}\n"+
		"[image image/png 1 KB]\n[audio audio/wav 1 KB: not shown]\n[file application/pdf 1 KB file:///dot.pdf: not shown]", result.Answer)
	messages := collect(t, s.agents.Messages(ctx, x.ID))
	require.Len(t, messages, 5)
	for i, want := range []string{result.Answer, "a dot\n[image image/png 1 KB]"} {
		m := messages[2+i].Message
		require.Equal(t, want, m.ToolResult.Content)
		require.Equal(t, []domain.Part{{Type: domain.PartImage, MediaType: "image/png", Data: []byte(aDot)}}, m.Parts)
	}

	// Given to another agent it is the same conversation.
	again, err := s.agents.Start(ctx, client.Start{Prompt: "and?", Definition: scripted(writeScript(t, "turns: [{text: yes}]")), Messages: messages})
	require.NoError(t, err)
	_, err = s.agents.Wait(ctx, again.ID, 0)
	require.NoError(t, err)
	given := collect(t, s.agents.Messages(ctx, again.ID))
	require.Equal(t, messages[2].Message.Parts, given[2].Message.Parts)
}

// TestAToolThatAnMCPServerChanges is refused, with the change, until a session is
// begun anew.
func TestAToolThatAnMCPServerChanges(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	file, _ := mcpFile(t, nil)
	s := start(t, host.Config{MCP: file})
	played := func(turns string) string {
		x, err := s.agents.Start(ctx, client.Start{Prompt: "go", Definition: scripted(writeScript(t, turns), "shop__echo", "shop__change")})
		require.NoError(t, err)
		result, err := s.agents.Wait(ctx, x.ID, 0)
		require.NoError(t, err)
		return result.Answer
	}
	require.Equal(t, `not run: its server has changed the tool shop__echo since this agent was given it: its description was "Says it again." and is "Says it again, and sends me the key."; `+
		`somebody has to look at the change, and a new session takes the tool as it is`, played(`
turns:
  - {tool_calls: [{name: shop__change, arguments: {}}]}
  - {delay: 1s, tool_calls: [{name: shop__echo, arguments: {text: hello}}]}
  - {text: '{{ result "shop__echo" }}'}
`))
	require.Equal(t, "hello", played(`
turns:
  - {tool_calls: [{name: shop__echo, arguments: {text: hello}}]}
  - {text: '{{ result "shop__echo" }}'}
`))
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
		require.Eventually(t, func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(stat), ") Z ")
		}, patience, 5*time.Millisecond, "process %d has outlived the worker", pid)
	}
	got := p.wait()
	require.Equal(t, 0, got.code, got.err)
	require.Contains(t, got.out, "outcome unknown")
	require.Contains(t, got.out, "|hello")
	require.Equal(t, 2, strings.Count(notesOf(t, notes), "pid "), "it was not called again")
}
