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
	panic("soon")
}
