package client

import (
	"context"
	"errors"

	"everstep/activities/record"
	"everstep/domain"
)

// An Export is what was taken of an agent.
type Export struct {
	Records []record.Record
	// InProgress is the number of an execution that has not ended, and is left out; zero: there is none.
	InProgress int
	// Gone says, a sentence each, what neither the records nor the server have.
	Gone []string
}

// Export takes the executions of an agent that have ended, with their steps and messages: from the records where those are
// whole, else from the server, else from what the records have. Number zero is all of them, and where a rewind or a clear has
// moved the session to since. What neither has stands in Gone, and one in progress in InProgress. It is an error only where
// nothing is left to export, or where reading the server fails. The function record.Write writes the records.
func (c *Client) Export(ctx context.Context, id string, number int) (x Export, _ error) {
	_, kept, err := c.keptSession(ctx, id)
	unread := fail(ctx, id, "reading the records of "+id, err)
	if unread != nil && len(kept) == 0 {
		return x, unread
	}
	byID := map[domain.ExecutionID]record.Record{}
	for _, r := range kept {
		byID[r.ExecutionID] = r
	}
	taken := map[domain.ExecutionID]bool{}
	take := func(r record.Record) {
		if !taken[r.ExecutionID] && (number == 0 || number == r.Number) {
			taken[r.ExecutionID], x.Records = true, append(x.Records, r)
			if len(r.Missing) > 0 {
				x.Gone = append(x.Gone, gone("of execution %d of %s can no longer be read: %s", r.Number, id, r.Lacks()).Error())
			}
		}
	}
	for past, err := range c.Executions(ctx, id) {
		switch {
		case errors.Is(err, &Error{Class: Gone}):
			if number == 0 {
				x.Gone = append(x.Gone, err.Error())
			}
			continue
		case err != nil:
			return x, err
		case number > 0 && past.Number != number:
			continue
		case !past.Status.Terminal():
			x.InProgress = past.Number
			continue
		}
		if r, ok := byID[past.ExecutionID]; ok && len(r.Missing) == 0 {
			take(r)
			continue
		}
		a, _ := agentOf(id) // it was listed
		r, err := c.Histories(id).Get(ctx, record.Ref{AgentID: a.id, ExecutionID: past.ExecutionID, Number: past.Number})
		if before, ok := byID[past.ExecutionID]; err != nil && ok {
			r, err = before, nil
		}
		if errors.Is(err, record.ErrNone) {
			x.Gone = append(x.Gone, gone("execution %d of %s has ended, and nobody can tell its steps any more", past.Number, id).Error())
			continue
		}
		if err != nil {
			return x, err
		}
		take(r)
	}
	if len(x.Records) > 0 {
		if number == 0 && x.InProgress == 0 && unread == nil {
			c.exportPosition(ctx, id, &x)
		}
		return x, nil
	}
	switch {
	case x.InProgress > 0:
		return x, errorf(Refused, nil, "execution %d of %s is in progress; export it when it has ended", x.InProgress, id)
	case number > 0 && unread != nil:
		return x, unread
	case number > 0:
		return x, errorf(NotFound, nil, "execution: nothing is left of execution %d of %s, or it never was", number, id)
	case len(x.Gone) > 0:
		return x, gone("%s", x.Gone[0])
	}
	return x, errorf(NotFound, nil, "%s has had no execution that could be exported", id)
}

// exportPosition puts where a session was moved to since its newest execution behind that.
func (c *Client) exportPosition(ctx context.Context, id string, x *Export) {
	newest := &x.Records[len(x.Records)-1]
	if newest.Name == "" { // an agent without a name is not moved
		return
	}
	told, err := c.Account(ctx, id)
	if err != nil {
		x.Gone = append(x.Gone, err.Error())
		return
	}
	if moved := told.Head.Position.Moved; moved == nil || moved.After != newest.Number {
		return
	}
	position, err := record.PositionOf(*told.Head)
	if err == nil && position.After() == newest.Ref() {
		newest.Moved = &position
	}
}
