package client

import (
	"context"

	"everstep/domain/contract"
)

// SuspendOptions say why a session is suspended, as whoever is refused is told, and by whom, by their own word; empty: the process,
// as Config.By names it.
type SuspendOptions = contract.SuspendRequest

// A Suspending says what has become of a request to suspend a session, or to end that.
type Suspending struct {
	ID string `json:"id"`
	contract.SuspendReply
}

// Suspend has the session of a named agent accept nothing until Unsuspend: no message, and no going on. The execution in
// progress comes to its end, and what waits begins none. It is refused by agents without a name and sessions that are
// closed. It needs a worker, as Send does.
func (c *Client) Suspend(ctx context.Context, id string, o SuspendOptions) (Suspending, error) {
	if err := contract.CheckSaid(o.By, o.Reason); err != nil {
		return Suspending{}, invalid(err)
	}
	o.By = c.speaker(o.By)
	return suspending(ctx, c, id, "suspending", contract.UpdateSuspend, o)
}

// Unsuspend ends that. It needs a worker, as Send does.
func (c *Client) Unsuspend(ctx context.Context, id string) (Suspending, error) {
	return suspending(ctx, c, id, "unsuspending", contract.UpdateUnsuspend, contract.UnsuspendRequest{})
}

func suspending[In any](ctx context.Context, c *Client, id, doing string, name contract.Update[In, contract.SuspendReply], in In) (Suspending, error) {
	s, err := c.session(ctx, id, "has no session to suspend; pause or stop its execution")
	if err != nil {
		return Suspending{}, err
	}
	reply, err := update(ctx, c, s.agent, "", name, in)
	return Suspending{id, reply}, s.fail(ctx, doing, err)
}

// A Cleared says how many messages of a session the model sees no more. Those that a rewind has taken back it did not see
// before either.
type Cleared struct {
	ID string `json:"id"`
	contract.ClearReply
}

// Clear rewinds an idle session to before all messages, those that were given too: its next execution begins with its message
// alone. A rewind takes it back. All stays readable, and so does what the session is and has done: calls of unknown outcome, standing approvals,
// trusted values, notes of tools, counts. It is refused while an execution is in progress. It needs a worker, as Send does.
func (c *Client) Clear(ctx context.Context, id string) (Cleared, error) {
	s, err := c.idleSession(ctx, id, "has no session to clear")
	if err != nil {
		return Cleared{}, err
	}
	reply, err := update(ctx, c, s.agent, "", contract.UpdateClear, contract.ClearRequest{})
	return Cleared{id, reply}, s.fail(ctx, "clearing", err)
}
