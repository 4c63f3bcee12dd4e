package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/process"
)

// listening sees that an agent may take a message, in whatever it does.
func (c *Client) listening(ctx context.Context, a agent) error {
	s, err := c.describe(ctx, a.called())
	if err != nil || s.open() {
		return err
	}
	return ended(a.called(), nil)
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
	a, err := agentOf(id)
	if err != nil {
		return Unsent{}, err
	}
	if err := c.listening(ctx, a); err != nil {
		return Unsent{}, err
	}
	var request contract.UnsendRequest
	if message != "" && request.MessageID.UnmarshalText([]byte(message)) != nil {
		status, err := c.Status(ctx, id)
		if err != nil {
			return Unsent{}, err
		}
		if request.MessageID, err = waitingOf(status.Unread, message); err != nil {
			return Unsent{}, err
		}
	}
	reply, err := update(ctx, c, a, "", contract.UpdateUnsend, request)
	return Unsent{id, reply}, fail(ctx, id, "taking a message of "+id+" back", err)
}

// waitingOf finds a message by the beginning of its id.
func waitingOf(waiting []contract.WaitingView, message string) (id domain.MessageID, _ error) {
	if err := checkBeginning("message", message); err != nil {
		return id, err
	}
	var ids []string
	found := 0
	for _, w := range waiting {
		ids = append(ids, w.ID.String())
		if strings.HasPrefix(w.ID.String(), strings.ToLower(message)) {
			found++
			id = w.ID
		}
	}
	switch {
	case found == 1:
		return id, nil
	case len(ids) == 0:
		return id, errorf(Refused, nil, "message: none waits; what was read cannot be taken back")
	case found == 0:
		return id, errorf(Refused, nil, "message: %q is none of those that wait: %s", domain.Shorten(message, 64), strings.Join(ids, ", "))
	}
	return id, errorf(Refused, nil, "message: %q may be any of %d; give more of it: %s", domain.Shorten(message, 64), found, strings.Join(ids, ", "))
}

// Reads waits until a message that Send has left waiting is read, and returns the execution that reads it: the one in
// progress or, where it was queued or that one has stopped, a later one. It is refused where the message was taken back,
// or is never read. It needs a worker.
func (c *Client) Reads(ctx context.Context, sent Execution) (Execution, error) {
	if sent.Waits.IsZero() {
		return sent, nil
	}
	for number := sent.Number; ; {
		for event, err := range c.Events(ctx, sent.ID, FollowOptions{Number: number}) {
			if err != nil && !errors.Is(err, &Error{Class: Gone}) {
				return Execution{}, err
			}
			if read, ok := event.Data.(domain.MessageReceived); ok && read.MessageID == sent.Waits {
				return c.begun(ctx, sent.ID, number)
			}
		}
		status, err := c.Status(ctx, sent.ID)
		switch {
		case err != nil:
			return Execution{}, err
		case status.Number > number:
			number++
		case !status.Open || !slices.ContainsFunc(status.Unread, func(w contract.WaitingView) bool { return w.ID == sent.Waits }):
			return Execution{}, errorf(Refused, nil, "message %s was not read: it was taken back, or %s has ended before", sent.Waits, sent.ID)
		default:
			if err := process.Pause(ctx, askAgain); err != nil {
				return Execution{}, fail(ctx, sent.ID, "waiting for a message of "+sent.ID+" to be read", err)
			}
		}
	}
}

// begun is an execution of which a worker has told that it began. While the one before is recorded, a worker that replays
// tells so before the server's history does: it is waited for.
func (c *Client) begun(ctx context.Context, id string, number int) (Execution, error) {
	for {
		p, err := c.locate(ctx, id)
		if err != nil {
			return Execution{}, err
		}
		if p.number >= number {
			t, err := c.target(ctx, id, number)
			return t.execution(number), err
		}
		if err := process.Pause(ctx, askAgain); err != nil {
			return Execution{}, fail(ctx, id, fmt.Sprintf("waiting for execution %d of %s", number, id), err)
		}
	}
}
