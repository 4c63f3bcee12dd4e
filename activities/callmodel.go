package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/domain/contract"
)

// CallModel makes one attempt at an inference: it finds the conversation that
// the request names, compiles it, asks the model, and returns the new message.
//
// It fails only where the attempt surely cost nothing, so that Temporal may try
// again; whatever may have been billed is a reply. It is safe to run twice: an
// attempt that finds the heartbeat of one that was cut off after its request counts
// that one as spent, and does not begin where the budget does not cover another.
//
// What it holds is the modelCall's: the stack of one that waits for a model is memory.
func (a *Activities) CallModel(ctx context.Context, request *contract.ModelRequest) (*contract.ModelReply, error) {
	defer a.inferring.begin()()
	ctx, c := a.modelCall(ctx, request)
	defer c.heartbeat.stop()
	return c.ended(ctx, c.attempt(ctx))
}

// modelCall is a call that has not begun, but tells of itself.
func (a *Activities) modelCall(ctx context.Context, request *contract.ModelRequest) (context.Context, *modelCall) {
	c := &modelCall{activities: a, request: request, info: activity.GetInfo(ctx), spent: spentBefore(ctx)}
	ctx = contract.WithPlace(ctx, contract.Place{WorkflowID: c.info.WorkflowExecution.ID, ExecutionID: request.ExecutionID, Step: request.Step, Summary: request.Summary != nil})
	c.heartbeat = a.startModelHeartbeat(ctx, c.info, contract.Heartbeat{
		ExecutionID: request.ExecutionID, Step: request.Step, Phase: contract.PhaseWaiting,
		Attempt: c.tries(), Spent: c.spent,
	})
	return ctx, c
}

// ended is the reply to what came of the attempt.
func (c *modelCall) ended(ctx context.Context, err error) (*contract.ModelReply, error) {
	var reply contract.ModelReply
	if err != nil {
		reply, err = c.failed(ctx, c.answer, err)
	} else {
		c.activities.config.At(ctx, contract.AfterRequest)
		reply, err = c.answered(ctx, c.answer)
	}
	if err != nil {
		return nil, err
	}
	return &reply, nil
}

// A modelCall is one attempt at one inference.
type modelCall struct {
	activities *Activities
	request    *contract.ModelRequest
	info       activity.Info
	heartbeat  *modelHeartbeat
	call       inference.Call
	// shared says that the call's messages are those of later inferences too, and may not be changed.
	shared bool
	// answer is the model's, or what had come of it.
	answer  inference.Answer
	summary *summary
	// refusals are what a server has said of requests that were made again at once in another form.
	refusals []string
	limit    time.Duration
	// price is the model's; nil where nobody knows it.
	price *domain.Price
	// spent is what attempts before this one, lost in this activity, may have cost.
	spent domain.Usage
	// sent says that the provider has begun to send the request.
	sent atomic.Bool
}

// attempt is the attempt up to the model's answer.
func (c *modelCall) attempt(ctx context.Context) error {
	ctx, cancel := whileWorking(ctx, 0)
	defer cancel()
	provider, err := c.begin(ctx)
	if err != nil {
		c.answer.Partial = true
		return err
	}
	c.activities.config.At(ctx, contract.BeforeRequest)
	err = c.inTime(ctx, provider)
	c.metered(err)
	return err
}

// begin does what comes before the request, and notes it.
func (c *modelCall) begin(ctx context.Context) (inference.Provider, error) {
	provider, err := c.prepare(ctx)
	if err == nil {
		err = c.rerouted()
	}
	if err != nil {
		return nil, err
	}
	// What the attempt may cost if nothing more is heard of it.
	c.heartbeat.requested(domain.Usage{InputTokens: c.call.InputTokens(), OutputTokens: c.call.MaxOutputTokens, Estimated: true})
	return provider, context.Cause(ctx)
}

// tries counts the attempts at this inference from 1, over all activities.
func (c *modelCall) tries() int { return c.request.Attempts + int(c.info.Attempt) }

// prepare puts together what is sent, and refuses what the budget does not cover.
func (c *modelCall) prepare(ctx context.Context) (inference.Provider, error) {
	conversation, err := c.activities.config.Transcripts.Fetch(ctx, c.request.Log, c.request.Resolved, c.request.Edits.First())
	if err != nil {
		return nil, err
	}
	if c.request.Summary != nil || contract.Rewriter(conversation.Resolved.Hooks) != "" {
		// A summary is no answer, and what a hook may rewrite nobody reads before it did.
		c.heartbeat.withhold()
	}
	definition := conversation.Resolved.Definition
	if err := cmp.Or(c.activities.config.Allow.agent(definition), c.activities.config.Allow.said(conversation.Entries)); err != nil {
		return nil, err // who schedules an inference need not have asked what it means
	}
	provider, err := c.activities.provider(definition.Model)
	if err != nil {
		return nil, err
	}
	c.price, c.limit = conversation.Resolved.Price, conversation.Resolved.InferenceTimeout()
	c.call = inference.Call{
		Config:          definition.Model,
		System:          definition.SystemPrompt,
		MaxOutputTokens: smallest(c.request.MaxOutputTokens, definition.Model.MaxOutputTokens),
		Inference:       c.request.Inference,
		Attempt:         c.tries(),
		Sent:            func() { c.sent.Store(true) },
	}
	if !c.request.WithoutTools {
		c.call.Tools = conversation.Resolved.Tools
	}
	if c.request.Summary != nil {
		err = c.sumUp(ctx, definition, conversation.Entries)
	} else {
		err = c.ask(ctx, definition, conversation.Entries)
		c.showImages(ctx)
		c.tell(definition.Format, conversation.Resolved.OutputMode)
	}
	if err == nil {
		err = c.checkImages()
	}
	if err != nil {
		return nil, err
	}
	return provider, c.cover(provider.MinOutputTokens())
}

// inTime asks the model for as long as an attempt may take. The server allows a
// while more, so that what had come by then is reported and counted.
func (c *modelCall) inTime(ctx context.Context, provider inference.Provider) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit, errLate)
	defer cancel()
	err := c.infer(ctx, provider)
	for c.adapted(ctx, err) || c.withoutImages(ctx, err) {
		err = c.infer(ctx, provider)
	}
	hideInAnswer(c.activities.config.Secrets, &c.answer)
	if err == nil || !errors.Is(context.Cause(ctx), errLate) {
		return err
	}
	late := domain.CodedErrorf(domain.Unavailable, domain.CodeTimeout, "the model took longer than %s, the time-out of an inference", c.limit)
	late.Billed = c.sent.Load()
	return late.From(c.call.Config.Provider)
}

// adapted reports whether the provider has learned from a refusal, so that the call is made again. It notes the refusal.
func (c *modelCall) adapted(ctx context.Context, err error) bool {
	adapted, ok := errors.AsType[*inference.Adapted](err)
	if !ok || ctx.Err() != nil || len(c.refusals) == inference.MostAdapted {
		return false
	}
	c.refusals = append(c.refusals, adapted.Refusal.Message)
	activity.GetLogger(ctx).Warn("a request is refused and made again in another form", "model", c.call.Config.Model,
		"error", c.activities.config.Secrets.Hide(err.Error()))
	return true
}

// infer asks the model, and hides the worker's secrets in what is heard of it. A
// provider that panics has failed like any other.
func (c *modelCall) infer(ctx context.Context, provider inference.Provider) (err error) {
	secrets := c.activities.config.Secrets
	text, reasoning := hiddenStream{secrets: secrets}, hiddenStream{secrets: secrets}
	var streaming bool
	defer func() {
		if p := recover(); p != nil {
			logPanic(ctx, "provider", p, "provider", c.call.Config.Provider)
			c.answer.Partial, err = true, fmt.Errorf("provider %s panicked", c.call.Config.Provider)
		}
	}()
	c.answer, err = provider.Infer(ctx, c.call, func(delta inference.Delta) {
		if delta == (inference.Delta{}) {
			return
		}
		delta.Text, delta.Reasoning, delta.Tool = text.pass(delta.Text), reasoning.pass(delta.Reasoning), secrets.Hide(delta.Tool)
		c.heartbeat.heard(delta)
		if !streaming {
			streaming = true
			c.activities.config.At(ctx, contract.InStream)
		}
	})
	return err
}

func workerStops(ctx context.Context) bool {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return true
	default:
		return false
	}
}

// inferring are the inferences under way on this worker, each by a channel that is closed when it has ended.
type inferring struct{ running sync.Map }

// begin notes one, until the function that it returns is called.
func (i *inferring) begin() (end func()) {
	own := make(chan struct{})
	i.running.Store(own, nil)
	return func() {
		i.running.Delete(own)
		close(own)
	}
}

// wait lets those that are under way have their answers, for a while: what is to
// run now may take this worker with it.
func (i *inferring) wait(ctx context.Context) {
	// Less than the time for a report, so that it takes nothing from the call's own.
	patience := time.After(domain.ReportTime / 2)
	for other := range maps.Collect(i.running.Range) { // not for those that begin meanwhile
		ended, _ := other.(chan struct{})
		select {
		case <-ended:
		case <-patience:
			return
		case <-activity.GetWorkerStopChannel(ctx):
			return
		case <-ctx.Done():
			return
		}
	}
}
