package client

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"

	"everstep/domain"
	"everstep/starter/client/internal/history"
)

const (
	// updateTry is how long one attempt of an update waits. The server keeps
	// nothing of an update that no worker has accepted.
	updateTry = 5 * time.Second
	// updateAway is for how long the server may be away before an update gives up.
	updateAway = 10 * time.Second
)

// errClosed says that the workflow of an update has ended.
var errClosed = errors.New("the workflow has ended")

// update asks an agent's workflow for a change and waits for its answer, for as
// long as ctx lasts: no worker may be up. The update's id stays the same, so it
// is done once however often it is sent. errClosed says that the workflow has
// ended, or never was.
func update[In, Out any](ctx context.Context, c *Client, workflowID string, name domain.Update[In, Out], in In) (Out, error) {
	return updateAs(ctx, c, workflowID, uuid.NewString(), name, in)
}

// updateAs is update with an id that the caller has chosen.
func updateAs[In, Out any](ctx context.Context, c *Client, workflowID, id string, name domain.Update[In, Out], in In) (Out, error) {
	told := false
	var gone time.Time // since when the server has been away
	for {
		out, err := attempt(ctx, c, workflowID, id, name, in)
		switch {
		case err == nil:
			return out, nil
		case ctx.Err() != nil:
			return out, ctx.Err()
		case closedUpdate(err):
			return out, errClosed
		case isAs[*sdk.WorkflowUpdateServiceTimeoutOrCanceledError](err):
			gone = time.Time{}
			if err := c.reachable(ctx, workflowID); err != nil {
				return out, err
			}
			if !told {
				c.cfg.Progress("no worker has answered for 5 s; the message waits until one is up")
				told = true
			}
		case history.Away(err):
			if gone.IsZero() {
				gone = time.Now()
			}
			if time.Since(gone) > updateAway || !history.Pause(ctx, 200*time.Millisecond) {
				return out, err
			}
		default:
			return out, err
		}
	}
}

// attempt sends an update once.
func attempt[In, Out any](ctx context.Context, c *Client, workflowID, id string, name domain.Update[In, Out], in In) (Out, error) {
	var out Out
	call, cancel := context.WithTimeout(ctx, updateTry)
	defer cancel()
	handle, err := c.temporal.UpdateWorkflow(call, sdk.UpdateWorkflowOptions{
		UpdateID: id, WorkflowID: workflowID, UpdateName: string(name), Args: []any{in},
		WaitForStage: sdk.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return out, err
	}
	return out, handle.Get(call, &out)
}

// reachable tells a server that is away from a worker that is.
func (c *Client) reachable(ctx context.Context, workflowID string) error {
	call, cancel := context.WithTimeout(ctx, updateTry)
	defer cancel()
	_, err := c.temporal.DescribeWorkflowExecution(call, workflowID, "")
	return err
}

// closedUpdate reports whether an update met a workflow that has ended, was
// ending, or never was.
func closedUpdate(err error) bool {
	if serviceerror.ToStatus(err).Code() == codes.NotFound {
		return true
	}
	refusal, ok := applicationType(err)
	return ok && refusal == "AcceptedUpdateCompletedWorkflow"
}
