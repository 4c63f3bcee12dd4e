package client

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
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
	for final, err = range c.Iterate(ctx, x.ID, IterateOptions{Number: x.Number, After: math.MaxInt, insists: true}) {
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
	// insists waits for a worker, also where the execution has ended.
	insists bool
}

// Iterate yields the agent's state after each step of an execution, with all
// messages and steps until then, the last one as the final state, after all
// hooks: N steps give N values, none gives one. It can be begun at any time, and
// yields what happened before first. A value comes when it is known whether its
// step was the last. Breaking out of the loop leaves the execution as it is.
//
// Where a state can no longer be told it yields an error of class Gone that
// says which, and goes on; any other error ends it. It needs a worker: for an
// execution in progress it waits until one is up, and Config.Progress is told.
// The final state is gone as soon as the agent begins another execution.
func (c *Client) Iterate(ctx context.Context, id string, o IterateOptions) iter.Seq2[domain.AgentState, error] {
	return sequence(ctx, id, "reading the state of ", func(yield func(domain.AgentState, error) bool) error { return c.iterate(ctx, id, o, yield) })
}

func (c *Client) iterate(ctx context.Context, id string, o IterateOptions, yield func(domain.AgentState, error) bool) error {
	if o.After < 0 {
		return errorf(Invalid, nil, "after: is %d; steps are counted from 1", o.After)
	}
	t, err := c.target(ctx, id, o.Number)
	if err != nil {
		return err
	}
	s := &stepper{assembly: assembly{telling: telling{client: c, target: t, insists: o.insists || t.running()}}, done: o.After, yield: yield}
	look := func(runID string) (bool, error) { return s.look(ctx, runID) }
	var ended bool
	if t.running() {
		ended, err = c.along(ctx, t.snapshot, t.runID(), look)
	} else {
		ended, err = look(t.runID())
	}
	if err != nil || ended {
		return err
	}
	return errorf(Failed, nil, "execution %d of %s was ended by the server in the middle, so it has no final state", t.asked, id)
}

// A stepper gives out the states of one execution. It is used by one goroutine.
type stepper struct {
	assembly
	// done is the newest step whose state was given out.
	done int
	// told counts the lost parts that were reported.
	told  int
	yield func(domain.AgentState, error) bool
}

// look gives out what a run knows beyond that. done: the state was final, or no more is wanted.
func (s *stepper) look(ctx context.Context, runID string) (bool, error) {
	state, known, err := s.state(ctx, runID)
	if err != nil || !known {
		return false, goneIfDeleted(err, "the state of execution %d of %s: its run has been deleted", s.asked, s.called())
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

// An assembly puts an agent's state together from what the runs of its workflow tell by page.
// What it has it does not ask for again. It is used by one goroutine.
type assembly struct {
	telling
	entries []domain.Entry
	steps   []domain.StepExecution
	// lost are the parts that can no longer be read, each once.
	lost []error
}

// state returns the agent's state as a run knows it. It reports false where the
// execution that is wanted has not begun there, and is gone where a later one has.
func (a *assembly) state(ctx context.Context, runID string) (domain.AgentState, bool, error) {
	view, err := tell(ctx, &a.telling, runID, contract.QueryState, contract.StateRequest{From: math.MaxInt32})
	if err != nil {
		return domain.AgentState{}, false, err
	}
	state, err := domain.DecodeAgentState(view.State)
	_, has := state.Execution()
	switch count := state.ExecutionCount(); {
	case err != nil:
		return state, false, a.unreadable(err)
	case count > a.asked:
		return state, false, gone("the state of execution %d of %s: execution %d has begun since, and the workflow keeps the newest alone", a.asked, a.called(), count)
	case count < a.asked || !has:
		return state, false, nil
	}
	if err := a.loadMessages(ctx, runID); err != nil {
		return state, false, err
	}
	if state, err = a.withSteps(ctx, state); err != nil {
		return state, false, err
	}
	held := slices.DeleteFunc(slices.Clone(a.entries), func(e domain.Entry) bool { return e.Index >= view.Length })
	return state.WithMessageStore(domain.StoreOf(held)), true, nil
}

func (a *assembly) unreadable(err error) *Error {
	return errorf(Failed, err, "the state of %s cannot be read; the worker may be of another version: %s", a.called(), err)
}

func (a *assembly) loadMessages(ctx context.Context, runID string) error {
	from := 0
	if n := len(a.entries); n > 0 {
		from = a.entries[n-1].Index + 1
	}
	insisting := func(ctx context.Context, runID string, r contract.MessagesRequest) (contract.MessagesPage, error) {
		return tell(ctx, &a.telling, runID, contract.QueryMessages, r)
	}
	for entry, err := range a.client.entries(ctx, a.agent, runID, from, insisting) {
		switch {
		case errors.Is(err, &Error{Class: Gone}):
			a.lost = append(a.lost, err)
		case err != nil:
			return err
		default:
			a.entries = append(a.entries, entry)
		}
	}
	return nil
}

// withSteps is the state with all steps of the execution; as it is where earlier ones can no longer be read.
func (a *assembly) withSteps(ctx context.Context, state domain.AgentState) (domain.AgentState, error) {
	folded := state.StepCount() - len(state.StepExecutions())
	if folded > len(a.steps) {
		if err := a.loadSteps(ctx, folded); err != nil || folded > len(a.steps) {
			return state, err
		}
	}
	state = state.WithStepsUnfolded(a.steps[:folded])
	a.steps = state.StepExecutions()
	return state, nil
}

func (a *assembly) loadSteps(ctx context.Context, upTo int) error {
	for step, err := range a.client.Steps(ctx, a.called(), a.asked) {
		switch {
		case errors.Is(err, &Error{Class: Gone}):
			a.lost = append(a.lost, err)
			return nil
		case err != nil:
			return err
		case step.Step.Number > upTo:
			return nil
		case step.Step.Number > len(a.steps):
			a.steps = append(a.steps, step)
		}
	}
	return nil
}
