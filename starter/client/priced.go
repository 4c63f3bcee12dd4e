package client

import (
	"context"
	"errors"
	"math"

	"everstep/domain"
)

// Priced reports whether what an execution costs is known: without a price of
// the model all its costs are zero. Number zero is the newest. For one that is
// in progress it needs a worker.
func (c *Client) Priced(ctx context.Context, id string, number int) (bool, error) {
	p, number, err := c.locateExecution(ctx, id, number)
	if err != nil {
		return false, err
	}
	outcome, err := c.outcome(ctx, p, number)
	switch {
	case err == nil:
		return outcome.Priced || outcome.CostNanoUSD > 0, nil
	case !errors.Is(err, errUnfinished):
		return false, fail(ctx, id, "reading the history of "+id, err)
	}
	page, err := read(ctx, c, p.snapshot, p.runID(), domain.QuerySteps, domain.StepsRequest{Number: number, From: math.MaxInt32})
	if err != nil {
		return false, readFailure(ctx, id, "reading the steps of "+id, err)
	}
	return page.Priced, nil
}
