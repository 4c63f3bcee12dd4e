package client

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

// ExtendOptions say how far an execution may go from now on. The zero value
// goes on with what its budget leaves.
type ExtendOptions struct {
	// Budget holds new totals, what was used before included; what is absent
	// stays as it is.
	Budget domain.ExecutionBudget
	// Lift names limits that are taken away. A limit with a new total stays.
	Lift []domain.Limit
	// RequestID makes a call that is repeated with the same id one with the
	// first. Empty: each call stands for itself.
	RequestID string
}

// An Extended says what came of new totals.
type Extended struct {
	Execution
	// Began says that an execution began that goes on from the one before.
	Began bool `json:"began"`
	// Budget is the one in force from now on.
	Budget domain.ExecutionBudget `json:"budget"`
}

// extendTries bounds how often what is extended may end, or begin, just then.
const extendTries = 5

// Extend gives the execution in progress new totals. Where the newest one
// stopped or failed it begins the next, which goes on from it: in the open
// session of a named agent, else in a new workflow of the same agent. It is
// refused where that execution completed, and where the session has ended. An
// execution in progress needs at least one new total.
//
// Totals replace those of the request and of the definition, so that a repeated
// call does no harm. It needs a worker, as Send does.
func (c *Client) Extend(ctx context.Context, id string, o ExtendOptions) (Extended, error) {
	if _, err := agentOf(id); err != nil {
		return Extended{}, err
	}
	if err := o.check(time.Now()); err != nil {
		return Extended{}, invalid(err)
	}
	if o.RequestID == "" {
		o.RequestID = uuid.NewString()
	}
	var before position
	var refused error
	for range extendTries {
		p, err := c.locate(ctx, id)
		if err != nil {
			return Extended{}, err
		}
		if refused != nil && p.standsAs(before) {
			if errors.Is(refused, errClosed) {
				return Extended{}, ended(id, refused)
			}
			return Extended{}, fail(ctx, id, "extending "+id, refused)
		}
		extended, err := c.extendAt(ctx, p, o)
		if !overtaken(err) {
			return extended, failing(ctx, id, err)
		}
		before, refused = p, err
	}
	return Extended{}, errorf(Refused, refused, "%s is begun and ended by others at this very time; try again", id)
}

// failing is the Error of an extension that failed; nil where it did not.
func failing(ctx context.Context, id string, err error) error {
	if err == nil {
		return nil
	}
	return fail(ctx, id, "extending "+id, err)
}

func (o ExtendOptions) check(now time.Time) error {
	if err := checkBudget(o.Budget, now); err != nil {
		return err
	}
	for _, limit := range o.Lift {
		if !slices.Contains(domain.Limits(), limit) {
			return domain.Errorf(domain.Invalid, "lift: %q is none of %v", string(limit), domain.Limits())
		}
	}
	return nil
}

// changes reports whether anything is to be different.
func (o ExtendOptions) changes() bool { return !o.Budget.IsEmpty() || len(o.Lift) > 0 }

// errOvertaken is the cause of a refusal that was true a moment ago.
var errOvertaken = errors.New("somebody else was faster")

// overtaken reports whether an error may come from something that happened
// after the agent was looked at.
func overtaken(err error) bool {
	if errors.Is(err, errClosed) || errors.Is(err, errOvertaken) {
		return true
	}
	if isAs[*Error](err) {
		return false
	}
	refusal, ok := refusalOf(err)
	return ok && refusal.Kind == domain.Denied
}

// standsAs reports whether nothing has begun or ended in between.
func (p position) standsAs(before position) bool {
	return p.runID() == before.runID() && p.number == before.number && p.open() == before.open() &&
		(p.ended == nil) == (before.ended == nil)
}

// extendAt extends an agent that was looked at. What the workflow refuses comes
// back as it is.
func (c *Client) extendAt(ctx context.Context, p position, o ExtendOptions) (Extended, error) {
	switch {
	case p.ended == nil && !o.changes():
		return Extended{}, errorf(Invalid, nil, "extend: no new total is given, and execution %d of %s is in progress; say what to change, such as max_steps", p.number, p.called())
	case p.ended != nil && p.ended.Status == domain.StatusCompleted:
		return Extended{}, p.nothingLeft()
	case p.ended != nil && p.name == "":
		return c.goOn(ctx, p, o)
	case p.ended != nil && !p.open():
		return Extended{}, ended(p.called(), nil)
	}
	reply, err := updateAs(ctx, c, p.workflowID(), o.RequestID, contract.UpdateExtend, contract.ExtendRequest{
		Budget: o.Budget, Lift: o.Lift, ExecutionID: p.executionID(p.number),
	})
	switch _, refused := refusalOf(err); {
	case err == nil:
		return p.extended(reply), nil
	case refused || errors.Is(err, errClosed):
		return Extended{}, err
	}
	return Extended{}, fail(ctx, p.called(), "extending "+p.called(), err)
}

// nothingLeft is the refusal to go on from an execution that came to its end.
func (p position) nothingLeft() *Error {
	next := "`run` starts another agent"
	if p.name != "" {
		next = "`send " + p.called() + "` gives it its next message"
		if !p.open() {
			next = "`run --id " + p.called() + "` begins a new session"
		}
	}
	return errorf(Refused, nil, "execution %d of %s is completed, so there is nothing to go on with; %s", p.number, p.called(), next)
}

func (a agent) extended(reply contract.ExtendReply) Extended {
	return Extended{
		Execution: a.begun(contract.SendReply{ExecutionID: reply.ExecutionID, Number: reply.Number, RunID: reply.RunID}),
		Began:     reply.Began, Budget: reply.Budget,
	}
}

// alreadyOpen turns the refusal of a start into being overtaken.
func alreadyOpen(err error) error {
	if isAs[*serviceerror.WorkflowExecutionAlreadyStarted](err) {
		return errOvertaken
	}
	return err
}

// exhausted is the refusal to go on where a limit would stop the execution
// before its first step: it names the limit, what is used, and the flag.
func exhausted(use domain.LimitUse) *Error {
	higher := "a higher total"
	if use.Rule.Unit == domain.UnitTime {
		higher = "a later one"
	}
	return errorf(Refused, nil, "extend: there is nothing left to go on with: %s; give %s with --%s", use, higher, use.Rule.Limit.Flag())
}

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
	view, err := read(ctx, c, p.snapshot, p.runID(), contract.QueryState, contract.StateRequest{From: math.MaxInt32})
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
func (p position) repeated(reply contract.ExtendReply) Extended {
	if reply.Number == p.number {
		reply.ExecutionID, reply.RunID = p.executionID(p.number), p.runID()
	}
	return p.extended(reply)
}

// inputOf reads what a run started with.
func (c *Client) inputOf(ctx context.Context, p position) (contract.SessionInput, error) {
	doing := "reading the history of " + p.called()
	began, err := c.reader(p.agent).First(ctx, p.runID())
	if err != nil {
		return contract.SessionInput{}, fail(ctx, p.called(), doing, err)
	}
	if !began.Readable() {
		return contract.SessionInput{}, errorf(Failed, nil, "%s: what the workflow started with cannot be read", doing)
	}
	return began.Input, nil
}

// successor is the start of the workflow that goes on from a closed run, which
// started with an input and ended in a state.
func (c *Client) successor(ctx context.Context, p position, in contract.SessionInput, view contract.StateView, o ExtendOptions) (opening, error) {
	state, err := domain.DecodeAgentState(view.State)
	if err != nil {
		return opening{}, errorf(Failed, err, "reading the state of %s: %s", p.called(), err)
	}
	budget, _ := state.Budget()
	in.SchemaVersion, in.Prompt, in.Budget, in.Timing = domain.SchemaVersion, "", domain.ExecutionBudget{}, c.cfg.Timing
	in.GoOn = &contract.GoOn{Budget: budget.Extended(o.Budget, o.Lift), RunID: p.runID()}
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
	carry.Extended = []contract.AnsweredUpdate[contract.ExtendReply]{{
		ID: o.RequestID, Reply: contract.ExtendReply{Number: begins.number, Began: true, Budget: in.GoOn.Budget},
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
func (c *Client) loadEntries(ctx context.Context, p position, in *contract.SessionInput) error {
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
	in.GoOn.Copy = &contract.RecordRequest{From: carry.Base, Log: domain.LogRef{Length: next, Digest: log.Chain()}, RunID: p.runID()}
	if err := checkSize("state", in); err != nil {
		return invalid(err)
	}
	return nil
}
