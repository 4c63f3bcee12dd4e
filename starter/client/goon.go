package client

import (
	"context"
	"math"
	"time"

	"everstep/domain"
	"everstep/starter/client/internal/history"
)

// goOn starts the workflow again in which an agent without a name goes on from
// the execution that ended.
func (c *Client) goOn(ctx context.Context, p position, o ExtendOptions) (Extended, error) {
	if p.byServer {
		return Extended{}, errorf(Refused, nil, "execution %d of %s was ended by the server in the middle, so there is no end to go on from; `run` starts another agent", p.number, p.called())
	}
	if err := c.closedItself(ctx, p); err != nil {
		return Extended{}, fail(ctx, p.called(), "waiting for the end of "+p.called(), err)
	}
	in, err := c.inputOf(ctx, p)
	if err != nil {
		return Extended{}, err
	}
	if in.Carry != nil {
		for _, answered := range in.Carry.Extended {
			if answered.ID == o.RequestID {
				return p.repeated(answered.Reply), nil
			}
		}
	}
	view, err := read(ctx, c, p.snapshot, p.runID(), domain.QueryState, domain.StateRequest{From: math.MaxInt32})
	if err != nil {
		return Extended{}, readFailure(ctx, p.called(), "reading the state of "+p.called(), err)
	}
	if view.Carry == nil {
		return Extended{}, errorf(Failed, nil, "extend: the worker that answers cannot go on from an ended execution; it is of an earlier version")
	}
	begins, err := c.successor(ctx, p, in, view, o)
	if err != nil {
		return Extended{}, err
	}
	execution, err := c.begin(ctx, p.agent, begins)
	if err != nil {
		return Extended{}, alreadyOpen(err)
	}
	return Extended{Execution: execution, Began: true, Budget: begins.input.GoOn.Budget}, nil
}

// closedItself waits until a workflow that has said how its execution ended has
// ended too, which it does at once.
func (c *Client) closedItself(ctx context.Context, p position) error {
	if !p.open() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, history.CallTimeout)
	defer cancel()
	for _, err := range c.chain(ctx, p.snapshot, p.runID()) {
		if err != nil {
			return err
		}
	}
	return nil
}

// repeated is the answer to a request that has begun an execution before. Which
// run that is was not known when its answer was noted.
func (p position) repeated(reply domain.ExtendReply) Extended {
	if reply.Number == p.number {
		reply.ExecutionID, reply.RunID = p.executionID(p.number), p.runID()
	}
	return p.extended(reply)
}

// inputOf reads what a run started with.
func (c *Client) inputOf(ctx context.Context, p position) (domain.SessionInput, error) {
	doing := "reading the history of " + p.called()
	began, err := c.reader(p.agent).First(ctx, p.runID())
	if err != nil {
		return domain.SessionInput{}, fail(ctx, p.called(), doing, err)
	}
	if !began.Readable() {
		return domain.SessionInput{}, errorf(Failed, nil, "%s: what the workflow started with cannot be read", doing)
	}
	return began.Input, nil
}

// successor is the start of the workflow that goes on from a closed run, which
// started with an input and ended in a state.
func (c *Client) successor(ctx context.Context, p position, in domain.SessionInput, view domain.StateView, o ExtendOptions) (opening, error) {
	state, err := domain.DecodeAgentState(view.State)
	if err != nil {
		return opening{}, errorf(Failed, err, "reading the state of %s: %s", p.called(), err)
	}
	budget, _ := state.Budget()
	in.SchemaVersion, in.Prompt, in.Budget, in.Timing = domain.SchemaVersion, "", domain.ExecutionBudget{}, c.cfg.Timing
	in.GoOn = &domain.GoOn{Budget: budget.Extended(o.Budget, o.Lift), RunID: p.runID()}
	if r := view.Carry.Resolved; in.GoOn.Budget.MaxCostNanoUSD != nil && r != nil && r.Price == nil {
		return opening{}, errorf(Invalid, nil, "max_cost: nobody knows what %s costs; extend another limit", state.LLMConfig())
	}
	if use, reached := in.GoOn.Budget.Reached(view.Carry.Prior, time.Now()); reached {
		return opening{}, exhausted(use)
	}
	if in.Attributes, err = c.registered(ctx); err != nil {
		return opening{}, fail(ctx, p.called(), "starting "+p.called(), err)
	}
	begins := opening{number: p.number + 1, queue: c.queueOf(p), before: p.ended}
	carry := *view.Carry
	carry.Extended = []domain.ExtendedUpdate{{
		ID: o.RequestID, Reply: domain.ExtendReply{Number: begins.number, Began: true, Budget: in.GoOn.Budget},
	}}
	in.Carry = &carry
	if err := c.loadEntries(ctx, p, &in); err != nil {
		return opening{}, err
	}
	begins.input = in
	return begins, nil
}

// queueOf is the task queue on which an agent ran.
func (c *Client) queueOf(p position) string {
	if queue := p.GetExecutionConfig().GetTaskQueue().GetName(); queue != "" {
		return queue
	}
	return c.cfg.TaskQueue
}

// loadEntries hands the messages on that no segment holds: in the input, or,
// where they are too long for that, as a task for storage.
func (c *Client) loadEntries(ctx context.Context, p position, in *domain.SessionInput) error {
	carry := in.Carry
	in.GoOn.Copy, carry.Copy = carry.Copy, nil
	carry.Entries = nil
	size, next, log := 0, carry.Base, domain.LogAt(carry.Base, carry.Chain)
	for entry, err := range c.entries(ctx, p.snapshot, p.runID(), carry.Base) {
		if err == nil {
			log, err = log.Join(entry)
		}
		if err != nil {
			return readFailure(ctx, p.called(), "reading the messages of "+p.called(), err)
		}
		size, next = size+entry.Size(), entry.Index+1
		carry.Entries = append(carry.Entries, entry)
	}
	if size <= domain.MaxCarriedMessages && checkSize("conversation", in) == nil {
		return nil
	}
	if in.GoOn.Copy != nil {
		return errorf(Refused, nil, "%s: a part of its conversation was never copied to storage, and the rest is too long to be handed on", p.called())
	}
	carry.Entries = nil
	if carry.Resolved == nil || !carry.Resolved.Storage {
		return errorf(Refused, nil, "%s: its conversation takes %d bytes, and without storage at most %d can be handed on; configure storage on the workers of the next agent", p.called(), size, domain.MaxCarriedMessages)
	}
	in.GoOn.Copy = &domain.RecordRequest{From: carry.Base, Log: domain.LogRef{Length: next, Digest: log.Chain()}, RunID: p.runID()}
	if err := checkSize("state", in); err != nil {
		return invalid(err)
	}
	return nil
}
