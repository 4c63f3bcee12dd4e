package client

import (
	"context"

	"everstep/domain/contract"
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
		if err == nil {
			var next string
			if next, err = c.following(ctx, a, first, runID, ended); err == nil && next == "" {
				return ended, nil
			}
			runID = next
		}
		if err != nil {
			err = goneIfDeleted(err, "run %s of %s has been deleted", runID, a.called())
			return ended, a.fail(ctx, "waiting for the end of", err)
		}
	}
}

// following is the run that goes on from one, also after a reset; empty: none does.
func (c *Client) following(ctx context.Context, a agent, first, runID string, ended history.RunEnded) (string, error) {
	if ended.How != contract.RunTerminated {
		return ended.Next, nil
	}
	now, err := c.snapshot(ctx, a, "")
	if err != nil || now.firstRunID() != first || now.runID() == runID {
		return "", err
	}
	return now.runID(), nil
}

// connection tells that the server is away, and why; nil: that it is back.
func (c *Client) connection(away error) {
	if away != nil {
		c.cfg.Progress("the server does not answer; waiting for it to come back")
		return
	}
	c.cfg.Progress("the server is back")
}
