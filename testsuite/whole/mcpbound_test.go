package whole_test

import (
	"context"
	"log/slog"

	"everstep/domain"
	"everstep/worker/host"
)

// boundWorker is the argument with which the test binary is a worker with MCP servers.
const boundWorker = "bound-worker"

func boundWork(ctx context.Context, args []string) error {
	return serve(ctx, args, host.Config{MCP: args[2], Approvals: domain.ApprovalsOf("allow"), Log: host.Log{Level: slog.LevelWarn}})
}
