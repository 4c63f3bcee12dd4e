package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"

	"everstep/domain"
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
	reply, err := updateAs(ctx, c, p.workflowID(), o.RequestID, domain.UpdateExtend, domain.ExtendRequest{
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

func (a agent) extended(reply domain.ExtendReply) Extended {
	return Extended{
		Execution: a.begun(domain.SendReply{ExecutionID: reply.ExecutionID, Number: reply.Number, RunID: reply.RunID}),
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
