package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"slices"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/starter/process"
)

// Execute begins an execution, as Start does, waits for its end, and returns the agent's final state,
// also where it failed or was stopped. It needs a worker. Where ctx ends, the execution goes on.
func (c *Client) Execute(ctx context.Context, s Start) (domain.AgentState, error) {
	var final domain.AgentState
	x, err := c.Start(ctx, s)
	if err == nil && x.Name != "" {
		_, err = c.await(ctx, x.ID, x.Number)
	}
	if err != nil {
		return final, fail(ctx, x.ID, "waiting for "+x.ID, err)
	}
	for final, err = range c.Iterate(ctx, x.ID, IterateOptions{Number: x.Number, After: math.MaxInt}) {
		if err != nil {
			break
		}
	}
	return final, err
}

// IterateOptions choose where Iterate begins. The zero value is the first step
// of the newest execution.
type IterateOptions struct {
	// Number must be the newest execution's; zero is whichever that is.
	Number int
	// After leaves out the states after steps up to this one.
	After int
}

// Iterate yields the agent's state after each step of an execution, with all
// messages and steps until then, the last one as the final state, after all
// hooks: N steps give N values, none gives one. It can be begun at any time, and
// yields what happened before first. A value comes when it is known whether its
// step was the last. Breaking out of the loop leaves the execution as it is.
//
// Where a state can no longer be told it yields an error of class Gone that
// says which, and goes on; any other error ends it. It needs no worker for what
// has happened. A server that goes away is waited for, and Config.Progress is told.
// The final state is gone as soon as the agent begins another execution.
func (c *Client) Iterate(ctx context.Context, id string, o IterateOptions) iter.Seq2[domain.AgentState, error] {
	return sequence(ctx, id, "reading the state of ", func(yield func(domain.AgentState, error) bool) error { return c.iterate(ctx, id, o, yield) })
}

func (c *Client) iterate(ctx context.Context, id string, o IterateOptions, yield func(domain.AgentState, error) bool) error {
	if o.After < 0 {
		return invalidf("after: is %d; steps are counted from 1", o.After)
	}
	s := &stepper{client: c, id: id, done: o.After, yield: yield}
	over, caughtUp := false, false
	var failed error
	err := c.followOne(ctx, id, FollowOptions{Number: o.Number}, func(e Event, err error) bool {
		s.number = e.Number
		switch {
		case err != nil && !Is(err, Gone): // that events are gone says nothing of the steps
			failed = err
			return false
		case e.Type == EventReconnecting:
			c.connection(errors.New(e.Reason))
		case e.Type == EventReconnected:
			c.connection(nil)
		}
		caughtUp = caughtUp || e.earlier
		if caughtUp && (e.earlier || e.Type == domain.EventStepStarted || e.Ended != nil) {
			over, failed = s.look(ctx)
		}
		return !over && failed == nil
	})
	if err = cmp.Or(err, failed); err != nil || over {
		return err
	}
	return errorf(Failed, nil, "execution %d of %s was ended by the server in the middle, so it has no final state", s.number, id)
}

// A stepper puts together the states of one execution, and gives them out. What it has it does not read again. It is used by one
// goroutine.
type stepper struct {
	client  *Client
	id      string
	number  int
	entries []domain.Entry
	steps   []domain.StepExecution
	// lost are the parts that can no longer be read, each once.
	lost []error
	// done is the newest step whose state was given out.
	done int
	// told counts the lost parts that were reported.
	told  int
	yield func(domain.AgentState, error) bool
}

// look gives out what is known beyond that. done: the state was final, or no more is wanted. A server that goes away meanwhile is
// waited for.
func (s *stepper) look(ctx context.Context) (bool, error) {
	state, known, err := s.state(ctx)
	for Is(err, Unreachable) && process.Pause(ctx, 2*askEvery) == nil {
		state, known, err = s.state(ctx)
	}
	if err != nil || !known {
		return false, err
	}
	for ; s.told < len(s.lost); s.told++ {
		if !s.yield(domain.AgentState{}, s.lost[s.told]) {
			return true, nil
		}
	}
	// The newest step that is known not to be the last: another has begun after it.
	certain := state.TransientStepCount() - 1
	for s.done < certain {
		if !s.step(state, certain) {
			return true, nil
		}
	}
	if !state.Status().Terminal() {
		return false, nil
	}
	s.yield(state, nil)
	return true, nil
}

// step gives out the state after the next step, or says of all up to a certain
// one that they are gone.
func (s *stepper) step(state domain.AgentState, certain int) bool {
	held := state.StepExecutions()
	folded := state.StepCount() - len(held)
	if s.done < folded {
		from := s.done + 1
		s.done = min(folded, certain)
		return s.yield(domain.AgentState{}, gone("the states after steps %d to %d can no longer be read", from, s.done))
	}
	s.done++
	after, err := state.AtStep(s.done, held[s.done-folded-1].CompletedAt)
	if err != nil {
		return s.yield(domain.AgentState{}, errorf(Failed, err, "the state after step %d: %s", s.done, err))
	}
	return s.yield(after, nil)
}

// state returns the agent's state as it is now. It reports false where the execution has not begun, or has got on while it was
// read, and is gone where a later one has begun.
func (s *stepper) state(ctx context.Context) (state domain.AgentState, known bool, err error) {
	next := account.Cursor{Part: account.Steps, Execution: s.number, Item: 1}
	if n := len(s.steps); n > 0 {
		next.Item = s.steps[n-1].Step.Number + 1
	}
	all, err := s.client.account(ctx, s.id, account.Request{Want: []account.Part{account.Steps, account.State}, Execution: s.number, From: next})
	if err != nil {
		return state, false, err
	}
	newest := all.Head.Newest
	switch {
	case newest == nil || newest.Number < s.number:
		return state, false, nil
	case newest.Number > s.number:
		return state, false, gone("the state of execution %d of %s: execution %d has begun since, and the workflow keeps the newest alone", s.number, s.id, newest.Number)
	}
	if state, err = stateIn(all, s.id); err != nil {
		return state, false, err
	}
	s.steps = append(s.steps, all.StepExecutions()...)
	s.lose(account.Steps, all.Missing)
	from := 0
	if n := len(s.entries); n > 0 {
		from = s.entries[n-1].Index + 1
	}
	said, err := s.client.account(ctx, s.id, messagesFrom(from))
	if err != nil {
		return state, false, err
	}
	s.entries = append(s.entries, said.Messages...)
	s.lose(account.Messages, said.Missing)
	if len(s.steps) == state.StepCount() {
		state = state.WithStepsUnfolded(s.steps)
	} else if len(s.lost) == 0 {
		return state, false, nil
	}
	held := slices.DeleteFunc(slices.Clone(s.entries), func(e domain.Entry) bool { return e.Index >= all.Head.Position.Length })
	return state.WithMessageStore(domain.StoreOf(held)), true, nil
}

func (s *stepper) lose(part account.Part, missing []account.Missing) {
	for _, m := range missing {
		if m.Part == part {
			s.lost = append(s.lost, gone("%s can no longer be read", m))
		}
	}
}
