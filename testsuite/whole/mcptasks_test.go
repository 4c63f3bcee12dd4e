package whole_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpTasks is the argument with which the test binary is an MCP server with tasks, over HTTP.
const mcpTasks = "mcp-tasks"

// A taskServer answers calls of build with tasks. Its folder holds all that it knows: a file for each task, ledger for what
// was built, taken back for those that were, and finish, which the test writes, to end them all. So another process of it
// goes on with them.
type taskServer struct{ dir string }

type (
	taskAsked struct {
		mcp.ParamsBase
		ID string `json:"taskId"`
	}
	taskTold struct {
		mcp.ResultBase
		Type    string              `json:"resultType,omitempty"`
		ID      string              `json:"taskId,omitempty"`
		Status  string              `json:"status,omitempty"`
		Message string              `json:"statusMessage,omitempty"`
		PollMs  int                 `json:"pollIntervalMs,omitempty"`
		Result  *mcp.CallToolResult `json:"result,omitempty"`
	}
)

// mcpTasksServe serves at an address, and writes it down where that was the system's to choose.
func mcpTasksServe(_ context.Context, args []string) error {
	s := taskServer{args[0]}
	options := &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}}
	options.Capabilities.AddExtension("io.modelcontextprotocol/tasks", nil)
	server := mcp.NewServer(&mcp.Implementation{Name: "tasks", Version: "1"}, options)
	mcp.AddTool(server, &mcp.Tool{Name: "build", Description: "Builds."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("a call of build is a task")
	})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
			if method == "tools/call" {
				return s.begin()
			}
			return next(ctx, method, request)
		}
	})
	for method, answer := range map[string]func(string) (*taskTold, error){"tasks/get": s.told, "tasks/cancel": s.takeBack} {
		if err := mcp.AddReceivingCustomMethod(server, method, func(_ context.Context, _ *mcp.ServerSession, asked *taskAsked) (*taskTold, error) {
			return answer(asked.ID)
		}); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", args[1])
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.dir, "address"), []byte(listener.Addr().String()), 0o600); err != nil {
		return err
	}
	web := &http.Server{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}), ReadHeaderTimeout: time.Minute}
	return web.Serve(listener)
}

func (s taskServer) begin() (mcp.Result, error) {
	id := uuid.NewString()
	if err := errors.Join(s.note("ledger", "built"), s.note("task-"+id, "begun")); err != nil {
		return nil, err
	}
	told, err := s.told(id)
	told.Type = "task"
	return told, err
}

func (s taskServer) told(id string) (*taskTold, error) {
	if !s.has("task-" + id) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such task"}
	}
	told := &taskTold{Type: "complete", ID: id, Status: "working", Message: "hammering", PollMs: 100}
	if s.has("finish") {
		told.Status, told.Message = "completed", ""
		told.Result = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "built"}}}
	}
	return told, nil
}

func (s taskServer) takeBack(id string) (*taskTold, error) {
	if err := s.note("taken back", id); err != nil {
		return nil, err
	}
	return s.told(id)
}

func (s taskServer) has(file string) bool {
	_, err := os.Stat(filepath.Join(s.dir, file))
	return err == nil
}

func (s taskServer) note(file, line string) error {
	f, err := os.OpenFile(filepath.Join(s.dir, file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, line)
	return err
}
