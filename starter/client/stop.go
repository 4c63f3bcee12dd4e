package client

import (
	"context"
	"time"

	"everstep/domain"
)

// StopOptions say how an execution is to stop.
type StopOptions struct {
	// Mode says how much may still finish. Empty: domain.AfterStep.
	Mode domain.StopMode
	// Within escalates to domain.StopNow after a time. Zero: never.
	Within time.Duration
	// Reason is for whoever reads the outcome.
	Reason string
}

// Stop asks the execution in progress to stop, and returns which one that is.
// It does not wait for the end. It is refused where none is in progress. It
// needs no worker: the request waits for one.
func (c *Client) Stop(ctx context.Context, id string, o StopOptions) (Execution, error) {
	panic("soon")
}
