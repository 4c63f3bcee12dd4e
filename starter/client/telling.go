package client

import (
	"context"
	"errors"
	"time"

	"everstep/domain"
	"everstep/starter/client/internal/history"
)

// askAgain is between two tries to reach a worker that is not there.
const askAgain = 200 * time.Millisecond

// A telling asks runs of one agent what only a worker can tell. Where it
// insists it waits for a worker, and for the server, for as long as ctx lasts.
// Else it asks again only where a server has given a busy worker up before the
// time that a reader has.
type telling struct {
	client   *Client
	snapshot snapshot
	insists  bool
	// told means that Config.Progress has been told why it takes long.
	told bool
}

// tell asks one run.
func tell[In, Out any](ctx context.Context, t *telling, runID string, query domain.Query[In, Out], in In) (Out, error) {
	until := time.Now().Add(readTimeout)
	for {
		out, err := read(ctx, t.client, t.snapshot, runID, query, in)
		missing := errors.Is(err, errNoWorker) || err != nil && history.Away(err)
		if !missing || ctx.Err() != nil || !t.insists && (history.Away(err) || time.Now().After(until)) {
			return out, err
		}
		if t.insists && !t.told {
			t.told = true
			t.client.cfg.Progress("no worker answers; waiting until one is up")
		}
		if !history.Pause(ctx, askAgain) {
			return out, ctx.Err()
		}
	}
}
