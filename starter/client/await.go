package client

import (
	"context"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/process"
	"everstep/workflows/replay"
)

// Wait waits until an execution has ended, in whatever way, and returns its result. Number zero is the newest execution
// at the time of the call. It needs no worker and outlives restarts of the server.
func (c *Client) Wait(ctx context.Context, id string, number int) (Result, error) {
	t, err := c.await(ctx, id, number)
	if err == nil && t.outcome == nil && !t.unread {
		err = t.vanished(t.asked)
	}
	return c.resultOf(ctx, id, number, t, fail(ctx, id, "waiting for "+id, err))
}

// await is target of an execution that has ended. The workflow of an agent without a name ends with its execution, so
// its close event is waited for; that of a session is asked, by an update that all who wait share. It returns a pointer,
// since the stack of one who waits is memory.
func (c *Client) await(ctx context.Context, id string, number int) (*target, error) {
	t, err := c.awaited(ctx, id, number)
	if err != nil || t.outcome != nil || t.unread {
		return t, err
	}
	if t.name != "" {
		return c.awaitInSession(ctx, t)
	}
	defer time.AfterFunc(updateTry, func() { c.saysNoWorker(ctx, t.queue(), untilOneIsUp) }).Stop()
	if _, err := c.untilClosed(ctx, t.agent, t.firstRunID(), t.runID()); err != nil {
		return t, err
	}
	return c.ended(ctx, id, t.asked)
}

// awaited is the execution to wait for. Of a session's with a number no history is read: where the memo does not tell of
// its end the workflow says whether there is such an execution.
func (c *Client) awaited(ctx context.Context, id string, number int) (*target, error) {
	if a, err := agentOf(id); err == nil && a.name != "" && number > 0 {
		s, err := c.describe(ctx, id)
		if err != nil || s.open() && !s.tellsEnd(number) {
			s.number, s.ended = number, nil
			return &target{snapshot: s, asked: number}, err
		}
	}
	t, err := c.target(ctx, id, number)
	return &t, err
}

// tellsEnd reports whether the memo tells that an execution has ended.
func (s snapshot) tellsEnd(number int) bool { return s.outcome != nil && s.outcome.Number >= number }

// ended is target for whoever has waited so long that a server which is slow, or away for
// a while, is no reason to give up.
func (c *Client) ended(ctx context.Context, id string, number int) (*target, error) {
	for {
		t, err := c.target(ctx, id, number)
		if !Is(err, Unreachable) || process.Pause(ctx, time.Second) != nil {
			return &t, err
		}
	}
}

// awaitInSession asks the session's workflow until it tells of the end. Where the workflow does not, since it has
// continued as new, is closed, or knows of no such execution, what is recorded tells whether to ask again.
func (c *Client) awaitInSession(ctx context.Context, t *target) (*target, error) {
	for {
		outcome, err := c.askForEnd(ctx, t)
		switch {
		case outcome != nil && outcome.End != nil: // of a longer one the rest is to be read
			t.ended, t.outcome = outcome, outcome
			return t, nil
		case ctx.Err() != nil:
			return t, ctx.Err()
		}
		away := isAs[*serviceerror.Unavailable](err)
		if away {
			c.connection(err)
		}
		now, err := c.ended(ctx, t.called(), t.asked)
		if err != nil || now.outcome != nil {
			return now, err
		}
		if away {
			c.connection(nil)
		}
		if now.runID() == t.runID() && process.Pause(ctx, lookAgain) != nil {
			return now, ctx.Err()
		}
		t = now
	}
}

const (
	// askedFor is how long one request for an end may take; the server ends it sooner by itself, after 20 s.
	askedFor = 90 * time.Second
	// lookAgain is between two looks at what the server says of a workflow whose workers do not answer, and seldom of one
	// whose workers are busy.
	lookAgain = time.Second
	seldom    = 16 * time.Second
	// untilOneIsUp is what one who awaits an end does without a worker.
	untilOneIsUp = "waiting until one is up"
)

// askForEnd is how the execution ended, as its workflow tells; nil where that does not, or the server tells of an end that
// the workflow cannot tell of.
func (c *Client) askForEnd(ctx context.Context, t *target) (*contract.Outcome, error) {
	// What updates ask is not encoded, as host.Dial has it, so that Temporal's own tools can read it.
	input, err := converter.GetDefaultDataConverter().ToPayloads(contract.AwaitRequest{Number: t.asked})
	if err != nil {
		return nil, err
	}
	request := &workflowservice.UpdateWorkflowExecutionRequest{
		Namespace:           c.cfg.Namespace,
		WorkflowExecution:   &commonpb.WorkflowExecution{WorkflowId: t.workflowID()},
		FirstExecutionRunId: t.firstRunID(),
		WaitPolicy:          &updatepb.WaitPolicy{LifecycleStage: enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED},
		Request: &updatepb.Request{
			Meta:  &updatepb.Meta{UpdateId: contract.AwaitID(t.asked), Identity: c.cfg.By.Identity},
			Input: &updatepb.Input{Name: string(contract.UpdateAwait), Args: input},
		},
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	looking, taken := context.WithCancel(ctx)
	defer taken()
	go c.lookForEnd(looking, *t, cancel)
	for {
		call, done := context.WithTimeout(ctx, askedFor)
		response, err := c.temporal.WorkflowService().UpdateWorkflowExecution(call, request)
		done()
		if err != nil {
			return nil, err
		}
		if outcome := response.GetOutcome(); outcome != nil {
			var reply contract.AwaitReply
			if outcome.GetSuccess() != nil { // else it was refused, or the run has ended meanwhile
				err = c.cfg.Converter.FromPayloads(outcome.GetSuccess(), &reply)
			}
			return reply.Outcome, err
		}
		if response.GetStage() >= enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED {
			taken()
			request.WaitPolicy.LifecycleStage = enumspb.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED
		}
	}
}

// lookForEnd looks whether the server has ended the workflow, until a worker has taken the question, when ctx ends. It calls
// found where the workflow is not to be waited for any more. It looks once a second where nothing happens, and less and less
// often where the history grows: workers are busy, and will come to the question.
func (c *Client) lookForEnd(ctx context.Context, t target, found context.CancelFunc) {
	pause, events, quiet := lookAgain, t.info().GetHistoryLength(), 0
	for looks := 1; process.Pause(ctx, pause) == nil; looks++ {
		s, err := c.snapshot(ctx, t.agent, "")
		switch {
		case err != nil && !deleted(err):
			continue // the server is away, or slow
		case err != nil || !s.open() || s.tellsEnd(t.asked) || looks == 1 && !c.goesOn(ctx, t):
			found()
			return
		case s.info().GetHistoryLength() > events:
			pause, events, quiet = min(2*pause, seldom), s.info().GetHistoryLength(), 0
		default:
			if pause, quiet = lookAgain, quiet+1; quiet == 2 {
				c.saysNoWorker(ctx, s.queue(), untilOneIsUp)
			}
		}
	}
}

// goesOn reports whether the history, too, tells that the execution is in progress or about to begin. A server that does
// not answer is no reason to doubt that, nor a worker that takes the question meanwhile, when ctx ends.
func (c *Client) goesOn(ctx context.Context, t target) bool {
	now, err := c.target(ctx, t.called(), t.asked)
	return err == nil && now.outcome == nil || Is(err, Unreachable) || ctx.Err() != nil
}

// A target is the execution of an agent that a caller means.
type target struct {
	snapshot
	// asked is its number.
	asked int
	// outcome says how it ended; nil: it has not, or unread: nobody can read how.
	outcome *contract.Outcome
	unread  bool
}

// target locates the execution that a caller means; zero is the newest.
func (c *Client) target(ctx context.Context, id string, number int) (none target, _ error) {
	if number < 0 {
		return none, invalidf("execution: is %d; executions are counted from 1", number)
	}
	p, err := c.describe(ctx, id)
	switch {
	case err != nil:
		return none, err
	case number == p.number+1 && p.beginsNext():
		p.number, p.ended = number, nil
	case number > p.number:
		return none, notFound("execution: %s has no execution %d; its newest is %d", id, number, p.number)
	case number > 0 && number < p.number:
		return c.earlier(ctx, p, number)
	}
	return target{snapshot: p, asked: p.number, outcome: p.ended}, nil
}

// beginsNext reports whether messages that the newest execution has left unread begin the next one, as soon as that is recorded.
func (s snapshot) beginsNext() bool {
	return s.name != "" && s.open() && s.ended != nil && s.ended.Unread > 0
}

// earlier is an execution before the newest.
func (c *Client) earlier(ctx context.Context, p snapshot, number int) (target, error) {
	if p.name == "" {
		return c.earlierWorkflow(ctx, p, number)
	}
	t := target{snapshot: p, asked: number}
	all, err := c.accountOf(ctx, p, account.RequestOf(number, account.HeadOf, account.Executions), 0)
	if isAs[*replay.Error](err) {
		t.unread = true
		return t, nil
	}
	if err == nil && len(all.Executions) == 0 {
		err = p.vanished(number)
	}
	if err != nil {
		return t, p.fail(ctx, "reading the executions of", err)
	}
	t.outcome = &all.Executions[0].Outcome
	return t, nil
}

// earlierWorkflow finds an execution of an agent without a name, of which each has a workflow of its own, that knows the one before.
func (c *Client) earlierWorkflow(ctx context.Context, p snapshot, number int) (none target, _ error) {
	for p.number > number {
		before, err := c.previous(ctx, p.agent, p.firstRunID())
		var s snapshot
		if err == nil && before != "" {
			s, err = c.snapshot(ctx, p.agent, before)
		}
		switch {
		case deleted(err), err == nil && before == "":
			return none, p.vanished(number)
		case err != nil:
			return none, p.fail(ctx, "reading the history of", err)
		}
		p = s
	}
	if p.number != number {
		return none, p.vanished(number)
	}
	return target{snapshot: p, asked: number, outcome: p.ended}, nil
}

func (a agent) vanished(number int) *Error {
	return gone("execution: nothing is left of execution %d of %s", number, a.called())
}
