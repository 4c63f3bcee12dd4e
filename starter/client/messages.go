package client

import (
	"context"
	"iter"

	"everstep/domain"
)

// Messages yields the agent's transcript over all its executions in order,
// joined over the runs of the workflow. Where a part can no longer be read it
// yields an error of class Gone that says which, and then what follows; any
// other error ends the sequence. It needs a worker.
func (c *Client) Messages(ctx context.Context, id string) iter.Seq2[domain.Entry, error] {
	return func(yield func(domain.Entry, error) bool) {
		if err := c.messages(ctx, id, yield); err != nil {
			yield(domain.Entry{}, readFailure(ctx, id, "reading the messages of "+id, err))
		}
	}
}

func (c *Client) messages(ctx context.Context, id string, yield func(domain.Entry, error) bool) error {
	s, err := c.describe(ctx, id)
	if err != nil {
		return err
	}
	length := 0
	parts, _, err := c.parts(ctx, s, 0, func(runID string) (holding, error) {
		page, err := read(ctx, c, s, runID, domain.QueryMessages, domain.MessagesRequest{Limit: 1})
		length = max(length, page.Length)
		return holding{part: part{runID, page.Base, page.Length}, held: true}, err
	})
	if err != nil {
		return err
	}
	next := 0
	for _, part := range parts {
		if part.first > next && !yield(domain.Entry{}, goneMessages(next, part.first)) {
			return nil
		}
		next = max(next, part.first)
		if more, err := c.messagesOf(ctx, s, part, &next, yield); err != nil || !more {
			return err
		}
	}
	if next < length {
		yield(domain.Entry{}, goneMessages(next, length))
	}
	return nil
}

// goneMessages says that the messages from an index up to another are gone.
func goneMessages(from, to int) *Error {
	return gone("messages %d to %d can no longer be read", from, to-1)
}

// messagesOf yields the messages that one run holds, by pages, and moves next
// on. It reports false where the caller wants no more.
func (c *Client) messagesOf(ctx context.Context, s snapshot, of part, next *int, yield func(domain.Entry, error) bool) (bool, error) {
	for *next < of.end {
		page, err := read(ctx, c, s, of.runID, domain.QueryMessages, domain.MessagesRequest{From: *next})
		if err != nil {
			return false, err
		}
		from := *next
		for _, entry := range page.Entries {
			if entry.Index < *next || entry.Index >= of.end {
				continue
			}
			if entry.Index > *next && !yield(domain.Entry{}, goneMessages(*next, entry.Index)) {
				return false, nil
			}
			*next = entry.Index + 1
			if !yield(entry, nil) {
				return false, nil
			}
		}
		if *next == from {
			return true, nil
		}
	}
	return true, nil
}
