package client

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"

	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

const (
	// patience is how long the workflow is waited for where there is another
	// source to turn to.
	patience = 2 * time.Second
	// askTimeout is the deadline of such a question: a server may use half of
	// it to find out that no worker is up.
	askTimeout = 4 * time.Second
	// readTimeout is the deadline of a question that only a worker can answer.
	readTimeout = 10 * time.Second
)

// errNoWorker says that a question found no worker that answers.
var errNoWorker = errors.New("no worker answers")

// A question is a query of one run, ready to be asked.
type question struct {
	workflowID string
	runID      string
	deadline   time.Duration
}

// ask puts a typed query to a run; the empty run id is the newest. Where no
// worker answers in time the error is errNoWorker.
func ask[In, Out any](ctx context.Context, c *Client, q question, query contract.Query[In, Out], in In) (Out, error) {
	var out Out
	call, cancel := context.WithTimeout(ctx, q.deadline)
	defer cancel()
	response, err := c.temporal.QueryWorkflowWithOptions(call, &sdk.QueryWorkflowWithOptionsRequest{
		WorkflowID: q.workflowID, RunID: q.runID, QueryType: string(query), Args: []any{in},
	})
	if err != nil {
		return out, asked(ctx, err)
	}
	if err := response.QueryResult.Get(&out); err != nil {
		return out, errorf(Failed, err, "%s: the answer cannot be read; the worker may be of another version: %s", query, err)
	}
	return out, nil
}

// within makes a call in the background and gives up on it after a time, with
// errNoWorker. The call's own deadline, which the server sees, may be later.
func within[T any](ctx context.Context, d time.Duration, call func(context.Context) (T, error)) (T, error) {
	type reply struct {
		value T
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	replies := make(chan reply, 1)
	go func() {
		value, err := call(ctx)
		replies <- reply{value, err}
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case r := <-replies:
		return r.value, r.err
	case <-timer.C:
		var none T
		return none, errNoWorker
	}
}

// asked tells a worker that is missing from a server that is.
func asked(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if isAs[*serviceerror.WorkflowNotReady](err) || errors.Is(err, context.DeadlineExceeded) || isAs[*serviceerror.DeadlineExceeded](err) {
		return errNoWorker
	}
	return err
}

// noWorker is the error for what only a worker could have answered.
func noWorker(id string, cause error) *Error {
	return errorf(Unreachable, cause, "%s: no worker answers; see that one is up on the task queue, or begin one with `dev`", id)
}

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
func tell[In, Out any](ctx context.Context, t *telling, runID string, query contract.Query[In, Out], in In) (Out, error) {
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

// read asks one run what only a worker can tell; a closed run is replayed.
func read[In, Out any](ctx context.Context, c *Client, s snapshot, runID string, query contract.Query[In, Out], in In) (Out, error) {
	q := question{workflowID: s.workflowID(), runID: runID, deadline: readTimeout}
	return ask(ctx, c, q, query, in)
}

// A part is the range of something numbered that one run holds: from first up
// to but not including end.
type part struct {
	runID      string
	first, end int
}

// A holding is what one run says that it holds.
type holding struct {
	part
	// held is false where the run knows nothing of what is asked for.
	held bool
}

// parts walks a chain of runs back from the newest until all from the lowest
// number on is found, and returns the parts in order. held reports whether any
// run knew of what was asked for. Runs that were deleted end the walk.
func (c *Client) parts(ctx context.Context, s snapshot, lowest int, holds func(runID string) (holding, error)) (found []part, held bool, err error) {
	runID := s.runID()
	for runID != "" {
		h, err := holds(runID)
		if deleted(err) {
			break
		}
		if err != nil {
			return nil, held, err
		}
		held = held || h.held
		if h.held && h.end > h.first {
			if len(found) > 0 {
				h.end = min(h.end, found[0].first)
			}
			found = append([]part{h.part}, found...)
			if h.first <= lowest {
				break
			}
		}
		if runID, err = c.previous(ctx, s.agent, runID); deleted(err) {
			break
		} else if err != nil {
			return nil, held, err
		}
	}
	return found, held, nil
}
