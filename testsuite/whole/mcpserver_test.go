package whole_test

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpServer is the argument with which the test binary is an MCP server over stdio, which counts its calls.
const mcpServer = "mcp-server"

func mcpServe(ctx context.Context, _ []string) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	counted := 0
	mcp.AddTool(server, &mcp.Tool{Name: "count", Description: "Counts its calls."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		counted++
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(counted, " by ", os.Getpid())}}}, nil, nil
	})
	return server.Run(ctx, &mcp.StdioTransport{})
}
