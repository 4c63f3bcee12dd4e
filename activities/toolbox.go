package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

// A Toolbox has tools that are known only when somebody is asked for them, such as
// those of MCP servers. It is used by many at once.
type Toolbox interface {
	// Has reports whether tools of that name are the toolbox's, there or not. It asks nobody.
	Has(name string) bool
	// Effect is what is configured for such a tool, which may turn out stricter. It asks nobody.
	Effect(name string) domain.Effect
	// Find returns the tool as it is now. Its errors are marked by tool.NotStarted.
	Find(ctx context.Context, name string) (tool.Tool, error)
	// All returns all tools of one of the toolbox's servers as they are now, one at least.
	// Its errors are as Find's.
	All(ctx context.Context, server string) ([]tool.Tool, error)
	// Prefixes say how the names of its tools begin, for messages.
	Prefixes() []string
}

// has reports whether a tool is a toolbox's, which may be nil: there is none.
func has(box Toolbox, name string) bool { return box != nil && box.Has(name) }

// remote reports whether a tool is the toolbox's, and one that this worker runs.
func (a *Activities) remote(name string) bool {
	_, own := a.tools[name]
	return !own && has(a.config.Toolbox, name) && a.config.Allow.Tool(name)
}

// tool is the one that a call names. One of the toolbox's is looked for when it runs.
func (a *Activities) tool(call toolCall) (tool.Tool, bool) {
	name := call.request.Name
	if !a.remote(name) {
		own, ok := a.tools[name]
		return own, ok
	}
	spec := domain.ToolSpec{Name: name, Effect: a.config.Toolbox.Effect(name)}
	return tool.FromSpec(spec, func(ctx context.Context, arguments json.RawMessage) (none tool.Result, _ error) {
		found, err := a.found(ctx, call)
		if err != nil {
			return none, err
		}
		if call.request.Pending != nil { // it was called as it was
			return found.Call(ctx, string(arguments))
		}
		if now := found.Spec(); !call.request.Pin.IsZero() && now.Pin != call.request.Pin {
			return none, tool.NotStarted(changed(a.given(call), now))
		} else if stricter(call.effect, now.Effect) != call.effect {
			return none, tool.NotStarted(domain.CodedErrorf(domain.Denied, domain.CodeNotRun,
				"not run: %s was %s when this agent was given it, and is %s now; an execution that begins now takes it as it is", name, call.effect, now.Effect))
		}
		return found.Call(ctx, string(arguments))
	}), true
}

// given is the tool as its agent was given it, as far as this worker still knows.
func (a *Activities) given(call toolCall) domain.ToolSpec {
	_, resolved, _ := a.config.Transcripts.Cache.Find(call.info.WorkflowExecution.ID)
	spec, _ := resolved.Tool(call.request.Name)
	if spec.Pin != call.request.Pin {
		return domain.ToolSpec{Name: call.request.Name}
	}
	return spec
}

// changed is the error of a call of a tool that is no more what its agent was given,
// and shows the difference. A worker that no longer knows what it was says so.
func changed(given, now domain.ToolSpec) error {
	var parts []string
	for _, part := range []struct{ what, then, now string }{
		{"description", given.Description, now.Description}, {"schema", string(given.Schema), string(now.Schema)},
	} {
		if part.then != part.now {
			parts = append(parts, fmt.Sprintf("its %s %s", part.what, difference(part.then, part.now)))
		}
	}
	if given.Pin.IsZero() {
		parts = []string{fmt.Sprintf("what it was is not known here; it is described now as %q", domain.Shorten(now.Description, maxShownChange))}
	}
	return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: its server has changed the tool %s since this agent was given it: %s; "+
		"somebody has to look at the change, and a new session takes the tool as it is", now.Name,
		cmp.Or(strings.Join(parts, "; "), "another tool of the server has its name now"))
}

// maxShownChange bounds, in bytes, how much of a change is shown on either side.
const maxShownChange = 200

// difference shows two texts from shortly before where they part.
func difference(then, now string) string {
	const before = 20
	at := 0
	for at < min(len(then), len(now)) && then[at] == now[at] {
		at++
	}
	at = max(at-before, 0)
	excerpt := func(text string) string {
		text = strings.ToValidUTF8(text[min(at, len(text)):], "")
		short := domain.Shorten(text, maxShownChange)
		if short != text {
			short += "…"
		}
		if at > 0 {
			short = "…" + short
		}
		return short
	}
	return fmt.Sprintf("was %q and is %q", excerpt(then), excerpt(now))
}

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
