package client

import (
	"cmp"
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"

	"everstep/domain/contract"
	"everstep/starter/process"
)

const (
	// patience is how long the workflow is waited for where there is another
	// source to turn to.
	patience = 2 * time.Second
	// readTimeout is the deadline of a question that only a worker can answer.
	readTimeout = 10 * time.Second
	// busyTimeout is how long one that is too busy for it is asked again, where workers are seen to ask for work meanwhile.
	busyTimeout = time.Minute
)

// read asks one run what only a worker can tell; a closed run is replayed. A worker that is
// busy is asked again, since a server gives up at half of a question's deadline.
func read[In, Out any](ctx context.Context, c *Client, a agent, runID string, query contract.Query[In, Out], in In) (Out, error) {
	begun, workers := time.Now(), polling{client: c, agent: a}
	for {
		out, err := ask(ctx, c, a, runID, readTimeout, query, in)
		busy, bound := errors.Is(err, errBusy), readTimeout
		if busy && workers.seen(ctx) {
			bound = busyTimeout
		}
		if !busy || time.Since(begun) >= bound || process.Pause(ctx, askAgain) != nil {
			return out, err
		}
	}
}

// polling sees whether workers of an agent's task queue go on asking for work: what the server lists are those too that
// have ended minutes ago.
type polling struct {
	client *Client
	agent  agent
	queue  string
	last   time.Time
	goesOn bool
}

// seen reports whether a worker has asked for work since it was called first.
func (p *polling) seen(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if p.queue == "" {
		s, err := p.client.snapshot(ctx, p.agent, "")
		if err != nil {
			return p.goesOn
		}
		p.queue = s.queue()
	}
	pollers, err := p.client.pollers(ctx, p.queue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return p.goesOn
	}
	first, newest := p.last.IsZero(), p.last
	for _, poller := range pollers {
		if at := poller.GetLastAccessTime().AsTime(); at.After(newest) {
			newest = at
		}
	}
	p.goesOn = p.goesOn || !first && newest.After(p.last)
	p.last = newest
	return p.goesOn
}

func ask[In, Out any](ctx context.Context, c *Client, a agent, runID string, deadline time.Duration, query contract.Query[In, Out], in In) (Out, error) {
	var out Out
	call, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	response, err := c.temporal.QueryWorkflowWithOptions(call, &sdk.QueryWorkflowWithOptionsRequest{
		WorkflowID: a.workflowID(), RunID: cmp.Or(runID, a.session), QueryType: string(query), Args: []any{in},
	})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return out, err
	case isAs[*serviceerror.FailedPrecondition](err): // the server has not seen one for 20 s
		return out, errNoWorker
	case isAs[*serviceerror.WorkflowNotReady](err) || errors.Is(err, context.DeadlineExceeded) || isAs[*serviceerror.DeadlineExceeded](err):
		return out, errBusy // and no server that is missing
	default:
		return out, err
	}
	if err := response.QueryResult.Get(&out); err != nil {
		return out, errorf(Failed, err, "%s: the answer cannot be read; the worker may be of another version: %s", query, err)
	}
	return out, nil
}

const askAgain = 200 * time.Millisecond
