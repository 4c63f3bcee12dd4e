package client

import (
	"context"
	"iter"

	"everstep/domain"
)

// Steps yields the completed steps of an execution in order, joined over the
// runs of the workflow. Number zero is the newest. Where earlier steps can no
// longer be read it first yields an error of class Gone that says which, and
// then what there is; any other error ends the sequence. It needs a worker.
func (c *Client) Steps(ctx context.Context, id string, number int) iter.Seq2[domain.StepExecution, error] {
	panic("soon")
}
