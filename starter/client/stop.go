package client

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"go.temporal.io/api/serviceerror"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

// StopOptions say how an execution is to stop.
type StopOptions struct {
	// Mode says how much may still finish. Empty: contract.AfterStep.
	Mode contract.StopMode
	// Within escalates to contract.StopNow after a time. Zero: never.
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
	err = c.temporal.SignalWorkflow(call, p.workflowID(), "", string(contract.SignalStop), contract.StopRequest{
		Reason: o.Reason, Mode: o.Mode, Within: contract.Span(o.Within), ExecutionID: target.ExecutionID,
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

func (p position) nothingTo(what string) *Error {
	if p.open() && p.name != "" {
		return errorf(Refused, nil, "%s is idle: execution %d has ended (%s), so there is nothing to %s; `close` ends the session", p.called(), p.number, p.ended.Status, what)
	}
	return errorf(Refused, nil, "%s has ended (%s); there is nothing to %s", p.called(), p.ended.Status, what)
}

// A Pausing says which execution was paused or resumed.
type Pausing struct {
	Execution
	// Changed is false where it was so already.
	Changed bool `json:"changed"`
}

// Pause lets nothing new start in the execution in progress until Resume, or a stop. The time does
// not count in max_seconds; a deadline passes all the same. It is refused where no execution is in
// progress. It needs a worker, as Send does.
func (c *Client) Pause(ctx context.Context, id string) (Pausing, error) {
	return c.pausing(ctx, id, contract.UpdatePause, "pause", "pausing ")
}

// Resume ends a pause. It is refused where no execution is in progress. It
// needs a worker, as Send does.
func (c *Client) Resume(ctx context.Context, id string) (Pausing, error) {
	return c.pausing(ctx, id, contract.UpdateResume, "resume", "resuming ")
}

func (c *Client) pausing(ctx context.Context, id string, name contract.Update[contract.PauseRequest, contract.PauseReply], what, doing string) (Pausing, error) {
	p, err := c.locate(ctx, id)
	if err != nil {
		return Pausing{}, err
	}
	if p.ended != nil {
		return Pausing{}, p.nothingTo(what)
	}
	target := p.execution(p.number)
	reply, err := update(ctx, c, p.agent, "", name, contract.PauseRequest{ExecutionID: target.ExecutionID})
	if errors.Is(err, errClosed) {
		return Pausing{}, errorf(Refused, err, "%s has just ended; there is nothing to %s", id, what)
	}
	if err != nil {
		return Pausing{}, fail(ctx, id, doing+id, err)
	}
	return Pausing{Execution: target, Changed: reply.Changed}, nil
}
