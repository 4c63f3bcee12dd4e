package activities

import (
	"cmp"
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

// Sessions are those that agents have with stateful servers on this worker, each for itself. It is used by many at once.
type Sessions interface {
	// Bind opens a session with a server for an agent, in the place of one that it may have there, and names it.
	Bind(ctx context.Context, server, agent string) (id string, err error)
	// In returns a tool as it is in an agent's session. Its error, and that of a call of the tool, is marked by
	// tool.SessionLost where the session is gone.
	In(ctx context.Context, id, agent, name string) (tool.Tool, error)
	// Unbind ends a session of an agent, if it has it.
	Unbind(id, agent string)
}

// Bind opens a session with a stateful server for the agent that asks. From then on this worker alone can make its calls
// of that server. It may run any number of times: sessions that nobody knows of end when they have been idle.
//
// It fails retryably where another worker may have what this one lacks: the server, or room.
func (a *Activities) Bind(ctx context.Context, request contract.BindRequest) (none contract.Bound, _ error) {
	defer a.heartbeat(ctx)()
	agent := activity.GetInfo(ctx).WorkflowExecution.ID
	if workerStops(ctx) {
		return none, domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown, "the worker is stopping")
	}
	if a.config.Sessions == nil {
		return none, domain.CodedErrorf(domain.Unavailable, domain.CodeUnknownTool, "this worker has no MCP server %q", domain.Shorten(request.Server, 64))
	}
	id, err := a.config.Sessions.Bind(ctx, request.Server, agent)
	switch {
	case err != nil && ctx.Err() != nil:
		return none, ctx.Err()
	case err != nil:
		return none, a.recordable(*domain.AsError(err), domain.Unavailable)
	case ctx.Err() != nil: // nobody is told of it
		a.config.Sessions.Unbind(id, agent)
		return none, ctx.Err()
	}
	return contract.Bound{
		Server: request.Server, ID: id, TaskQueue: a.config.OwnQueue, Worker: workerName(), Since: time.Now().UTC(), For: request.For,
	}, nil
}

// Unbind ends a session of the agent that asks, if this worker has it. It may run any number of times.
func (a *Activities) Unbind(ctx context.Context, request contract.UnbindRequest) (contract.UnbindReply, error) {
	if a.config.Sessions != nil {
		a.config.Sessions.Unbind(request.Bound.ID, activity.GetInfo(ctx).WorkflowExecution.ID)
	}
	return contract.UnbindReply{}, nil
}

// found is a server's tool as it is where its call is to be made: in the agent's session, or anywhere.
func (a *Activities) found(ctx context.Context, call toolCall) (tool.Tool, error) {
	name := call.request.Name
	if own := call.request.Bound; own != nil && a.config.Sessions != nil {
		return a.config.Sessions.In(ctx, own.ID, call.info.WorkflowExecution.ID, name)
	}
	found, err := a.config.Toolbox.Find(ctx, name)
	if err == nil && found.Spec().Stateful {
		err = tool.NotStarted(domain.CodedErrorf(domain.Denied, domain.CodeNotRun,
			"not run: the server of %s keeps state for each agent now, which it did not when this agent was given it; an execution that begins now takes it as it is", name))
	}
	return found, err
}

// sessionLost has the workflow make the call again, in a new session. The error is what remains of it where a stop comes
// first.
func (c toolCall) sessionLost(err error) contract.ToolReply {
	why := domain.Shorten(c.activities.config.Secrets.Hide(toolError(err).Message), maxErrorText)
	c.request.Bound = nil // nothing was called in it
	request := c.request
	request.Attempts = c.attempt() - 1
	reply := c.failed(contract.NotMade(request, domain.Unavailable, "not run: "+contract.SessionGone(why)).Error)
	reply.NotStarted, reply.SessionLost = true, why
	return reply
}

// notice is what the model is told beside the result, of the session in which the call was made.
func (c toolCall) notice() string {
	notice := cmp.Or(c.request.Bound, &contract.Bound{}).Notice()
	if notice != "" {
		notice += "\n\n"
	}
	return notice
}
