package client

import (
	"context"
	"iter"
)

// FollowOptions choose what Follow shows. The zero value shows the newest
// execution from its beginning to its end.
type FollowOptions struct {
	// Number is the execution to show from its beginning to its end. Zero: the
	// newest.
	Number int
	// FromNow leaves out what has happened already and goes on over the ends of
	// executions until the workflow itself ends. Number has no effect then.
	FromNow bool
}

// Follow yields what happens to an agent as it happens. It can be begun at any
// time and by any number of callers, and costs the workflow nothing. It needs
// no worker. Where the server goes away it says so, and goes on when the server
// is back. It ends after EventEnded, or EventClosed with FromNow; an error ends
// it early. Breaking out of the loop leaves the execution as it is.
func (c *Client) Follow(ctx context.Context, id string, o FollowOptions) iter.Seq2[Event, error] {
	panic("soon")
}
