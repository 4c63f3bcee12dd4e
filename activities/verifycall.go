package activities

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

// VerifyCall asks a tool what became of a call of which nobody knows whether it took effect. It may run any number of
// times: a tool's Verify changes nothing but that a call which has not happened cannot happen any more.
//
// It fails where Verify does, and then Temporal tries again, unless the error says that it makes no sense to; where the
// worker was told to stop, and where it lacks the tool, since another may have it.
func (a *Activities) VerifyCall(ctx context.Context, request contract.ToolRequest) (none contract.VerifyReply, _ error) {
	info := activity.GetInfo(ctx)
	defer a.heartbeat(ctx, contract.Heartbeat{
		ExecutionID: request.ExecutionID, Step: request.Step, Phase: contract.PhaseRunning, Attempt: int(info.Attempt),
	})()
	c := toolCall{activities: a, request: request, info: info}
	asked, ok := a.tools[request.Name] // a toolbox's have no Verify
	if !ok {
		return none, domain.CodedErrorf(domain.Unavailable, domain.CodeUnknownTool, "this worker has no tool %q", domain.Shorten(request.Name, 64))
	}
	c.bounds = asked.Bounds()
	arguments, err := c.arguments(ctx)
	if err != nil {
		return none, a.recordable(*domain.AsError(err), domain.Unavailable)
	}
	call := c.known()
	call.Attempt = int(info.Attempt)
	run := runGuarded(tool.WithExecution(ctx, call), guarded{
		what: "verify", names: []any{"tool", request.Name, "call", c.String()},
		limit: c.limit(), shutdown: a.config.ShutdownGrace, grace: a.config.CancelGrace,
	}, func(ctx context.Context) (tool.Finding, error) { return asked.Verify(ctx, arguments) })
	if run.err != nil {
		return none, a.unverified(ctx, request.Name, run)
	}
	reply := contract.VerifyReply{Verdict: run.result.Verdict(), Reason: domain.Shorten(a.config.Secrets.Hide(readable(run.result.How(), domain.MaxReason)), domain.MaxReason)}
	if reply.Verdict == domain.VerdictDone {
		reply.Result = c.done(ctx, tool.Result{Content: run.result.Result()}).Content
	}
	return reply, nil
}

// unverified is the failure of a Verify that gave no answer.
func (a *Activities) unverified(ctx context.Context, name string, run outcome[tool.Finding]) error {
	if temporal.IsCanceledError(context.Cause(ctx)) {
		return ctx.Err()
	}
	err := run.failure(
		domain.Errorf(domain.Internal, "Verify of %s panicked; the worker's log has the stack", name),
		domain.CodedErrorf(domain.Unavailable, domain.CodeTimeout, "Verify of %s took longer than it may", name),
		domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown, "the worker stopped while it ran Verify of %s", name))
	own := toolError(err)
	_, ours := errors.AsType[*domain.Error](err)
	if _, advised := tool.AdviceOf(err); !advised && !ours {
		own.Kind = domain.Unavailable // to ask again does no harm
	}
	own.Message = domain.Shorten(own.Message, maxErrorText)
	return a.recordable(own, domain.Unavailable)
}
