package activities

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

// CallTool makes one tool call. A tool that fails, panics, hangs, answers too
// much or does not exist is data for the model: the reply carries the error.
//
// The activity itself fails only where Temporal is to try again, so only for
// tools that may run twice. A call of any other tool answers whatever happens,
// and a second attempt at it runs nothing.
func (a *Activities) CallTool(ctx context.Context, request contract.ToolRequest) (contract.ToolReply, error) {
	c := toolCall{activities: a, request: request, info: activity.GetInfo(ctx), effect: request.Effect}
	c.told = &toolProgress{tool: request.Name, hide: a.config.Secrets.Hide, heard: make(chan struct{}, 1)}
	attempt, told := c.attempt(), c.told // c is not ready yet when a heartbeat may go
	defer a.heartbeatWith(ctx, func() []any {
		return []any{contract.Heartbeat{
			ExecutionID: request.ExecutionID, Step: request.Step, Phase: contract.PhaseRunning, Attempt: attempt, Progress: told.newest(), Call: request.ID(),
		}}
	})()

	called, ok := a.tool(c)
	if ok {
		c.effect, c.tries, c.bounds = stricter(request.Effect, called.Spec().Effect), called.Spec().Attempts, called.Bounds()
	}
	if attempt > 1 && !c.effect.Repeatable() && request.Pending == nil {
		return c.unknown("an earlier attempt may have begun"), nil
	}
	if !ok && request.Pending != nil {
		return c.stillPending(nil, 0), nil
	}
	if !ok { // while workers are replaced another one may have it
		own := domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool,
			"unknown tool %q; the tools are: %s", domain.Shorten(request.Name, 64), a.toolNames())
		if c.attempt() > 1 {
			own.Kind = domain.Unavailable
			return c.notBegun(ctx, own)
		}
		reply := c.failed(own)
		reply.NotStarted = true
		return reply, nil
	}
	// One that was begun when there was no limit is brought to its end where it is.
	if limit, limited := a.config.ToolLimits[request.Name]; limited && limit.TaskQueue != c.info.TaskQueue && attempt == 1 && request.Pending == nil {
		return c.elsewhere(limit), nil
	}
	arguments, err := c.arguments(ctx)
	if err == nil && request.Lost > 0 {
		a.inferring.wait(ctx)
	}
	if err = cmp.Or(err, c.mayBegin(ctx)); err != nil && request.Pending != nil {
		return c.stillPending(nil, 0), nil
	} else if err != nil {
		return c.notBegun(ctx, err)
	}
	ctx = contract.WithPlace(ctx, contract.Place{WorkflowID: c.info.WorkflowExecution.ID, ExecutionID: request.ExecutionID, Step: request.Step})
	ctx = tool.WithExecution(tool.WithProgress(ctx, c.told.tell), c.known())
	run := c.run(ctx, called, arguments)
	if request.Pending != nil {
		return c.asked(ctx, run), nil
	}
	return c.judge(ctx, run)
}

// arguments are those of the call, as the model has sent them.
func (c toolCall) arguments(ctx context.Context) (string, error) {
	if ref := c.request.Reference; ref != nil {
		return c.activities.config.Transcripts.Arguments(ctx, *ref, c.request.Position)
	}
	return c.request.Arguments, nil
}

// known is what the tool may know of its call.
func (c toolCall) known() tool.Call {
	call := tool.Call{
		ID: c.request.ID(), Key: c.request.Key(), ExecutionID: c.request.ExecutionID, Step: c.request.Step, Position: c.request.Position,
		Attempt: c.attempt(), Trusted: c.request.Trusted, WaitedUntil: c.request.WaitUntil, Note: c.request.Note, Earlier: c.request.Earlier,
	}
	if p := c.request.Pending; p != nil {
		call.Handle, call.TakenBack = p.Handle, c.request.TakeBack
	}
	if own, ok := strings.CutPrefix(c.info.WorkflowExecution.ID, domain.WorkflowIDPrefix); ok {
		call.AgentID, _ = domain.AgentIDOf(own) // zero where somebody began the workflow under an id of their own
		if own != call.AgentID.String() {
			call.AgentName = own
		}
	}
	return call
}

func (c toolCall) run(ctx context.Context, called tool.Tool, arguments string) outcome[tool.Result] {
	config := c.activities.config
	return runGuarded(ctx, guarded{
		what: "tool", names: []any{"tool", c.request.Name, "call", c.String()},
		limit: c.limit(), shutdown: config.ShutdownGrace, grace: config.CancelGrace, silence: c.bounds.Silence, heard: c.told.heard,
	}, func(ctx context.Context) (tool.Result, error) {
		config.At(ctx, contract.BeforeEffect)
		result, err := called.Call(ctx, arguments)
		config.At(ctx, contract.AfterEffect)
		return result, err
	})
}

type toolCall struct {
	activities *Activities
	request    contract.ToolRequest
	info       activity.Info
	// effect is what holds: the stricter of the request's and the tool's own.
	effect domain.Effect
	// tries is how often the tool is to be tried; zero: it does not say.
	tries  int
	bounds tool.Bounds
	told   *toolProgress
}

// attempt counts the tries of the call from 1, over all activities.
func (c toolCall) attempt() int { return c.request.Attempts + int(c.info.Attempt) }

// stricter returns the effect that allows less: a tool may have become stricter since
// the session began.
func stricter(a, b domain.Effect) domain.Effect {
	effects := enum.Known[domain.Effect]()
	i, j := slices.Index(effects, a), slices.Index(effects, b)
	if i < 0 || j < 0 {
		return domain.AtMostOnce
	}
	return effects[max(i, j)]
}

func (a *Activities) toolNames() string { return toolNames(a.config.Tools, a.config.Toolbox) }

func toolNames(tools []tool.Tool, more Toolbox) string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Spec().Name)
	}
	if more != nil {
		names = append(names, more.Prefixes()...)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// mayBegin refuses to begin what would be cut off at once.
func (c toolCall) mayBegin(ctx context.Context) error {
	if ctx.Err() != nil {
		return domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun, "not run: the call was cancelled before it began")
	}
	if workerStops(ctx) {
		return domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown, "not run: the worker is stopping")
	}
	return nil
}

// limit is what the workflow has decided, or what is left of the activity.
func (c toolCall) limit() time.Duration {
	limit := c.info.StartToCloseTimeout - domain.ReportTime
	if limit <= 0 { // a server may cap what an activity gets
		limit = c.info.StartToCloseTimeout / 2
	}
	return within(limit, c.info.Deadline, c.activities.config.CancelGrace)
}

// warn logs what went wrong with the call.
func (c toolCall) warn(ctx context.Context, what, key string, value any) {
	activity.GetLogger(ctx).Warn(what, "tool", c.request.Name, "call", c.String(), key, value)
}

func (c toolCall) String() string {
	return fmt.Sprintf("%s/%d/%d", c.request.ExecutionID, c.request.Step, c.request.Position)
}
