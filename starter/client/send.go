package client

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
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
	request := contract.SendRequest{Prompt: o.Prompt, IfIdle: true, Model: o.Model, Budget: o.Budget, By: c.cfg.By}
	if err := checkSend(request, time.Now()); err != nil {
		return Execution{}, invalid(err)
	}
	if err := c.session(ctx, a, "takes one prompt; start another agent, or one with a name to speak to it again"); err != nil {
		return Execution{}, err
	}
	reply, err := update(ctx, c, a, "", contract.UpdateSend, request)
	if err != nil {
		return Execution{}, fail(ctx, id, "sending to "+id, err)
	}
	return a.begun(reply.Number, reply.ExecutionID, reply.RunID), nil
}

func checkSend(r contract.SendRequest, now time.Time) error {
	if err := cmp.Or(domain.CheckPrompt(r.Prompt), r.Budget.Check(), r.Budget.CheckDeadline(now)); err != nil {
		return err
	}
	if r.Model != nil {
		if err := (domain.Definition{Model: *r.Model}).Check(); err != nil {
			return err
		}
	}
	return domain.CheckFits("message", r, domain.MaxPayload)
}

// Close ends an idle session, and returns how many executions it had. It is refused while one
// is in progress. It needs a worker, as Send does.
func (c *Client) Close(ctx context.Context, id string) (int, error) {
	a, err := agentOf(id)
	if err != nil {
		return 0, err
	}
	if err := c.session(ctx, a, "has no session to close: it ends by itself, or by `stop`"); err != nil {
		return 0, err
	}
	reply, err := update(ctx, c, a, "", contract.UpdateClose, contract.CloseRequest{})
	return reply.Executions, fail(ctx, id, "closing "+id, err)
}

// session sees that a named agent has an open, idle session. why says what one without a name does.
func (c *Client) session(ctx context.Context, a agent, why string) error {
	s, err := c.describe(ctx, a.called())
	switch {
	case err != nil:
		return err
	case a.name == "":
		return errorf(Refused, nil, "agent %s has no name and %s", a.called(), why)
	case !s.open():
		return ended(a.called(), nil)
	}
	return c.idle(ctx, s)
}

// idle refuses by the history. The workflow would refuse too, but only once a worker is up.
func (c *Client) idle(ctx context.Context, s snapshot) error {
	p, err := c.position(ctx, s)
	if err != nil || p.ended != nil {
		return fail(ctx, s.called(), "reading the history of "+s.called(), err)
	}
	return errorf(Refused, nil, "%s: execution %d is in progress; wait for it with `result %s`, or stop it", s.called(), p.number, s.called())
}

const (
	// updateTry is how long one attempt of an update waits. The server keeps
	// nothing of an update that no worker has accepted.
	updateTry = 5 * time.Second
	// updateAway is for how long the server may be away before an update gives up.
	updateAway = 10 * time.Second
)

// update asks an agent's workflow for a change and waits for its answer as long as ctx lasts: no worker
// may be up. Its id stays the same, so it is done once however often it is sent. errClosed says that
// the workflow has ended, or never was.
func update[In, Out any](ctx context.Context, c *Client, a agent, id string, name contract.Update[In, Out], in In) (Out, error) {
	o := sdk.UpdateWorkflowOptions{
		UpdateID: cmp.Or(id, uuid.NewString()), WorkflowID: a.workflowID(), UpdateName: string(name), Args: []any{in},
		WaitForStage: sdk.WorkflowUpdateStageCompleted,
	}
	told := ""
	tell := func(why string) {
		if told != why {
			told = why
			c.cfg.Progress(why)
		}
	}
	var gone time.Time // since when the server has been away
	for {
		out, err := attempt[Out](ctx, c, o)
		switch {
		case err == nil:
			return out, nil
		case ctx.Err() != nil:
			return out, ctx.Err()
		case closedUpdate(err):
			return out, errClosed
		case isAs[*sdk.WorkflowUpdateServiceTimeoutOrCanceledError](err):
			gone = time.Time{}
			if _, err := c.snapshot(ctx, a, ""); err != nil { // a server that is away, and no worker
				return out, err
			}
			tell("no worker has answered for 5 s; the message waits until one is up")
		case isAs[*serviceerror.WorkflowNotReady](err): // as on a machine that is too busy for the task's time-out
			gone = time.Time{}
			tell("the agent's workflow tasks fail; the message waits until one succeeds, `status` may say why")
			history.Pause(ctx, askAgain)
		case history.Away(err):
			if gone.IsZero() {
				gone = time.Now()
			}
			if time.Since(gone) > updateAway || !history.Pause(ctx, askAgain) {
				return out, err
			}
		default:
			return out, err
		}
	}
}

func attempt[Out any](ctx context.Context, c *Client, o sdk.UpdateWorkflowOptions) (out Out, err error) {
	call, cancel := context.WithTimeout(ctx, updateTry)
	defer cancel()
	handle, err := c.temporal.UpdateWorkflow(call, o)
	if err != nil {
		return out, err
	}
	err = handle.Get(call, &out)
	return out, err
}

// closedUpdate reports whether an update met a workflow that has ended, or never was.
func closedUpdate(err error) bool {
	if serviceerror.ToStatus(err).Code() == codes.NotFound {
		return true
	}
	refusal, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && refusal.Type() == "AcceptedUpdateCompletedWorkflow"
}
