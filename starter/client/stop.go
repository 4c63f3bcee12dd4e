package client

import (
	"context"
	"time"
	"unicode/utf8"

	"go.temporal.io/api/serviceerror"

	"everstep/domain"
	"everstep/starter/client/internal/history"
)

// StopOptions say how an execution is to stop.
type StopOptions struct {
	// Mode says how much may still finish. Empty: domain.AfterStep.
	Mode domain.StopMode
	// Within escalates to domain.StopNow after a time. Zero: never.
	Within time.Duration
	// Reason is for whoever reads the outcome.
	Reason string
}

// Stop asks the execution in progress to stop, and returns which one that is.
// It does not wait for the end. It is refused where none is in progress. It
// needs no worker: the request waits for one.
func (c *Client) Stop(ctx context.Context, id string, o StopOptions) (Execution, error) {
	if err := o.check(); err != nil {
		return Execution{}, invalid(err)
	}
	p, err := c.locate(ctx, id)
	if err != nil {
		return Execution{}, err
	}
	if p.ended != nil {
		return Execution{}, p.nothingTo("stop")
	}
	target := p.execution(p.number)
	call, cancel := context.WithTimeout(ctx, history.CallTimeout)
	defer cancel()
	err = c.temporal.SignalWorkflow(call, p.workflowID(), "", string(domain.SignalStop), domain.StopRequest{
		Reason: o.Reason, Mode: o.Mode, Within: domain.Span(o.Within), ExecutionID: target.ExecutionID,
	})
	if isAs[*serviceerror.NotFound](err) {
		return Execution{}, errorf(Refused, err, "%s has just ended; there is nothing to stop", id)
	}
	if err != nil {
		return Execution{}, fail(ctx, id, "stopping "+id, err)
	}
	return target, nil
}

func (o StopOptions) check() error {
	mode := o.Mode
	switch {
	case mode.UnmarshalText([]byte(o.Mode)) != nil:
		return domain.Errorf(domain.Invalid, "mode: %q is none of after_step, after_inference, now", o.Mode)
	case o.Within < 0:
		return domain.Errorf(domain.Invalid, "within: is %s; it may not be negative", o.Within)
	case len(o.Reason) > domain.MaxReason:
		return domain.Errorf(domain.TooLarge, "reason: has %d bytes; at most %d are allowed", len(o.Reason), domain.MaxReason)
	case !utf8.ValidString(o.Reason):
		return domain.Errorf(domain.Invalid, "reason: is not valid UTF-8; convert it")
	}
	return nil
}

// nothingTo is the refusal of what is for an execution in progress.
func (p position) nothingTo(what string) *Error {
	if p.open() && p.name != "" {
		return errorf(Refused, nil, "%s is idle: execution %d has ended (%s), so there is nothing to %s; `close` ends the session", p.called(), p.number, p.ended.Status, what)
	}
	return errorf(Refused, nil, "%s has ended (%s); there is nothing to %s", p.called(), p.ended.Status, what)
}
