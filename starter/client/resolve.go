package client

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// ResolveOptions say what a call of unknown outcome really did.
type ResolveOptions struct {
	// Call is the call's id, or as much of its beginning as no other unresolved call of the agent has.
	Call    string
	Verdict domain.Verdict
	// Result is what the call would have answered, where it was done and somebody knows. The model reads it.
	Result string
	// Reason is how you know. It is recorded, and the model reads it.
	Reason string
}

// A Resolution says what was resolved.
type Resolution struct {
	ID   string      `json:"id"`
	Wait domain.Wait `json:"wait"`
	// UnknownOutcomes counts the calls of the agent of which nobody knows yet whether they took effect.
	UnknownOutcomes int `json:"outcome_unknown"`
}

// Resolve says what became of a call of an agent of which nobody knows whether it took effect. Who, when and why are recorded;
// the model is told before it is asked next. An agent without a name may have ended: what became of its execution stays
// as it is, and if that goes on its model is told. It is refused where there is no such call, where that is resolved, and
// where a session is over. It needs a worker, as Send does; after the end the resolution waits for one by itself.
func (c *Client) Resolve(ctx context.Context, id string, o ResolveOptions) (Resolution, error) {
	request := contract.AnswerRequest{Verdict: o.Verdict, Text: o.Result, Reason: o.Reason, By: c.speaker("")}
	if err := cmp.Or(request.Answer().CheckOutcome(), request.Check()); err != nil {
		return Resolution{}, invalid(err)
	}
	return whereItStands(ctx, c, id, "resolving a call of", func(p snapshot) (none Resolution, err error) {
		var reply contract.AnswerReply
		switch {
		case p.byServer:
			err = refused("execution %d of %s was ended by the server in the middle, so nothing more can be recorded with it", p.number, p.called())
		case p.ended != nil && p.name == "":
			reply, err = c.resolveEnded(ctx, p, o.Call, request)
		case !p.open():
			err = refused("the session %s has ended: nothing in it makes the call again, and nothing more can be recorded with it", p.called())
		default:
			if request.Call, err = callOf(c.memo(p.info()).Waiting().Of(true), o.Call); err == nil {
				reply, err = update(ctx, c, p.agent, "", contract.UpdateAnswer, request)
			}
		}
		return Resolution{id, reply.Wait, reply.UnknownOutcomes}, err
	})
}

// resolveEnded resolves a call after the end, by a workflow that goes on from what was left and does nothing else: so the
// resolution is as durable as all else, and no end of an execution is another than it was.
func (c *Client) resolveEnded(ctx context.Context, p snapshot, call string, request contract.AnswerRequest) (reply contract.AnswerReply, _ error) {
	in, left, state, err := c.leftBy(ctx, p)
	if err != nil {
		return reply, err
	}
	if request.Call, err = callOf(state.UnresolvedOutcomes(), call); err != nil {
		return reply, err
	}
	if known := state.UnknownOutcome(request.Call); known.ResolvedAs(request.Answer()) {
		return contract.AnswerReply{Wait: known, UnknownOutcomes: len(state.UnresolvedOutcomes())}, nil
	}
	if _, err := state.WithOutcomeResolved(request.Call, request.Answer(), time.Now()); err != nil {
		return reply, err
	}
	extended := in.Carry
	if in = leaving(in); extended != nil {
		left.Carry.Mail.Answers = extended.Mail.Answers // who repeats an extension is still answered
	}
	in.Carry = left.Carry
	in.ResolveOutcome = &contract.OutcomeResolution{EndedRun: contract.EndedRun{RunID: p.runID(), FirstRunID: p.firstRunID()}, Request: request}
	if in.ResolveOutcome.Copy, err = c.loadEntries(ctx, p, &in, left.Position.Length); err != nil {
		return reply, err
	}
	begun, err := c.follow(ctx, p, in, p.number)
	if err != nil && (ctx.Err() == nil || begun.RunID == "") { // what has begun is told of below
		return reply, err
	}
	reply.Wait, err = c.resolved(ctx, p, begun.RunID, request.Call)
	reply.UnknownOutcomes = len(state.UnresolvedOutcomes()) - 1
	return reply, err
}

// resolved waits for the end of a run that resolves a call, and returns that as it says.
func (c *Client) resolved(ctx context.Context, p snapshot, runID string, id domain.ToolExecutionID) (call domain.Wait, _ error) {
	defer time.AfterFunc(updateTry, func() { c.saysNoWorker(ctx, p.queue(), "the call is resolved when one is up") }).Stop()
	ended, err := c.untilClosed(ctx, p.agent, runID, runID)
	switch {
	case ctx.Err() != nil:
		return call, errorf(Cancelled, ctx.Err(), "%s: gave up waiting; the call is resolved when a worker is up", p.called())
	case err != nil:
		return call, err
	}
	if ended.Outcome != nil {
		for _, call = range ended.Outcome.ResolvedOutcomes {
			if call.ToolExecutionID == id {
				return call, nil
			}
		}
	}
	return call, errorf(Failed, nil, "nothing was resolved: the server has ended its workflow; resolve it again")
}

// callOf finds a call by its id or the beginning of it.
func callOf(unresolved []domain.Wait, call string) (domain.ToolExecutionID, error) {
	var id domain.ToolExecutionID
	if err := id.UnmarshalText([]byte(call)); err == nil {
		return id, nil
	}
	ids, names := make([]string, len(unresolved)), make([]string, len(unresolved))
	for i, u := range unresolved {
		ids[i] = u.ToolExecutionID.String()
		names[i] = fmt.Sprintf("%s (%s, step %d of execution %d)", ids[i], u.Tool, u.Step, u.Execution)
	}
	at, err := domain.Choose("call", call, fmt.Sprintf("%q is none of unknown outcome; the agent has none", domain.Shorten(call, 64)), "unknown outcome; these are", ids, names)
	if err != nil {
		return id, err
	}
	return unresolved[at].ToolExecutionID, nil
}
