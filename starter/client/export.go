package client

import (
	"context"
	"errors"
	"strconv"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/account"
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
	kept, err := c.keptSession(ctx, id)
	unread := fail(ctx, id, "reading the records of "+id, err)
	if unread != nil && len(kept) == 0 {
		return x, unread
	}
	byID := map[domain.ExecutionID]record.Record{}
	for _, r := range kept {
		byID[r.ExecutionID] = r
	}
	for past, err := range c.Executions(ctx, id) {
		switch {
		case Is(err, Gone):
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
		r, recorded := byID[past.ExecutionID]
		if !recorded || len(r.Missing) > 0 {
			told, err := c.recordOf(ctx, id, past)
			switch {
			case err == nil:
				r = told
			case recorded:
			case errors.Is(err, record.ErrNone):
				x.Gone = append(x.Gone, gone("execution %d of %s has no record, and none can be made of what is left of it", past.Number, id).Error())
				continue
			default:
				return x, err
			}
		}
		if x.Records = append(x.Records, r); len(r.Missing) > 0 {
			x.Gone = append(x.Gone, gone("of execution %d of %s can no longer be read: %s", r.Number, id, r.Lacks()).Error())
		}
	}
	if len(x.Records) > 0 {
		if number == 0 && x.InProgress == 0 && unread == nil {
			c.exportPosition(ctx, id, &x)
		}
		return x, nil
	}
	switch {
	case x.InProgress > 0:
		return x, refused("execution %d of %s is in progress; export it when it has ended", x.InProgress, id)
	case number > 0 && unread != nil:
		return x, unread
	case number > 0:
		return x, notFound("execution: nothing is left of execution %d of %s, or it never was", number, id)
	case len(x.Gone) > 0:
		return x, gone("%s", x.Gone[0])
	}
	return x, notFound("%s has had no execution that could be exported", id)
}

// recordOf is the record of an execution that has ended, by the agent's account. It says what nobody has of it any more. Where the
// server itself has ended it there is none.
func (c *Client) recordOf(ctx context.Context, id string, past Past) (none record.Record, _ error) {
	s, all, err := c.accountWith(ctx, id, account.RequestOf(past.Number, account.Executions, account.Steps, account.Events, account.Messages, account.State))
	if err != nil {
		return none, err
	}
	if len(all.Executions) != 1 || all.Executions[0].ExecutionID != past.ExecutionID || all.Executions[0].State == nil {
		return none, record.ErrNone
	}
	if run := all.Executions[0].RunID; run != all.Head.Run.ID { // an agent without a name has other first runs
		ended, err := c.described(ctx, s.agent, run)
		if err != nil {
			return none, fail(ctx, id, "reading execution "+strconv.Itoa(past.Number)+" of "+id, goneIfDeleted(err, "run %s of %s has been deleted", run, id))
		}
		head := *all.Head
		head.Run = account.Run{WorkflowID: s.workflowID(), ID: run, First: ended.firstRunID()}
		all.Head = &head
	}
	return record.Of(all)
}

// exportPosition puts where a session was moved to since its newest execution behind that.
func (c *Client) exportPosition(ctx context.Context, id string, x *Export) {
	newest := &x.Records[len(x.Records)-1]
	if newest.Head.Name == "" { // an agent without a name is not moved
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
