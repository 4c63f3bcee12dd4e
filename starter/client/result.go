package client

import (
	"cmp"
	"context"
	"errors"
	"math"

	"everstep/domain"
	"everstep/domain/progress"
)

// Result returns how an execution ended and what it answered, without waiting:
// it is refused where the execution is in progress. Number zero is the newest.
// The workflow is asked first; where no worker answers, history is read.
func (c *Client) Result(ctx context.Context, id string, number int) (Result, error) {
	p, number, err := c.locateExecution(ctx, id, number)
	if err != nil {
		return Result{}, err
	}
	outcome, err := c.outcome(ctx, p, number)
	if errors.Is(err, errUnfinished) {
		return Result{}, errorf(Refused, err, "execution %d of %s is in progress; wait for it, or ask again later", number, id)
	}
	if err != nil {
		return Result{}, fail(ctx, id, "reading the history of "+id, err)
	}
	return c.result(ctx, p, p.runID(), outcome)
}

// result adds the answer to an outcome. last is the newest run in which the
// execution was.
func (c *Client) result(ctx context.Context, p position, last string, outcome domain.Outcome) (Result, error) {
	r := Result{Execution: p.execution(outcome.Number), Outcome: outcome, Source: domain.FromWorkflow}
	r.RunID = last
	if _, byServer := p.serverEnd(); !byServer {
		if page, ok := c.told(ctx, p, outcome); ok {
			r.Answer, r.Error, r.Signal = page.Answer, page.Error, page.Signal
			return c.withOutput(ctx, p, r), nil
		}
	}
	if outcome.Rewritten {
		return Result{}, errorf(Unreachable, nil, "a hook has changed the answer of execution %d of %s, so history does not hold it: it takes a worker to tell it; start one with `starter worker` or `starter dev`", outcome.Number, p.called())
	}
	answer, failure, err := c.recorded(ctx, p.snapshot, last, outcome.ExecutionID)
	if err != nil {
		return Result{}, fail(ctx, p.called(), "reading the history of "+p.called(), err)
	}
	r.Answer, r.Source = answer, domain.FromHistory
	if outcome.Status == domain.StatusFailed {
		r.Error = failure
		if r.Error == nil || outcome.Code != "" && r.Error.Code != outcome.Code {
			r.Error = failureOf(outcome)
		}
	}
	return c.withOutput(ctx, p, r), nil
}

// told asks the workflow for the answer of an execution. It reports false where
// no worker answers, or the workflow knows of a later execution only.
func (c *Client) told(ctx context.Context, p position, outcome domain.Outcome) (domain.StepsPage, bool) {
	q, wait := question{workflowID: p.workflowID(), deadline: askTimeout}, patience
	if outcome.Rewritten {
		// Nothing else can tell.
		q.deadline, wait = readTimeout, readTimeout
	}
	if p.left {
		q.runID = p.runID()
	}
	page, err := within(ctx, wait, func(ctx context.Context) (domain.StepsPage, error) {
		return ask(ctx, c, q, domain.QuerySteps, domain.StepsRequest{Number: outcome.Number, From: math.MaxInt32})
	})
	held := err == nil && page.ExecutionID == outcome.ExecutionID && page.Outcome != nil
	return page, held
}

// recorded reads history backwards, from a run on, for what the last inference
// of an execution answered, or why it did not. Both are absent where the
// execution made none. A summary of the conversation is no answer.
func (c *Client) recorded(ctx context.Context, s snapshot, last string, id domain.ExecutionID) (answer string, failure *domain.Error, err error) {
	for recorded, err := range c.reader(s.agent).BackwardsChain(ctx, last) {
		if err != nil {
			return "", nil, goneIfDeleted(err, "the answer of %s: its run has been deleted", s.called())
		}
		var work progress.Work
		switch f := recorded.Fact.(type) {
		case progress.ModelReplied:
			work, failure = f.Work, f.Reply.Error
			if f.Reply.Message != nil {
				answer = f.Reply.Message.Text()
			}
		case progress.Lost:
			work, failure = f.Work, f.Loss.Err()
		case progress.Asked:
			work = f.Work
		}
		if work.Model != nil && work.Execution() == id && work.Model.Summary == nil {
			return answer, failure, nil
		}
		answer, failure = "", nil
	}
	return "", nil, nil
}

// failureOf says in words why an execution failed of which only the outcome is
// known.
func failureOf(o domain.Outcome) *domain.Error {
	switch o.Code {
	case domain.CodeTerminated:
		return domain.CodedErrorf(domain.Denied, o.Code, "an operator terminated the workflow").From("server")
	case domain.CodeTimedOut:
		return domain.CodedErrorf(domain.Denied, o.Code, "the workflow reached its time-out").From("server")
	case "":
		return domain.Errorf(cmp.Or(o.Kind, domain.Internal), "the execution failed; explain says more")
	default:
		return domain.CodedErrorf(cmp.Or(o.Kind, domain.Internal), o.Code, "the execution failed: %s; explain says more", o.Code)
	}
}
