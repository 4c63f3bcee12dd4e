package activities

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"go.temporal.io/sdk/activity"

	"everstep/activities/tool"
	"everstep/domain/contract"
)

// A toolRun is how a tool's function ended.
type toolRun struct {
	result tool.Result
	err    error
	// panicked means that it ended in neither a result nor an error.
	panicked bool
	// abandoned means that it ignored the end of its context and may be running still.
	abandoned bool
	// cause is why its context had ended by then, if it had.
	cause error
}

// errToolTimeout is the cause of a context that a tool has outlived.
var errToolTimeout = errors.New("the tool took longer than it may")

// run runs the tool in a goroutine of its own, so that neither a panic nor a
// function that never returns takes the worker with it. The tool's context ends
// with the activity's, at the tool's timeout, and some time after the worker
// was told to stop; a tool that goes on regardless is abandoned.
func (c toolCall) run(ctx context.Context, called tool.Tool, arguments string) toolRun {
	config := c.activities.config
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	returned := make(chan toolRun, 1)
	go func() {
		run := toolRun{panicked: true}
		defer func() {
			if run.panicked {
				activity.GetLogger(ctx).Error("tool panicked", "tool", c.request.Name, "call", c.String(),
					"panic", fmt.Sprint(recover()), "stack", string(debug.Stack()))
			}
			returned <- run
		}()
		config.At(ctx, contract.BeforeEffect)
		run.result, run.err = called.Call(ctx, arguments)
		run.cause = context.Cause(ctx)
		config.At(ctx, contract.AfterEffect)
		run.panicked = false
	}()

	run, ok := await(ctx, cancel, returned, patience{
		limit: c.limit(), late: errToolTimeout, shutdown: config.ShutdownGrace, grace: config.CancelGrace,
	})
	if !ok {
		activity.GetLogger(ctx).Error("tool goes on though its context has ended: abandoned",
			"tool", c.request.Name, "call", c.String(), "cause", context.Cause(ctx))
		return toolRun{abandoned: true, cause: context.Cause(ctx)}
	}
	return run
}
