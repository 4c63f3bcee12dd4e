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
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

// SendOptions are what an idle session is sent.
type SendOptions struct {
	Prompt string
	// Model, where given, replaces the session's from this execution on.
	Model *domain.LLMConfig
	// Budget caps the definition's for the execution that the message begins.
	Budget domain.ExecutionBudget
}

// Send gives a named agent a message, which begins its next execution. It is
// refused while one is in progress, after the session was closed, and by agents
// without a name, which take one prompt. It needs a worker: where none is up
// Config.Progress is told after 5 s, and Send keeps trying until ctx ends.
func (c *Client) Send(ctx context.Context, id string, o SendOptions) (Execution, error) {
	a, err := agentOf(id)
	if err != nil {
		return Execution{}, err
	}
	request := contract.SendRequest{Prompt: o.Prompt, IfIdle: true, Model: o.Model, Budget: o.Budget}
	if err := checkSend(request, time.Now()); err != nil {
		return Execution{}, invalid(err)
	}
	s, err := c.session(ctx, a, "takes one prompt; start another agent, or one with a name to speak to it again")
	if err != nil {
		return Execution{}, err
	}
	reply, err := update(ctx, c, s.workflowID(), contract.UpdateSend, request)
	if errors.Is(err, errClosed) {
		return Execution{}, ended(id, err)
	}
	if err != nil {
		return Execution{}, fail(ctx, id, "sending to "+id, err)
	}
	return a.begun(reply), nil
}

// Close ends an idle session. It is refused while an execution is in progress.
// It needs a worker, as Send does. It returns how many executions the session
// had.
func (c *Client) Close(ctx context.Context, id string) (int, error) {
	a, err := agentOf(id)
	if err != nil {
		return 0, err
	}
	s, err := c.session(ctx, a, "has no session to close: it ends by itself, or by `stop`")
	if err != nil {
		return 0, err
	}
	reply, err := update(ctx, c, s.workflowID(), contract.UpdateClose, contract.CloseRequest{})
	if errors.Is(err, errClosed) {
		return 0, ended(id, err)
	}
	if err != nil {
		return 0, fail(ctx, id, "closing "+id, err)
	}
	return reply.Executions, nil
}

// session finds the open session of a named agent. why says what an agent
// without a name does instead.
func (c *Client) session(ctx context.Context, a agent, why string) (snapshot, error) {
	s, err := c.describe(ctx, a.called())
	switch {
	case err != nil:
		return snapshot{}, err
	case a.name == "":
		return snapshot{}, errorf(Refused, nil, "agent %s has no name and %s", a.called(), why)
	case !s.open():
		return snapshot{}, ended(a.called(), nil)
	}
	return s, c.idle(ctx, a, s)
}

// idle refuses where the history says that an execution is in progress. The
// workflow would refuse too, but only once a worker is up.
func (c *Client) idle(ctx context.Context, a agent, s snapshot) error {
	p, err := c.position(ctx, s)
	if err != nil {
		return fail(ctx, a.called(), "reading the history of "+a.called(), err)
	}
	if p.ended != nil {
		return nil
	}
	return errorf(Refused, nil, "%s: execution %d is in progress; wait for it with `result %s`, or stop it", a.called(), p.number, a.called())
}

// ended is the error for a session that is over.
func ended(id string, cause error) *Error {
	return errorf(Refused, cause, "the session of %s has ended; `run --id %s` begins a new one", id, id)
}

// begun names the execution that a message began.
func (a agent) begun(reply contract.SendReply) Execution {
	return Execution{
		AgentID: a.id, ID: a.called(), Name: a.name, ExecutionID: reply.ExecutionID, Number: reply.Number,
		WorkflowID: a.workflowID(), RunID: reply.RunID,
	}
}

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
func update[In, Out any](ctx context.Context, c *Client, workflowID string, name contract.Update[In, Out], in In) (Out, error) {
	return updateAs(ctx, c, workflowID, uuid.NewString(), name, in)
}

// updateAs is update with an id that the caller has chosen.
func updateAs[In, Out any](ctx context.Context, c *Client, workflowID, id string, name contract.Update[In, Out], in In) (Out, error) {
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
func attempt[In, Out any](ctx context.Context, c *Client, workflowID, id string, name contract.Update[In, Out], in In) (Out, error) {
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
