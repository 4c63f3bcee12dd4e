package client

import (
	"cmp"
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"

	"everstep/domain/account"
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

// ask asks one run for a page of its account, which only a worker can tell; a closed run is replayed. A worker that is
// busy is asked again, since a server gives up at half of a question's deadline.
func (c *Client) ask(ctx context.Context, a agent, runID string, request account.Request) (account.Page, error) {
	begun, workers := time.Now(), polling{client: c, agent: a}
	for {
		page, err := c.askOnce(ctx, a, runID, request)
		busy, bound := errors.Is(err, errBusy), readTimeout
		if busy && workers.seen(ctx) {
			bound = busyTimeout
		}
		if !busy || time.Since(begun) >= bound || process.Pause(ctx, askAgain) != nil {
			return page, err
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
			return false
		}
		p.queue = s.queue()
	}
	pollers, _ := p.client.pollers(ctx, p.queue, enumspb.TASK_QUEUE_TYPE_WORKFLOW) // there are none where the server does not say
	newest := p.last
	for _, poller := range pollers {
		if at := poller.GetLastAccessTime().AsTime(); at.After(newest) {
			newest = at
		}
	}
	p.goesOn = p.goesOn || !p.last.IsZero() && newest.After(p.last)
	p.last = newest
	return p.goesOn
}

func (c *Client) askOnce(ctx context.Context, a agent, runID string, request account.Request) (page account.Page, _ error) {
	call, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	response, err := c.temporal.QueryWorkflowWithOptions(call, &sdk.QueryWorkflowWithOptionsRequest{
		WorkflowID: a.workflowID(), RunID: cmp.Or(runID, a.session), QueryType: string(account.Query), Args: []any{request},
	})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return page, err
	case isAs[*serviceerror.FailedPrecondition](err): // the server has not seen one for 20 s
		return page, errNoWorker
	case isAs[*serviceerror.WorkflowNotReady](err) || errors.Is(err, context.DeadlineExceeded) || isAs[*serviceerror.DeadlineExceeded](err):
		return page, errBusy // and no server that is missing
	default:
		return page, err
	}
	if err := response.QueryResult.Get(&page); err != nil {
		return page, errorf(Failed, err, "%s: the answer cannot be read; the worker may be of another version: %s", account.Query, err)
	}
	return page, nil
}

const askAgain = 200 * time.Millisecond
