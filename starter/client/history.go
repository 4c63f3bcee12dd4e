package client

import (
	"context"

	"everstep/starter/client/internal/history"
)

func (c *Client) reader(a agent) history.Reader {
	return history.Reader{
		Service: c.temporal.WorkflowService(), Converter: c.cfg.Converter, Namespace: c.cfg.Namespace, Workflow: a.workflowID(),
	}
}

// previous is the run that one goes on from, that of an earlier workflow too.
func (c *Client) previous(ctx context.Context, a agent, runID string) (string, error) {
	began, err := c.reader(a).First(ctx, runID)
	return began.Previous(), err
}

// untilClosed waits until a run and those that go on from it have ended, and says how the last one did.
func (c *Client) untilClosed(ctx context.Context, a agent, first, runID string) (history.RunEnded, error) {
	for {
		ended, err := c.reader(a).Closed(ctx, runID, c.connection)
		next := ended.Next
		if err == nil && ended.Terminated { // as by a reset, after which another run goes on
			var now snapshot
			if now, err = c.snapshot(ctx, a, ""); err == nil && now.firstRunID() == first && now.runID() != runID {
				next = now.runID()
			}
		}
		if err != nil || next == "" {
			err = goneIfDeleted(err, "run %s of %s has been deleted", runID, a.called())
			return ended, a.fail(ctx, "waiting for the end of", err)
		}
		runID = next
	}
}

// connection tells that the server is away, and why; nil: that it is back.
func (c *Client) connection(away error) {
	if away != nil {
		c.cfg.Progress("the server does not answer; waiting for it to come back")
		return
	}
	c.cfg.Progress("the server is back")
}
