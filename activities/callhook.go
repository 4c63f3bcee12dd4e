package activities

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// CallHook runs a hook that is an activity and returns what it wants done. The
// hook may run again where it failed or its worker was lost, as often as its
// Attempts allow.
//
// Whatever goes wrong has the code hook_failed: a hook that the worker does not
// have, that returns an error, panics, goes on past its time, or asks for what
// its trigger cannot do. It is tried again where the hook's own error says so
// (one of domain's, throttled or unavailable), where it took too long, and where
// the worker was told to stop.
func (a *Activities) CallHook(ctx context.Context, request contract.HookRequest) (contract.HookReply, error) {
	info := activity.GetInfo(ctx)
	defer pulse(ctx, contract.Heartbeat{
		ExecutionID: request.ExecutionID, Step: request.Step, Phase: contract.PhaseRunning, Attempt: int(info.Attempt),
	})()
	h, err := a.config.Hooks.Find(request.Hook)
	if err != nil {
		return contract.HookReply{}, a.hookFailure(request.Hook, err)
	}
	c := hookCall{activities: a, request: request, info: info}
	run := c.run(ctx, h.Activity())
	switch {
	case run.err == nil:
		reply, err := checkedReply(request, hiddenReply(a.config.Secrets, run.reply))
		if err != nil {
			return contract.HookReply{}, a.hookFailure(request.Hook, err)
		}
		return reply, nil
	case temporal.IsCanceledError(context.Cause(ctx)):
		return contract.HookReply{}, ctx.Err()
	}
	return contract.HookReply{}, a.hookFailure(request.Hook, c.failed(run))
}

// A hookCall is one attempt at one hook.
type hookCall struct {
	activities *Activities
	request    contract.HookRequest
	info       activity.Info
}

// A hookRun is how a hook's function ended.
type hookRun struct {
	reply contract.HookReply
	err   error
	// cause is why its context had ended by then, if it had.
	cause error
}

var (
	errHookTimeout = errors.New("the hook took longer than it may")
	errHookPanic   = errors.New("the hook panicked")
)

// run runs the hook in a goroutine of its own, so that neither a panic nor a
// function that never returns takes the worker with it. One that goes on though
// its context has ended is abandoned.
func (c hookCall) run(ctx context.Context, call hook.Activity) hookRun {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx = contract.WithPlace(ctx, contract.Place{WorkflowID: c.info.WorkflowExecution.ID, ExecutionID: c.request.ExecutionID, Step: c.request.Step})

	returned := make(chan hookRun, 1)
	go func() {
		run := hookRun{err: errHookPanic}
		defer func() {
			if p := recover(); p != nil {
				activity.GetLogger(ctx).Error("hook panicked", "hook", c.request.Hook.Name, "trigger", string(c.request.Hook.Trigger),
					"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
			run.cause = context.Cause(ctx)
			returned <- run
		}()
		run.reply, run.err = call(ctx, c.request)
	}()

	run, ok := await(ctx, cancel, returned, patience{
		limit: c.limit(), late: errHookTimeout, shutdown: c.activities.config.ShutdownGrace, grace: c.grace(),
	})
	if !ok {
		activity.GetLogger(ctx).Error("hook goes on though its context has ended: abandoned",
			"hook", c.request.Hook.Name, "cause", context.Cause(ctx))
		return hookRun{err: context.Cause(ctx), cause: context.Cause(ctx)}
	}
	return run
}

// limit is what the hook may take: its own time-out, or what is left of the
// activity's, less the time that it takes to say so.
func (c hookCall) limit() time.Duration {
	return within(c.request.Hook.TimeLimit(), c.info.Deadline, c.grace())
}

// grace is how long the hook may go on after its context has ended: less than a
// tool, for a hook's time is short.
func (c hookCall) grace() time.Duration { return min(c.activities.config.CancelGrace, time.Second) }

// failed says why a hook has no reply.
func (c hookCall) failed(run hookRun) error {
	switch {
	case errors.Is(run.err, errHookPanic):
		return domain.Errorf(domain.Internal, "it panicked: a fault of the hook; the worker's log has the stack")
	case errors.Is(run.cause, errHookTimeout), errors.Is(run.cause, context.DeadlineExceeded):
		return domain.CodedErrorf(domain.Unavailable, domain.CodeTimeout, "it took longer than it may, %s", c.request.Hook.TimeLimit())
	case errors.Is(run.cause, worker.ErrWorkerShutdown):
		return domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown, "its worker stopped while it ran")
	}
	return run.err
}

// hookFailure is the failure of a hook, of the code that says so. An error that
// is none of domain's is shown as it is: whoever wrote the hook wrote it.
func (a *Activities) hookFailure(spec contract.HookSpec, err error) error {
	own := domain.Error{Kind: domain.Invalid, Message: err.Error()}
	if e, ok := errors.AsType[*domain.Error](err); ok {
		own = *e
	}
	own.Code, own.Source = domain.CodeHookFailed, spec.Name
	hidden := hiddenError(a.config.Secrets, &own)
	hidden.Message = domain.Shorten(hidden.Message, domain.MaxReason)
	return failure(hidden)
}
