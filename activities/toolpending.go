package activities

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

// pending is the reply of a call that its other side goes on with.
func (c toolCall) pending(own tool.Elsewhere) contract.ToolReply {
	if len(own.Handle) == 0 || len(own.Handle) > tool.MaxHandle || !json.Valid(own.Handle) {
		return c.unknown("its other side goes on with it, under a handle that cannot be kept")
	}
	p := contract.Pending{Handle: own.Handle, Since: time.Now().UTC(), Status: domain.Shorten(c.activities.config.Secrets.Hide(own.Status), 200)}
	if before := c.request.Pending; before != nil {
		p.Since = before.Since
	}
	if own.Keeps > 0 {
		p.Until = p.Since.Add(min(own.Keeps, tool.MaxElsewhere))
	}
	return c.stillPending(&p, own.After)
}

// asked is the reply of a tool that was asked what came of a call. What kept it from hearing that is no end
// of the call: it is asked again, as long as the other side has it.
func (c toolCall) asked(ctx context.Context, run outcome[tool.Result]) contract.ToolReply {
	own, goesOn := tool.IsElsewhere(run.err)
	unheard := errors.Is(run.err, errPanicked) || run.cause != nil || run.err != nil && (tool.IsNotStarted(run.err) || toolError(run.err).Kind.Retryable())
	switch {
	case run.err == nil:
		return c.done(ctx, run.result)
	case c.request.TakeBack && (goesOn || unheard):
		return c.left()
	case goesOn:
		return c.pending(own)
	case tool.IsOutcomeUnknown(run.err) && !c.effect.Repeatable():
		return c.unknown(toolError(run.err).Message)
	case tool.IsOutcomeUnknown(run.err):
		return c.failed(new(toolError(run.err)))
	case unheard:
		return c.stillPending(nil, 0)
	}
	reply, _ := c.refused(ctx, run.err) // of a kind that is not tried again
	return reply
}

// stillPending is the reply of a call that is to be asked about again; p is what is known of it now, nil: what
// was known before. A wait grows with the time that has passed, so that one of days leaves a short history.
func (c toolCall) stillPending(p *contract.Pending, after time.Duration) contract.ToolReply {
	now := time.Now().UTC()
	if p == nil {
		if before := c.request.Pending; !before.Until.IsZero() && now.After(before.Until.Add(10*time.Minute)) { // so long after its time it is still asked about
			return c.unknown("its other side was not heard again in the time for which it keeps what it works at")
		}
		p = new(*c.request.Pending)
	}
	wait := max(shortestWait, now.Sub(p.Since)/20, min(after, 24*time.Hour))
	if left := p.Until.Sub(now); left > 0 {
		wait = min(wait, max(left*9/10, shortestWait)) // what is not asked about in time is lost
	}
	p.AskAt = now.Add(wait)
	reply := c.left()
	reply.Pending = p
	return reply
}

// shortestWait is how long the other side has at the least before it is asked.
const shortestWait = time.Second

// left is what remains of a call that is asked about no more.
func (c toolCall) left() contract.ToolReply {
	request := c.request
	request.Effect = c.effect
	return c.failed(contract.GivenUp(request).Error)
}
