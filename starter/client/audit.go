package client

import (
	"context"
	"errors"

	"everstep/domain"
)

// Audit holds what history alone tells of an execution against what the
// execution itself has kept, and says each difference in words: there is none,
// unless the worker and this program are of different versions. Number zero is
// the newest. The execution has to have ended. It needs a worker.
func (c *Client) Audit(ctx context.Context, id string, number int) ([]string, error) {
	p, number, err := c.locateExecution(ctx, id, number)
	if err != nil {
		return nil, err
	}
	outcome, err := c.outcome(ctx, p, number)
	if errors.Is(err, errUnfinished) {
		return nil, errorf(Refused, err, "execution %d of %s is in progress; audit it when it has ended", number, id)
	}
	if err != nil {
		return nil, fail(ctx, id, "reading the history of "+id, err)
	}
	e := explanation{position: p, number: number, want: outcome.ExecutionID, outcome: &outcome}
	if err := c.readHistory(ctx, &e); err != nil {
		return nil, fail(ctx, id, "reading the history of "+id, err)
	}
	var kept []domain.StepExecution
	for step, err := range c.Steps(ctx, id, number) {
		if err != nil {
			return nil, err
		}
		kept = append(kept, step)
	}
	return append(e.missing, e.at.Compare(e.then.Hooks, kept)...), nil
}
