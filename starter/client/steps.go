package client

import (
	"context"
	"errors"
	"iter"
	"math"

	"go.temporal.io/api/serviceerror"

	"everstep/domain"
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
		page, err := read(ctx, c, p.snapshot, runID, domain.QuerySteps, domain.StepsRequest{Number: number, From: math.MaxInt32})
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
		page, err := read(ctx, c, s, of.runID, domain.QuerySteps, domain.StepsRequest{Number: number, From: from})
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
