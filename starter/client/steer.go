package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"

	"everstep/activities/command"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
	"everstep/starter/process"
)

// SendOptions are what an agent is sent.
type SendOptions struct {
	Prompt string
	// IfBusy says what becomes of the message where an execution is in progress. Empty: contract.RefuseIfBusy.
	IfBusy contract.Delivery
	// Model, where given, replaces the session's from this execution on.
	Model *domain.LLMConfig
	// Budget caps the definition's for the execution that the message begins.
	Budget domain.ExecutionBudget
	// Metadata and Messages are given to that execution, as to one of Start.
	Metadata domain.Metadata
	Messages []domain.Entry
	// Trusted are values for that execution alone, beside the session's, of which it changes none.
	Trusted domain.Trusted
	// ExecutionID, where given, is the execution in progress that the message is for: it is refused where that has ended.
	ExecutionID domain.ExecutionID
	// RequestID makes a message that is sent again under the same id one with the first; another message, or another kind
	// of request, is one of its own all the same. With it a worker alone says
	// whether the session is idle. Empty: each call stands for itself.
	RequestID string
}

// Send gives an agent a message. With an idle session it begins the next execution. While one is in progress
// SendOptions.IfBusy decides: the message is refused, or it waits, as Execution.Waits tells, to join that execution or to
// begin one of its own, which Reads waits for. What waits can have no model, budget or data of its own unless it is
// queued. It is refused after the session was closed, and by agents without a name once their execution has ended. It
// needs a worker: where none is up Config.Progress is told after 2 s, and Send keeps trying until ctx ends.
func (c *Client) Send(ctx context.Context, id string, o SendOptions) (none Execution, _ error) {
	given, err := domain.NewStartOptions(o.Metadata, o.Messages, o.Trusted)
	if err != nil {
		return none, invalid(err)
	}
	request := contract.SendRequest{
		Prompt: o.Prompt, Options: given, IfIdle: !o.IfBusy.Waits(), IfBusy: o.IfBusy, ExecutionID: o.ExecutionID, Model: o.Model, Budget: o.Budget,
	}
	if err := cmp.Or(request.Check(), request.Budget.CheckDeadline(time.Now())); err != nil {
		return none, invalid(err)
	}
	need := contract.OpenAgent
	if request.IfIdle {
		need = idleUnlessRepeated(o.RequestID)
	}
	s, err := c.needing(ctx, id, "send", need)
	if err != nil {
		return none, err
	}
	updateID := requestID(o.RequestID, contract.UpdateSend, request) // without By: it is the same message from another machine
	request.By = c.cfg.By
	execution, err := c.message(ctx, s.agent, updateID, request)
	err = s.fail(ctx, "sending to", err)
	if refused, ok := errors.AsType[*Error](err); ok && refused.Class == Refused && refused.Next == "" && s.head.Suspended {
		return none, refused.next("`unsuspend %s` has it take messages again", id)
	}
	return execution, err
}

// message sends what begins an execution.
func (c *Client) message(ctx context.Context, a agent, id string, request contract.SendRequest) (Execution, error) {
	reply, err := update(ctx, c, a, id, contract.UpdateSend, request)
	if err != nil {
		return Execution{}, err
	}
	execution := a.begun(reply.Number, reply.ExecutionID, reply.RunID)
	execution.Waits = reply.Waits
	return execution, nil
}

// idleUnlessRepeated is what begins an execution needs: of a request that may be one with an earlier one a worker alone says
// whether the session is idle.
func idleUnlessRepeated(requestID string) contract.Need {
	if requestID == "" {
		return contract.IdleSession
	}
	return contract.OpenSession
}

// OpenOn is the task queue on which an agent's workflow waits for workers; empty where it has ended, or where
// nobody can say.
func (c *Client) OpenOn(ctx context.Context, id string) string {
	s, err := c.describe(ctx, id)
	if err != nil || !s.open() {
		return ""
	}
	return s.queue()
}

// updateTry is how long one attempt of an update waits. The server promises nothing of an update that no worker has
// accepted: it may keep it for a while, or lose it.
const updateTry = 2 * time.Second

// requestID is the id under which a request goes to a workflow: empty where the caller gives none. For the server the ids
// of all kinds of requests are one space, in which whatever comes second under an id is answered as the first was, so it
// says too of which kind the request is, and what it asks for.
func requestID[In, Out any](id string, name contract.Update[In, Out], asks any) string {
	if id == "" {
		return ""
	}
	text, _ := json.Marshal(asks) // what is sent has been encoded before
	return fmt.Sprintf("%s:%s:%s", name, domain.DigestOf([]byte(id)), domain.DigestOf(text))
}

// update asks an agent's workflow for a change and waits for its answer as long as ctx lasts: no worker
// may be up. Its id stays the same, so it is done once however often it is sent. errClosed says that
// the workflow has ended, or never was.
func update[In, Out any](ctx context.Context, c *Client, a agent, id string, name contract.Update[In, Out], in In) (Out, error) {
	what, again := "request", ""
	if string(name) == string(contract.UpdateSend) {
		what, again = "message", ", and has it once if it is sent again under the same request id"
		if id == "" {
			again = ", and has another one if it is sent again without a request id"
		}
	}
	id = cmp.Or(id, uuid.NewString())
	told := ""
	tell := func(format string, args ...any) {
		if why := fmt.Sprintf(format, args...); told != why {
			told = why
			c.cfg.Progress(why)
		}
	}
	var gone time.Time // since when the server has been away
	late := 0          // attempts in which no worker has answered
	for {
		call, cancel := context.WithTimeout(ctx, updateTry)
		out, err := command.Send(call, c.temporal, a.workflowID(), id, name, in)
		cancel()
		switch {
		case err == nil:
			return out, nil
		case ctx.Err() != nil:
			return out, errorf(Cancelled, ctx.Err(), "%s: gave up waiting; a worker may still take the %s%s", a.called(), what, again).next("`status %s` tells", a.called())
		case command.Closed(err):
			return out, errClosed
		case isAs[*serviceerror.FailedPrecondition](err) && strings.Contains(err.Error(), "total number of distinct updates"): // nothing but its words tells
			return out, errorf(Refused, err, "%s: this run of its workflow has taken as many updates as the server lets it; "+
				"the next one begins after the step in progress: send the %s again then", a.called(), what).next("`stop %s` needs none", a.called())
		case isAs[*sdk.WorkflowUpdateServiceTimeoutOrCanceledError](err):
			gone = time.Time{}
			s, err := c.snapshot(ctx, a, "")
			if err != nil { // a server that is away, and no worker
				return out, err
			}
			switch late++; {
			case !c.hasWorker(ctx, s.queue()):
				tell("%s; the %s waits here until one is up; the server keeps it no longer than this command waits", c.NoWorker(s.queue()), what)
			case late > 1: // one that is busy, or whose end the server has not noticed
				tell("the worker on %s has not answered yet; the %s waits here, and the server keeps it no longer than this command waits", c.cfg.place(s.queue()), what)
			}
		case isAs[*serviceerror.WorkflowNotReady](err): // as on a machine that is too busy for the task's time-out
			gone = time.Time{}
			tell("the agent's workflow tasks fail; the %s waits until one succeeds, the agent's status may say why", what)
			_ = process.Pause(ctx, askAgain) // the next attempt tells that ctx has ended
		case history.Away(err):
			if gone.IsZero() {
				gone = time.Now()
			}
			if time.Since(gone) > 10*time.Second || process.Pause(ctx, askAgain) != nil { // for so long it may be away
				return out, err
			}
		default:
			return out, err
		}
	}
}

// StopOptions say how an execution is to stop, by the mode, after what time at once, and the reason for whoever reads the outcome.
// Which execution, and who asks, Stop says itself.
type StopOptions = contract.StopRequest

// Stop asks the execution in progress to stop, and returns which one that is.
// It does not wait for the end. It is refused where none is in progress. It
// needs no worker: the request waits for one.
func (c *Client) Stop(ctx context.Context, id string, o StopOptions) (none Execution, _ error) {
	if err := o.Check(); err != nil {
		return none, invalid(err)
	}
	p, err := c.needing(ctx, id, "stop", contract.InProgress)
	if err != nil {
		return none, err
	}
	o.ExecutionID, o.Source = p.executionID(p.number), ""
	call, cancel := context.WithTimeout(ctx, history.CallTimeout)
	defer cancel()
	err = c.temporal.SignalWorkflow(call, p.workflowID(), "", string(contract.SignalStop), o)
	if deleted(err) {
		return none, errorf(Refused, err, "%s has just ended; there is nothing to stop", id)
	}
	if err != nil {
		return none, p.fail(ctx, "stopping", err)
	}
	return p.execution(p.number), nil
}

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
