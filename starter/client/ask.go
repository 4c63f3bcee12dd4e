package client

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"

	"everstep/domain"
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
func ask[In, Out any](ctx context.Context, c *Client, q question, query domain.Query[In, Out], in In) (Out, error) {
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
