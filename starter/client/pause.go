package client

import (
	"context"
	"errors"

	"everstep/domain/contract"
)

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
	return c.pausing(ctx, id, contract.UpdatePause, "pause", "pausing")
}

// Resume ends a pause. It is refused where no execution is in progress. It
// needs a worker, as Send does.
func (c *Client) Resume(ctx context.Context, id string) (Pausing, error) {
	return c.pausing(ctx, id, contract.UpdateResume, "resume", "resuming")
}

func (c *Client) pausing(ctx context.Context, id string, name contract.Update[contract.PauseRequest, contract.PauseReply], what, doing string) (none Pausing, _ error) {
	p, err := c.describe(ctx, id)
	if err != nil {
		return none, err
	}
	if p.ended != nil {
		return none, p.nothingTo(what)
	}
	target := p.execution(p.number)
	reply, err := update(ctx, c, p.agent, "", name, contract.PauseRequest{ExecutionID: target.ExecutionID})
	if errors.Is(err, errClosed) {
		return none, errorf(Refused, err, "%s has just ended; there is nothing to %s", id, what)
	}
	if err != nil {
		return none, p.fail(ctx, doing, err)
	}
	return Pausing{Execution: target, Changed: reply.Changed}, nil
}
