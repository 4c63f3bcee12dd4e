package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// CallHook runs a hook that is an activity and returns what it wants done. It may
// run again where it failed or its worker was lost, as often as its Attempts allow;
// where it sets none, a few times more where its worker was lost.
//
// Whatever goes wrong has the code hook_failed. It is tried again where the hook's
// own error says so (one of domain's, throttled or unavailable), where it took too
// long, and where the worker was told to stop.
func (a *Activities) CallHook(ctx context.Context, request contract.HookRequest) (none contract.HookReply, _ error) {
	info := activity.GetInfo(ctx)
	defer a.heartbeat(ctx, contract.Heartbeat{
		ExecutionID: request.ExecutionID, Step: request.Step, Phase: contract.PhaseRunning, Attempt: int(info.Attempt),
	})()
	h, err := a.config.Hooks.Find(request.Hook)
	if err != nil {
		return none, a.hookFailure(request.Hook, lacking(err))
	}
	grace := min(a.config.CancelGrace, time.Second) // less than a tool has, for a hook's time is short
	run := runGuarded(contract.WithPlace(ctx, contract.Place{
		WorkflowID: info.WorkflowExecution.ID, ExecutionID: request.ExecutionID, Step: request.Step,
	}), guarded{
		what: "hook", names: []any{"hook", request.Hook.Name, "trigger", string(request.Hook.Trigger)},
		limit: within(request.Hook.TimeLimit(), info.Deadline, grace), shutdown: a.config.ShutdownGrace, grace: grace,
	}, func(ctx context.Context) (contract.HookReply, error) { return h.Activity()(ctx, request) })
	if run.err != nil && temporal.IsCanceledError(context.Cause(ctx)) {
		return none, ctx.Err()
	}
	reply := hidden(a.config.Secrets, run.result)
	stopped := domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown, "its worker stopped while it ran")
	stopped.Lacking = request.Hook.Attempts == 0 // the workflow asks another, as after a lost worker
	err = run.failure(
		domain.Errorf(domain.Internal, "it panicked: a fault of the hook; the worker's log has the stack"),
		domain.CodedErrorf(domain.Unavailable, domain.CodeTimeout, "it took longer than it may, %s", request.Hook.TimeLimit()), stopped)
	if err == nil {
		reply, err = hook.Checked(request.Hook.Trigger, reply)
	}
	if err != nil {
		return none, a.hookFailure(request.Hook, err)
	}
	return reply, nil
}

// hookFailure shows an error that is none of domain's as it is: whoever wrote the hook
// wrote it.
func (a *Activities) hookFailure(spec contract.HookSpec, err error) error {
	own := domain.Error{Kind: domain.Invalid, Message: err.Error()}
	if e, ok := errors.AsType[*domain.Error](err); ok {
		own = *e
	}
	own.Code, own.Source = domain.CodeHookFailed, spec.Name
	failed := a.recordable(own, domain.Invalid)
	failed.Message = domain.Shorten(failed.Message, domain.MaxReason)
	return failed
}
