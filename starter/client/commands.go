package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// ask has an agent do what takes no more than a request. It needs a worker, as Send does.
func ask[In, Out any](ctx context.Context, c *Client, id string, command contract.Update[In, Out], in In) (s snapshot, reply Out, err error) {
	if err := contract.CheckForm(in); err != nil {
		return s, reply, invalid(err)
	}
	if s, err = c.needing(ctx, id, string(command), command.Needs()); err == nil {
		reply, err = tell(ctx, c, s, "", command, in)
	}
	return s, reply, err
}

// needing is the agent, unless a command needs another than it is by the server's memo. The workflow would refuse too, but only
// once a worker is up.
func (c *Client) needing(ctx context.Context, id, command string, need contract.Need) (snapshot, error) {
	s, err := c.describe(ctx, id)
	if err != nil {
		return s, err
	}
	if refused := s.check(command, need); refused != nil {
		return s, refused
	}
	return s, nil
}

// check is the refusal of a command that needs another agent; nil: there is none.
func (s snapshot) check(command string, need contract.Need) *Error {
	err := need.Check(command, contract.Availability{
		ID: s.called(), Named: s.name != "", Open: s.open(), Number: s.number, Busy: s.ended == nil, InProgress: s.ended == nil,
	})
	if err == nil {
		return nil
	}
	refused := ofDomain(domain.AsError(err))
	switch {
	case s.open() && s.name == "" && slices.Contains([]string{string(contract.UpdateClose), string(contract.UpdateSuspend)}, command):
		return refused.next("`stop %s` ends its execution, and `pause %s` holds it", s.called(), s.called())
	case s.open() && s.name == "":
		return refused.next("`fork %s` begins another agent from a step of its past", s.called())
	case s.open() && s.ended == nil:
		return refused.next("`result %s` waits for it", s.called())
	case s.open():
		return refused.next("`close %s` ends the session, `suspend %s` has it accept nothing", s.called(), s.called())
	case s.name == "" && s.ended != nil && s.ended.Status == domain.StatusCompleted:
		return refused.next("`run` starts another agent")
	case s.name == "":
		return refused.next("`extend %s` goes on where it was stopped or failed", s.called())
	}
	return refused.next("`run --id %s` begins a new one", s.name)
}

// tell sends a command to an agent, under an id or one of its own, and waits for the answer.
func tell[In, Out any](ctx context.Context, c *Client, s snapshot, id string, command contract.Update[In, Out], in In) (Out, error) {
	reply, err := update(ctx, c, s.agent, id, command, in)
	if errors.Is(err, errClosed) {
		return reply, errorf(Refused, err, "%s has just ended; there is nothing to %s", s.called(), command)
	}
	return reply, s.fail(ctx, string(command), err)
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
	return c.pausing(ctx, id, contract.UpdatePause)
}

// Resume ends a pause. It is refused where no execution is in progress. It
// needs a worker, as Send does.
func (c *Client) Resume(ctx context.Context, id string) (Pausing, error) {
	return c.pausing(ctx, id, contract.UpdateResume)
}

func (c *Client) pausing(ctx context.Context, id string, command contract.Update[contract.PauseRequest, contract.PauseReply]) (Pausing, error) {
	s, err := c.needing(ctx, id, string(command), command.Needs())
	if err != nil {
		return Pausing{}, err
	}
	reply, err := tell(ctx, c, s, "", command, contract.PauseRequest{ExecutionID: s.executionID(s.number)})
	return Pausing{s.execution(s.number), reply.Changed}, err
}

// SuspendOptions say why a session is suspended, as whoever is refused is told, and by whom, by their own word; empty: the process,
// as Config.By names it.
type SuspendOptions = contract.SuspendRequest

// A Suspending says what has become of a request to suspend a session, or to end that.
type Suspending struct {
	ID string `json:"id"`
	contract.SuspendReply
}

// Suspend has the session of a named agent accept nothing until Unsuspend: no message, and no going on. The execution in
// progress comes to its end, and what waits begins none. It is refused by agents without a name and sessions that are
// closed. It needs a worker, as Send does.
func (c *Client) Suspend(ctx context.Context, id string, o SuspendOptions) (Suspending, error) {
	o.By = c.speaker(o.By)
	_, reply, err := ask(ctx, c, id, contract.UpdateSuspend, o)
	return Suspending{id, reply}, err
}

// Unsuspend ends that. It needs a worker, as Send does.
func (c *Client) Unsuspend(ctx context.Context, id string) (Suspending, error) {
	_, reply, err := ask(ctx, c, id, contract.UpdateUnsuspend, contract.UnsuspendRequest{})
	return Suspending{id, reply}, err
}

// A Cleared says how many messages of a session the model sees no more. Those that a rewind has taken back it did not see
// before either.
type Cleared struct {
	ID string `json:"id"`
	contract.ClearReply
}

// Clear rewinds an idle session to before all messages, those that were given too: its next execution begins with its message
// alone. A rewind takes it back. All stays readable, and so does what the session is and has done: calls of unknown outcome, standing approvals,
// trusted values, notes of tools, counts. It is refused while an execution is in progress. It needs a worker, as Send does.
func (c *Client) Clear(ctx context.Context, id string) (Cleared, error) {
	_, reply, err := ask(ctx, c, id, contract.UpdateClear, contract.ClearRequest{})
	return Cleared{id, reply}, err
}

// Close ends an idle session, and returns how many executions it had. It is refused while one
// is in progress. It needs a worker, as Send does. It waits until the name is free for another session, for 20 s at most.
func (c *Client) Close(ctx context.Context, id string) (int, error) {
	s, reply, err := ask(ctx, c, id, contract.UpdateClose, contract.CloseRequest{})
	if err == nil {
		defer time.AfterFunc(time.Second, func() {
			c.cfg.Progress(s.called() + " is closed, and ends its sessions with MCP servers")
		}).Stop()
		// There is room for a session that ends its own sessions with MCP servers, of which some worker may be gone.
		_ = c.closedWithin(ctx, s, 20*time.Second) // it is closed all the same
	}
	return reply.Executions, err
}

// RevokeOptions say which standing approval is taken back, as Status tells it, by whom and why. By is their own word; empty: the
// process, as Config.By names it.
type RevokeOptions = contract.RevokeRequest

// A Revoked says which standing approval was taken back.
type Revoked struct {
	ID       string                  `json:"id"`
	Standing domain.StandingApproval `json:"standing_approval"`
}

// Revoke takes a standing approval of a session back: from now on people are asked again about the calls that it let run.
// One that has begun goes on. It is refused where the agent has ended, and where there is none, or it was taken back
// before. It needs a worker, as Send does.
func (c *Client) Revoke(ctx context.Context, id string, o RevokeOptions) (Revoked, error) {
	o.By = c.speaker(o.By)
	_, reply, err := ask(ctx, c, id, contract.UpdateRevoke, o)
	return Revoked{id, reply.Standing}, err
}

// UpdateOptions are another definition for an open session: the whole, or the fields of it that are named. By is who asks for it,
// by their own word; empty: the process, as Config.By names it. The reason is recorded.
type UpdateOptions = contract.UpdateRequest

// An Updated says what of a session is another, and from which execution on.
type Updated struct {
	ID string `json:"id"`
	contract.Change
}

// Update gives an open session another definition, from its next execution on: one in progress goes on as it began. Who
// has done so, when and why is recorded. It is refused by agents without a name and sessions that have ended; what the
// workers make of it shows when the execution begins. It needs a worker, as Send does.
func (c *Client) Update(ctx context.Context, id string, o UpdateOptions) (Updated, error) {
	if err := o.Definition.Budget.CheckDeadline(time.Now()); err != nil {
		return Updated{}, invalid(err)
	}
	o.By = c.speaker(o.By)
	_, reply, err := ask(ctx, c, id, contract.UpdateDefinition, o)
	return Updated{id, reply}, err
}

// An Unsent says which message was taken back.
type Unsent struct {
	ID string `json:"id"`
	contract.UnsendReply
}

// Unsend takes a message back that waits. message is its id, or as much of its beginning as no other has that waits;
// empty: the one that waits alone. It is refused where none waits, and where the message was read. Status tells which
// wait. It needs a worker, as Send does.
func (c *Client) Unsend(ctx context.Context, id, message string) (Unsent, error) {
	_, reply, err := ask(ctx, c, id, contract.UpdateUnsend, contract.UnsendRequest{MessageID: message})
	return Unsent{id, reply}, err
}
