package client

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"

	"everstep/domain"
	"everstep/domain/contract"

	"everstep/starter/client/internal/history"
)

// A position says where an agent stands.
type position struct {
	snapshot
	// number is that of the newest execution.
	number int
	// ended says how that execution ended; nil: it is in progress.
	ended *contract.Outcome
	// byServer means that the server ended it, and not the workflow.
	byServer bool
	// step is the one in progress by the history, where it is; completed are
	// the steps before it. It is known where the history had to be read.
	step int
}

// locate finds out, without a worker, which execution is the newest and whether it has ended.
func (c *Client) locate(ctx context.Context, id string) (position, error) {
	s, err := c.describe(ctx, id)
	if err != nil {
		return position{}, err
	}
	p, err := c.position(ctx, s)
	return p, fail(ctx, id, "reading the history of "+id, err)
}

// A target is the execution of an agent that a caller means.
type target struct {
	position
	// asked is its number.
	asked int
	// outcome says how it ended, where that was looked for; nil: it has not.
	outcome *contract.Outcome
}

func (t target) want() domain.ExecutionID {
	if t.outcome != nil && !t.outcome.ExecutionID.IsZero() { // one of an earlier workflow has another than it would have in this one
		return t.outcome.ExecutionID
	}
	return t.executionID(t.asked)
}

// target locates the execution that a caller means; zero is the newest.
func (c *Client) target(ctx context.Context, id string, number int) (target, error) {
	if number < 0 {
		return target{}, errorf(Invalid, nil, "execution: is %d; executions are counted from 1", number)
	}
	p, err := c.locate(ctx, id)
	switch {
	case err != nil:
	case number == p.number+1 && p.beginsNext():
		p.number, p.ended, p.step = number, nil, 1
	case number > p.number:
		return target{}, errorf(NotFound, nil, "execution: %s has no execution %d; its newest is %d", id, number, p.number)
	case number == 0:
		number = p.number
	case number < p.number && p.name == "":
		p, err = c.earlier(ctx, p, number)
	}
	return target{position: p, asked: number}, err
}

// beginsNext reports whether messages that the newest execution has left unread begin the next one, as soon as that is recorded.
func (p position) beginsNext() bool {
	return p.name != "" && p.open() && p.ended != nil && p.ended.Unread > 0
}

// targetEnd is target with how the execution ended, where it has.
func (c *Client) targetEnd(ctx context.Context, id string, number int) (target, error) {
	t, err := c.target(ctx, id, number)
	if t.outcome = t.ended; err == nil && t.asked < t.number {
		t.outcome, err = c.past(ctx, t)
	}
	return t, fail(ctx, id, "reading the history of "+id, err)
}

// past looks through the runs, the newest first, for how an earlier execution
// ended.
func (c *Client) past(ctx context.Context, t target) (*contract.Outcome, error) {
	for recorded, err := range c.reader(t.agent).BackwardsChain(ctx, t.runID()) {
		if err != nil {
			return nil, goneIfDeleted(err, "execution %d of %s: its run has been deleted", t.asked, t.called())
		}
		if outcome, ok := history.OutcomeOf(recorded.Fact); ok && outcome.Number == t.asked {
			return &outcome, nil
		}
	}
	return nil, t.vanished(t.asked)
}

func (a agent) vanished(number int) *Error {
	return gone("execution: nothing is left of execution %d of %s", number, a.called())
}

// position is locate for an agent that was described. The newest execution is the one whose
// outcome the memo holds or the next; what was recorded last tells which.
func (c *Client) position(ctx context.Context, s snapshot) (position, error) {
	return c.positionWith(ctx, s, func(history.Fact) bool { return true })
}

// positionWith is position with somebody who looks along at what the newest run has recorded, the newest first, until
// that has told enough. Where the memo is the last word nothing is read.
func (c *Client) positionWith(ctx context.Context, s snapshot, along func(history.Fact) (enough bool)) (position, error) {
	if s.outcome == nil && s.firstRunID() != s.runID() { // its own memo has none yet
		began, err := c.reader(s.agent).First(ctx, s.runID())
		if err != nil {
			return position{}, err
		}
		if began.Input.Carry != nil {
			s.outcome = began.Input.Carry.Outcome
		}
	}
	scan := newestScan{}
	if s.outcome != nil {
		if s.info().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED { // the memo is the last word
			return position{snapshot: s, number: s.outcome.Number, ended: s.outcome}, nil
		}
		scan.ended = s.outcome.Number
	}
	scan.want = s.executionID(scan.ended + 1)
	settled, enough := false, false
	for recorded, err := range c.reader(s.agent).Backwards(ctx, s.runID()) {
		if err != nil {
			return position{}, err
		}
		settled = settled || scan.take(recorded.Fact)
		if enough = enough || along(recorded.Fact); settled && enough {
			break
		}
	}
	p := position{snapshot: s}
	if scan.outcome != nil { // it ended after the description
		p.outcome = scan.outcome
	}
	if scan.outcome != nil || p.outcome != nil && scan.step == 0 {
		p.number, p.ended = p.outcome.Number, p.outcome
		return p, nil
	}
	p.number, p.step = scan.ended+1, scan.step
	if cut, ok := history.ServerEnd(s.info().GetStatus()); ok { // while it was in progress
		cut.AgentID, cut.ExecutionID, cut.Number, cut.Steps = s.id, scan.want, p.number, max(p.step-1, 0)
		p.ended, p.byServer = &cut, true
	}
	return p, nil
}

// A newestScan looks at what a run records from the newest back.
type newestScan struct {
	// ended is the execution that is known to have ended, want the id of the next.
	ended int
	want  domain.ExecutionID
	// step is that of the wanted one by now; zero: it has not begun.
	step int
	// outcome is that of the wanted one, where it has ended meanwhile.
	outcome *contract.Outcome
	// between says that the transcript was to be stored since the newest step, which is done
	// when that is over.
	between bool
}

// take reports whether the fact settles the matter.
func (n *newestScan) take(fact history.Fact) bool {
	switch f := fact.(type) {
	case history.Ended, history.RunEnded:
		outcome, ok := history.OutcomeOf(fact)
		if ok && outcome.Number > n.ended {
			n.outcome = &outcome
		}
		return ok
	case history.Asked:
		switch {
		case f.Activity == string(contract.Record):
			n.between = true
		case f.Step > 0 && f.Execution == n.want:
			if n.step = f.Step; n.between {
				n.step++
			}
		case f.Hook != nil && f.Hook.ExecutionID == n.want: // it may be the first of a step that is between two
			n.step = f.Hook.Steps + 1
		}
		return n.step > 0
	case history.Sent:
		return n.begun(f.Reply.Began, f.Reply.Number)
	case history.Rewound:
		return n.begun(f.Began(), f.Number())
	case history.Extended:
		return n.begun(f.Reply.Began, f.Reply.Number)
	case history.RunBegan:
		switch took := history.TakeoverOf(f.Input); {
		case !f.Readable():
		case took.Begins && took.Number == n.ended+1:
			n.step = 1
		case took.Open && took.Execution == n.want:
			n.step = took.Steps + 1
		}
		return true
	}
	return false
}

// begun is told that an update has begun an execution, and that no step has come after it.
func (n *newestScan) begun(began bool, number int) bool {
	if began && number > n.ended {
		n.step = 1
	}
	return n.step > 0
}

// earlier finds the workflow of an execution before the newest: each has one, and knows the one before.
func (c *Client) earlier(ctx context.Context, p position, number int) (position, error) {
	a := p.agent
	for p.number > number {
		before, err := c.previous(ctx, a, p.firstRunID())
		var s snapshot
		if err == nil && before != "" {
			s, err = c.snapshot(ctx, a, before)
		}
		switch {
		case deleted(err), err == nil && before == "":
			return p, a.vanished(number)
		case err == nil:
			p, err = c.position(ctx, s)
		}
		if err != nil {
			return p, fail(ctx, a.called(), "reading the history of "+a.called(), err)
		}
	}
	if p.number != number {
		return p, a.vanished(number)
	}
	return p, nil
}
