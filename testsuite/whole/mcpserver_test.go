package whole_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpServer is the argument with which the test binary is an MCP server.
const mcpServer = "mcp-server"

// mcpServe is a server over stdio. It ends neither with its input nor with a signal
// that asks for it, notes what it does in a file and starts a process that leaves
// its session.
func mcpServe(ctx context.Context, args []string) error {
	type text struct {
		Text string `json:"text,omitempty"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name, description string, run func(context.Context, text) string) {
		mcp.AddTool(server, &mcp.Tool{Name: name, Description: description}, func(ctx context.Context, _ *mcp.CallToolRequest, t text) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: run(ctx, t)}}}, nil, nil
		})
	}
	noted := func(line string) {
		file, err := os.OpenFile(args[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, _ = fmt.Fprintln(file, line)
			_ = file.Close()
		}
	}
	add("echo", "Says it again.", func(_ context.Context, t text) string { return t.Text })
	counted := 0
	add("count", "Counts its calls.", func(context.Context, text) string {
		counted++
		return fmt.Sprint(counted, " by ", os.Getpid())
	})
	add("linger", "Starts a process, and waits.", func(ctx context.Context, _ text) string {
		child := exec.Command("/bin/sh", "-c", `trap "" TERM HUP; exec /bin/sleep 1000`)
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			return err.Error()
		}
		noted(fmt.Sprint("pid ", os.Getpid()))
		noted(fmt.Sprint("pid ", child.Process.Pid))
		<-ctx.Done()
		return ""
	})
	if err := server.Run(ctx, &mcp.StdioTransport{}); ctx.Err() == nil && len(args) > 1 {
		fmt.Fprintln(os.Stderr, err)
		select {} // it does not heed the end of its input
	}
	return nil
}
