package client

import (
	"context"
	"errors"
	"iter"
	"math"

	"go.temporal.io/api/serviceerror"

	"everstep/domain"
	"everstep/domain/contract"
)

// Steps yields the completed steps of an execution in order, joined over the
// runs of the workflow. Number zero is the newest. Where earlier steps can no
// longer be read it first yields an error of class Gone that says which, and
// then what there is; any other error ends the sequence. It needs a worker.
func (c *Client) Steps(ctx context.Context, id string, number int) iter.Seq2[domain.StepExecution, error] {
	return func(yield func(domain.StepExecution, error) bool) {
		if err := c.steps(ctx, id, number, yield); err != nil {
			yield(domain.StepExecution{}, readFailure(ctx, id, "reading the steps of "+id, err))
		}
	}
}

func (c *Client) steps(ctx context.Context, id string, number int, yield func(domain.StepExecution, error) bool) error {
	p, number, err := c.locateExecution(ctx, id, number)
	if err != nil {
		return err
	}
	parts, held, err := c.parts(ctx, p.snapshot, 1, func(runID string) (holding, error) {
		page, err := read(ctx, c, p.snapshot, runID, contract.QuerySteps, contract.StepsRequest{Number: number, From: math.MaxInt32})
		if err != nil {
			return holding{}, unheld(err, number < p.number)
		}
		h := holding{part: part{runID: runID}, held: page.Number == number && page.ExecutionID == p.executionID(number)}
		if page.First > 0 {
			h.first, h.end = page.First, math.MaxInt32
		}
		return h, nil
	})
	switch {
	case err != nil:
		return err
	case !held:
		return gone("the steps of execution %d of %s have left the runs that can still be asked", number, id)
	}
	next := 1
	for _, part := range parts {
		if part.first > next && !yield(domain.StepExecution{}, gone("steps %d to %d can no longer be read", next, part.first-1)) {
			return nil
		}
		next = part.first
		if more, err := c.stepsOf(ctx, p.snapshot, number, part, &next, yield); err != nil || !more {
			return err
		}
	}
	return nil
}

// stepsOf yields the steps that one run holds, by pages, and moves next on. It
// reports false where the caller wants no more.
func (c *Client) stepsOf(ctx context.Context, s snapshot, number int, of part, next *int, yield func(domain.StepExecution, error) bool) (bool, error) {
	for from := of.first; from > 0 && from < of.end; {
		page, err := read(ctx, c, s, of.runID, contract.QuerySteps, contract.StepsRequest{Number: number, From: from})
		if err != nil {
			return false, err
		}
		for _, step := range page.Steps {
			if step.Step.Number < *next || step.Step.Number >= of.end {
				continue
			}
			*next = step.Step.Number + 1
			if !yield(step, nil) {
				return false, nil
			}
		}
		if page.Next <= from {
			return true, nil
		}
		from = page.Next
	}
	return true, nil
}

// unheld turns the refusal of a run to tell of an execution into not holding
// it, where that may be the reason.
func unheld(err error, earlier bool) error {
	if earlier && isAs[*serviceerror.QueryFailed](err) {
		return nil
	}
	return err
}

// readFailure is fail for what only a worker can tell.
func readFailure(ctx context.Context, id, doing string, err error) error {
	if errors.Is(err, errNoWorker) && ctx.Err() == nil {
		return noWorker(id, err)
	}
	return fail(ctx, id, doing, err)
}

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
		page, err := read(ctx, c, s, runID, contract.QueryMessages, contract.MessagesRequest{Limit: 1})
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
		page, err := read(ctx, c, s, of.runID, contract.QueryMessages, contract.MessagesRequest{From: *next})
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

// entries yields what one run holds of the transcript from an index on, by
// pages, to the end that it had when it was first asked. An error ends it.
func (c *Client) entries(ctx context.Context, s snapshot, runID string, from int) iter.Seq2[domain.Entry, error] {
	return func(yield func(domain.Entry, error) bool) {
		length := -1
		for next := from; length < 0 || next < length; {
			page, err := read(ctx, c, s, runID, contract.QueryMessages, contract.MessagesRequest{From: next})
			if err != nil {
				yield(domain.Entry{}, err)
				return
			}
			if length < 0 {
				length = page.Length
			}
			before := next
			for _, entry := range page.Entries {
				if entry.Index < next || entry.Index >= length {
					continue
				}
				next = entry.Index + 1
				if !yield(entry, nil) {
					return
				}
			}
			if next == before {
				return
			}
		}
	}
}
