package client

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"

	"everstep/activities/build"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// Steps yields the completed steps of an execution in order. Number zero is the newest. It needs no worker. Where some can no
// longer be read it yields, in their place, an error of class Gone that says which; any other error ends it.
func (c *Client) Steps(ctx context.Context, id string, number int) iter.Seq2[domain.StepExecution, error] {
	return sequence(ctx, id, "reading the steps of ", func(yield func(domain.StepExecution, error) bool) error {
		all, err := c.execution(ctx, id, number, account.Steps)
		if err != nil {
			return err
		}
		yieldAll(account.Steps, all.StepExecutions(), func(s domain.StepExecution) int { return s.Step.Number }, all.Missing, yield)
		return nil
	})
}

// execution reads parts of one execution, of which number zero is the newest.
func (c *Client) execution(ctx context.Context, id string, number int, want ...account.Part) (account.Account, error) {
	if number < 0 {
		return account.Account{}, invalidf("execution: is %d; executions are counted from 1", number)
	}
	all, err := c.account(ctx, id, account.RequestOf(cmp.Or(number, account.Newest), append(want, account.Executions)...))
	if err == nil {
		err = c.checkHas(all, id, number)
	}
	return all, err
}

// checkHas refuses an account, which was read for an execution, without that; number zero is the newest.
func (c *Client) checkHas(all account.Account, id string, number int) error {
	if len(all.Executions) > 0 || number == 0 {
		return nil
	}
	newest := 0
	if all.Head.Newest != nil {
		newest = all.Head.Newest.Number
	}
	switch {
	case all.Server.Unread != "":
		return gone("%s", all.Server.Unread)
	case number <= newest:
		return gone("execution: nothing is left of execution %d of %s", number, id)
	case number == newest+1 && all.Head.BeginsNext():
		return nil
	case c.unreached != nil:
		return errorf(Unreachable, c.unreached, "%s; the records know of execution %d of %s, and of no later one", c.unreached.Message, newest, id)
	}
	return notFound("execution: %s has no execution %d; its newest is %d", id, number, newest)
}

// Messages yields the agent's transcript over all its executions in order. It needs no worker. Where a part can no longer be
// read it yields, in its place, an error of class Gone that says which; any other error ends it.
func (c *Client) Messages(ctx context.Context, id string) iter.Seq2[domain.Entry, error] {
	return c.MessagesFrom(ctx, id, 0)
}

// MessagesFrom is Messages from an index on.
func (c *Client) MessagesFrom(ctx context.Context, id string, index int) iter.Seq2[domain.Entry, error] {
	return sequence(ctx, id, "reading the messages of ", func(yield func(domain.Entry, error) bool) error {
		all, err := c.account(ctx, id, messagesFrom(index))
		if err == nil {
			more := yieldAll(account.Messages, all.Messages, account.MessageIndex, all.Missing, yield)
			if more && all.Server != nil && all.Server.Unread != "" {
				err = gone("the messages after those can no longer be read: %s", all.Server.Unread)
			}
		}
		return err
	})
}

// messagesFrom asks for the messages from an index on.
func messagesFrom(index int) account.Request {
	return account.Request{Want: []account.Part{account.Messages}, From: account.Cursor{Part: account.Messages, Item: index}}
}

// yieldAll yields a list with, in the place of what is missing of it, errors that say so. It reports whether more is wanted.
func yieldAll[T any](part account.Part, list []T, number func(T) int, missing []account.Missing, yield func(T, error) bool) bool {
	missing = slices.DeleteFunc(slices.Clone(missing), func(m account.Missing) bool { return m.Part != part })
	missingBefore := func(item int) bool {
		for ; len(missing) > 0 && missing[0].From < item; missing = missing[1:] {
			var none T
			if !yield(none, gone("%s can no longer be read", missing[0])) {
				return false
			}
		}
		return true
	}
	for _, one := range list {
		if !missingBefore(number(one)) || !yield(one, nil) {
			return false
		}
	}
	return missingBefore(math.MaxInt)
}

// Edits are what rewinds and clears have made of an agent's messages, among others.
func (c *Client) Edits(ctx context.Context, id string) (domain.Edits, error) {
	all, err := c.Account(ctx, id)
	if err != nil {
		return domain.Edits{}, err
	}
	return all.Head.Position.Edits, nil
}

// State returns the agent's state with all messages that no rewind or clear has taken back, and all steps of its newest execution. It
// needs no worker. Where parts can no longer be read an error of class Gone beside it says which.
func (c *Client) State(ctx context.Context, id string) (domain.AgentState, error) {
	all, err := c.Account(ctx, id, account.State, account.Executions, account.Steps, account.Messages)
	if err != nil {
		return domain.AgentState{}, err
	}
	state, err := stateIn(all, id)
	if err != nil {
		return state, err
	}
	all.Steps = slices.DeleteFunc(all.Steps, func(s account.Step) bool { return s.Execution != state.ExecutionCount })
	if steps := all.StepExecutions(); len(steps) == state.StepCount() {
		state = state.WithStepsUnfolded(steps)
	}
	state = state.WithMessageStore(domain.StoreOf(all.Head.Position.Edits.OnPath(all.Messages))).WithBuild(build.ID())
	for _, m := range all.Missing {
		if m.Part == account.Messages || m.Part == account.Steps && m.Execution == state.ExecutionCount {
			return state, gone("%s can no longer be read", m)
		}
	}
	return state, nil
}

// stateIn is the agent's state in an account, without messages and steps. A record has that of its execution, before any rewind.
func stateIn(all account.Account, id string) (domain.AgentState, error) {
	position := all.Head.Position
	state, err := domain.DecodeAgentState(all.Head.State)
	if err == nil && all.Server.Source == contract.FromRecords && position.From != nil {
		state, err = state.WithOrigin(position.From, position.Moved.At)
	}
	if err != nil {
		return state, unreadableState(id, err)
	}
	return state, nil
}

func unreadableState(id string, err error) *Error {
	return errorf(Failed, err, "the state of %s cannot be read; the worker may be of another version: %s", id, err)
}

// sequence yields what a reading does, and its error in the end.
func sequence[T any](ctx context.Context, id, doing string, read func(yield func(T, error) bool) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := read(yield); err != nil {
			var none T
			yield(none, fail(ctx, id, doing+id, err))
		}
	}
}
