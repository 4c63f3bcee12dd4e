package script_test

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpCommand is the name under which this binary is an MCP server over stdio.
const mcpCommand = "mcp-shop"

// mcpServe has three tools: echo, pay, which notes each call in the file that PAID names, and hang, which notes it too and never
// answers. It calls pay destructive, and has a prompt and a resource.
func mcpServe() {
	type text struct {
		Text string `json:"text,omitempty"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	add := func(name string, run func(context.Context, string) string) {
		hints := &mcp.ToolAnnotations{DestructiveHint: new(name == "pay")}
		mcp.AddTool(server, &mcp.Tool{Name: name, Description: "Tool " + name + ".\nAnd more.", Annotations: hints}, func(ctx context.Context, _ *mcp.CallToolRequest, t text) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: run(ctx, t.Text)}}}, nil, nil
		})
	}
	noted := func(text string) {
		file, err := os.OpenFile(os.Getenv("PAID"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, _ = fmt.Fprintln(file, text)
			_ = file.Close()
		}
	}
	add("echo", func(_ context.Context, text string) string { return text })
	add("pay", func(_ context.Context, text string) string {
		noted(text)
		return "paid " + text
	})
	add("hang", func(ctx context.Context, text string) string {
		noted(text)
		<-ctx.Done()
		return ""
	})
	server.AddPrompt(&mcp.Prompt{Name: "greet", Description: "Says hello."}, nil)
	server.AddResource(&mcp.Resource{Name: "prices", URI: "shop://prices", MIMEType: "text/csv"}, nil)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}
