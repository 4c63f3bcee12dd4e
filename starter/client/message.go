package client

import (
	"context"
	"fmt"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/process"
)

// Reads waits until a message that Send has left waiting is read, and returns the execution that reads it: the one in
// progress or, where it was queued or that one has stopped, a later one. It is refused where the message was taken back,
// or is never read. It needs a worker.
func (c *Client) Reads(ctx context.Context, sent Execution) (none Execution, _ error) {
	if sent.Waits.IsZero() {
		return sent, nil
	}
	for number := sent.Number; ; {
		for event, err := range c.Events(ctx, sent.ID, FollowOptions{Number: number}) {
			if err != nil && !Is(err, Gone) {
				return none, err
			}
			if read, ok := event.Data.(domain.MessageReceived); ok && read.MessageID == sent.Waits {
				return c.begun(ctx, sent.ID, number)
			}
		}
		status, err := c.Status(ctx, sent.ID)
		switch {
		case err != nil:
			return none, err
		case status.Number > number:
			number++
		case !status.Open || !slices.ContainsFunc(status.Unread, func(w contract.WaitingView) bool { return w.ID == sent.Waits }):
			return none, refused("message %s was not read: it was taken back, or %s has ended before", sent.Waits, sent.ID)
		default:
			if err := process.Pause(ctx, askAgain); err != nil {
				return none, fail(ctx, sent.ID, "waiting for a message of "+sent.ID+" to be read", err)
			}
		}
	}
}

// begun is an execution of which a worker has told that it began. While the one before is recorded, a worker that replays
// tells so before the server's history does: it is waited for.
func (c *Client) begun(ctx context.Context, id string, number int) (none Execution, _ error) {
	for {
		p, err := c.describe(ctx, id)
		if err != nil {
			return none, err
		}
		if p.number >= number {
			t, err := c.target(ctx, id, number)
			return t.execution(number), err
		}
		if err := process.Pause(ctx, askAgain); err != nil {
			return none, fail(ctx, id, fmt.Sprintf("waiting for execution %d of %s", number, id), err)
		}
	}
}
