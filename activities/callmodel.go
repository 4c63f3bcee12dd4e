package activities

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"everstep/activities/inference"
	"everstep/domain"
)

// CallModel makes one attempt at an inference: it finds the conversation that
// the request names, compiles it, asks the model, and returns the new message.
//
// It fails only where the attempt surely cost nothing, so that Temporal may try
// again. Whatever may have been billed is a reply: the answer, what had come of
// it when a stop or the worker's end cut it off, or the failure with its usage.
// It is safe to run twice: an attempt that finds the heartbeat of one that was
// lost after its request counts that one as spent, and does not begin where the
// budget no longer covers another.
func (a *Activities) CallModel(ctx context.Context, request domain.ModelRequest) (domain.ModelReply, error) {
	c := &modelCall{activities: a, request: request, info: activity.GetInfo(ctx), spent: spentBefore(ctx)}
	ctx = domain.WithPlace(ctx, domain.Place{WorkflowID: c.info.WorkflowExecution.ID, ExecutionID: request.ExecutionID, Step: request.Step})
	c.pulse = startModelPulse(ctx, c.info, a.config.HeartbeatThrottle, domain.Heartbeat{
		ExecutionID: request.ExecutionID, Step: request.Step, Phase: domain.PhaseWaiting,
		Attempt: c.attempt(), Spent: c.spent,
	})
	defer c.pulse.stop()

	stoppable, cancel := whileWorking(ctx)
	defer cancel()
	provider, err := c.prepare(stoppable)
	if err != nil {
		return c.failed(ctx, inference.Answer{Partial: true}, err)
	}
	c.pulse.requested(stoppable, c.reserved())
	if stoppable.Err() != nil {
		return c.failed(ctx, inference.Answer{Partial: true}, context.Cause(stoppable))
	}
	a.config.At(ctx, domain.BeforeRequest)
	answer, err := c.infer(stoppable, provider)
	if err != nil {
		return c.failed(ctx, answer, err)
	}
	a.config.At(ctx, domain.AfterRequest)
	return c.answered(ctx, answer)
}

// errWorkerStops is the cause of a context that a stopping worker has ended.
var errWorkerStops = errors.New("the worker is stopping")

// whileWorking returns a context that ends when the worker is told to stop,
// long before the activity's own does.
func whileWorking(ctx context.Context) (context.Context, func()) {
	stopping := activity.GetWorkerStopChannel(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-stopping:
			cancel(errWorkerStops)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// A modelCall is one attempt at one inference.
type modelCall struct {
	activities *Activities
	request    domain.ModelRequest
	info       activity.Info
	pulse      *modelPulse
	call       inference.Call
	// spent is what attempts before this one, lost in this activity, may have cost.
	spent domain.Usage
	// sent says that the provider has begun to send the request.
	sent atomic.Bool
}

// attempt counts the tries of this inference from 1, over all activities.
func (c *modelCall) attempt() int { return c.request.Attempts + int(c.info.Attempt) }

// prepare puts together what is sent, and refuses what the budget does not cover.
func (c *modelCall) prepare(ctx context.Context) (inference.Provider, error) {
	conversation, err := c.activities.config.Transcripts.Fetch(ctx, c.request.Log, c.request.Resolved)
	if err != nil {
		return nil, err
	}
	definition := conversation.Resolved.Definition
	provider, ok := c.activities.config.Providers[definition.Model.Provider]
	if !ok {
		return nil, domain.CodedErrorf(domain.Invalid, domain.CodeModelNotFound,
			"model: no provider %q on this worker; the providers are: %s", domain.Shorten(definition.Model.Provider, 64), c.activities.providerNames())
	}
	c.call = inference.Call{
		Config:          definition.Model,
		System:          definition.SystemPrompt,
		Messages:        domain.Compile(definition.Compiler, definition.Sections, conversation.Entries, []domain.ExecutionID{c.request.ExecutionID}),
		Format:          definition.Format,
		MaxOutputTokens: smallest(c.request.MaxOutputTokens, definition.Model.MaxOutputTokens),
		Inference:       c.request.Inference,
		Attempt:         c.attempt(),
		Sent:            func() { c.sent.Store(true) },
	}
	if !c.request.WithoutTools {
		c.call.Tools = conversation.Resolved.Tools
	}
	return provider, c.cover(provider.MinOutputTokens())
}

// smallest returns the smaller bound; zero is none.
func smallest(a, b int64) int64 {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}

// cover takes what lost attempts may have cost out of what this one may.
func (c *modelCall) cover(minOutput int64) error {
	if c.request.TokensLeft <= 0 || c.spent.IsZero() {
		return nil
	}
	room := c.request.TokensLeft - c.spent.TotalTokens() - c.call.InputTokens()
	if room < max(minOutput, 1) {
		return domain.Errorf(domain.Unavailable, "the worker was lost after it had sent the request, and the budget does not cover another try")
	}
	c.call.MaxOutputTokens = smallest(c.call.MaxOutputTokens, room)
	return nil
}

// reserved is what the attempt may cost if nothing more is heard of it.
func (c *modelCall) reserved() domain.Usage {
	return domain.Usage{InputTokens: c.call.InputTokens(), OutputTokens: c.call.MaxOutputTokens, Estimated: true}
}

// infer asks the model. A provider that panics has failed like any other.
func (c *modelCall) infer(ctx context.Context, provider inference.Provider) (answer inference.Answer, err error) {
	var streaming bool
	defer func() {
		if p := recover(); p != nil {
			activity.GetLogger(ctx).Error("provider panicked", "provider", c.call.Config.Provider, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			answer, err = inference.Answer{Partial: true}, fmt.Errorf("provider %s panicked", c.call.Config.Provider)
		}
	}()
	return provider.Infer(ctx, c.call, func(delta inference.Delta) {
		if delta.IsEmpty() {
			return
		}
		c.pulse.heard(delta)
		if !streaming {
			streaming = true
			c.activities.config.At(ctx, domain.InStream)
		}
	})
}

// stopped reports whether the end of the activity's context is a stop: nothing
// else may ever look like one.
func stopped(ctx context.Context) bool { return temporal.IsCanceledError(context.Cause(ctx)) }

// workerStops reports whether the worker was told to stop.
func workerStops(ctx context.Context) bool {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return true
	default:
		return false
	}
}
