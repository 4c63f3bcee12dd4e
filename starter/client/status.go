package client

import (
	"context"

	"everstep/domain"
)

// Status says what an agent is doing now. The workflow is asked and described
// at once; where no worker answers within 2 s, what the server knows is told
// instead, and Source says so: step count, status, what is pending. Usage,
// budget and signals are then zero unless the execution has ended.
func (c *Client) Status(ctx context.Context, id string) (domain.StatusView, error) { panic("soon") }
