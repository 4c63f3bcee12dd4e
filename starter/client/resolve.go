package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

// ResolveOptions say what a call of unknown outcome really did.
type ResolveOptions struct {
	// Call is the call's id, or as much of its beginning as no other unsettled call of the agent has.
	Call    string
	Verdict domain.Verdict
	// Result is what the call would have answered, where it was done and somebody knows. The model reads it.
	Result string
	// Reason is how you know. It is recorded, and the model reads it.
	Reason string
}

// A Resolution says what was settled.
type Resolution struct {
	ID string `json:"id"`
	contract.ResolveReply
}

// Resolve settles a call of an agent of which nobody knows whether it took effect. Who, when and why are recorded;
// the model is told before it is asked next. It is refused where the agent has ended, where there is no such call,
// and where it is settled. It needs a worker, as Send does.
func (c *Client) Resolve(ctx context.Context, id string, o ResolveOptions) (Resolution, error) {
	if err := (domain.Settlement{Verdict: o.Verdict, Result: o.Result, Reason: o.Reason}).Check(); err != nil {
		return Resolution{}, invalid(err)
	}
	a, err := agentOf(id)
	if err != nil {
		return Resolution{}, err
	}
	s, err := c.describe(ctx, id)
	if err != nil {
		return Resolution{}, err
	}
	if !s.open() {
		return Resolution{}, resolvesNothing(id)
	}
	unsettled, err := history.Unsettled(c.cfg.Converter, s.info().GetMemo())
	if err != nil {
		return Resolution{}, fail(ctx, id, "reading what is unsettled of "+id, err)
	}
	call, err := callOf(unsettled, o.Call)
	if err != nil {
		return Resolution{}, err
	}
	reply, err := update(ctx, c, a, "", contract.UpdateResolve, contract.ResolveRequest{
		Call: call, Verdict: o.Verdict, Result: o.Result, Reason: o.Reason, By: c.cfg.By,
	})
	if errors.Is(err, errClosed) {
		return Resolution{}, resolvesNothing(id)
	}
	return Resolution{id, reply}, fail(ctx, id, "settling a call of "+id, err)
}

func resolvesNothing(id string) *Error {
	return errorf(Refused, nil, "%s has ended: nothing in it makes the call again, and nothing more can be recorded with it; "+
		"what stopped or failed goes on, and then the call can be settled", id).next("`extend %s` goes on", id)
}

// callOf finds a call by its id or the beginning of it. One that is not unsettled may be settled, as the workflow knows.
func callOf(unsettled []domain.UnknownCall, call string) (domain.ToolExecutionID, error) {
	var id domain.ToolExecutionID
	if err := id.UnmarshalText([]byte(call)); err == nil {
		return id, nil
	}
	var found []domain.UnknownCall
	var all []string
	for _, u := range unsettled {
		if call != "" && strings.HasPrefix(u.ID.String(), strings.ToLower(call)) {
			found = append(found, u)
		}
		all = append(all, fmt.Sprintf("%s (%s, step %d of execution %d)", u.ID, u.Tool, u.Step, u.Number))
	}
	switch {
	case len(found) == 1:
		return found[0].ID, nil
	case len(all) == 0:
		return id, errorf(Refused, nil, "call: %q is none of unknown outcome; the agent has none", domain.Shorten(call, 64))
	case len(found) == 0:
		return id, errorf(Refused, nil, "call: %q is none of unknown outcome; these are: %s", domain.Shorten(call, 64), strings.Join(all, ", "))
	}
	return id, errorf(Refused, nil, "call: %q may be any of %d; give more of its id: %s", domain.Shorten(call, 64), len(found), strings.Join(all, ", "))
}
