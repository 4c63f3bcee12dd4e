package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"

	"everstep/domain"
	"everstep/domain/contract"
)

// Execute begins an execution, as Start does, waits for its end, and returns
// the agent's final state with all messages and steps. An execution that failed
// or was stopped is no error: the state says so. It needs a worker. Where ctx
// ends, the execution goes on.
func (c *Client) Execute(ctx context.Context, s Start) (domain.AgentState, error) {
	x, err := c.Start(ctx, s)
	if err != nil {
		return domain.AgentState{}, err
	}
	var final domain.AgentState
	for state, err := range c.Iterate(ctx, x.ID, IterateOptions{Number: x.Number, After: lastStep}) {
		if err != nil {
			return domain.AgentState{}, err
		}
		final = state
	}
	return final, nil
}

// State returns the agent's state with all messages, and all steps of its newest
// execution. Where parts can no longer be read it returns the state without
// them, and an error of class Gone that says which. It needs a worker.
func (c *Client) State(ctx context.Context, id string) (domain.AgentState, error) {
	p, number, err := c.locateExecution(ctx, id, 0)
	if err != nil {
		return domain.AgentState{}, err
	}
	a := &assembly{telling: telling{client: c, snapshot: p.snapshot}, number: number}
	state, known, err := a.state(ctx, p.runID())
	switch {
	case err != nil:
		return domain.AgentState{}, readFailure(ctx, id, "reading the state of "+id, err)
	case !known:
		return domain.AgentState{}, errorf(Refused, nil, "execution %d of %s is about to begin; ask again in a moment", number, id)
	}
	if len(a.lost) > 0 {
		return state, a.lost[0]
	}
	return state, nil
}

// IterateOptions choose where Iterate begins. The zero value is the first step
// of the newest execution.
type IterateOptions struct {
	// Number must be the newest execution's; zero is whichever that is.
	Number int
	// After leaves out the states after steps up to this one.
	After int
}

// lastStep leaves out all states but the final one.
const lastStep = int(^uint(0) >> 1)

// Iterate yields the agent's state after each step of an execution, the last
// one as the final state, after all hooks: N steps give N values, none gives
// one. It can be begun at any time: what happened before is yielded first, from
// the first step on, unless After says otherwise. The states hold all messages
// and steps until then. A value comes when it is known whether its step was the
// last. Breaking out of the loop, and the end of ctx, leave the execution as it
// is.
//
// Where a state can no longer be told it yields an error of class Gone that
// says which, and goes on; any other error ends it. The workflow is asked
// whenever its history has grown, so it needs a worker: for an execution in
// progress it waits until one is up, and Config.Progress is told. The final
// state is gone as soon as the agent begins another execution.
func (c *Client) Iterate(ctx context.Context, id string, o IterateOptions) iter.Seq2[domain.AgentState, error] {
	return func(yield func(domain.AgentState, error) bool) {
		if err := c.iterate(ctx, id, o, yield); err != nil {
			yield(domain.AgentState{}, readFailure(ctx, id, "reading the state of "+id, err))
		}
	}
}

func (c *Client) iterate(ctx context.Context, id string, o IterateOptions, yield func(domain.AgentState, error) bool) error {
	if o.After < 0 {
		return errorf(Invalid, nil, "after: is %d; steps are counted from 1", o.After)
	}
	p, number, err := c.locateExecution(ctx, id, o.Number)
	if err != nil {
		return err
	}
	follows := number == p.number && p.ended == nil
	s := &stepper{
		assembly: assembly{telling: telling{client: c, snapshot: p.snapshot, insists: follows}, number: number},
		done:     o.After, yield: yield,
	}
	var ended bool
	if follows {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		g := c.watchRuns(ctx, p.snapshot, p.runID())
		ended, err = g.along(ctx, p.runID(), func(runID string) (bool, error) { return s.look(ctx, runID) })
	} else {
		ended, err = s.look(ctx, p.runID())
	}
	if err != nil || ended {
		return err
	}
	return errorf(Failed, nil, "execution %d of %s was ended by the server in the middle, so it has no final state", number, id)
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

// look gives out what a run knows beyond that. It reports true after the final
// state, and where the caller wants no more.
func (s *stepper) look(ctx context.Context, runID string) (bool, error) {
	state, known, err := s.state(ctx, runID)
	if err != nil || !known {
		return false, goneIfDeleted(err, "the state of execution %d of %s: its run has been deleted", s.number, s.snapshot.called())
	}
	for ; s.told < len(s.lost); s.told++ {
		if !s.yield(domain.AgentState{}, s.lost[s.told]) {
			return true, nil
		}
	}
	for s.done < certain(state) {
		if !s.step(state) {
			return true, nil
		}
	}
	if !state.Status().Terminal() {
		return false, nil
	}
	s.yield(state, nil)
	return true, nil
}

// certain is the newest step that is known not to be the last: another has
// begun after it.
func certain(state domain.AgentState) int {
	return state.TransientStepCount() - 1
}

// step gives out the state after the next step, or says that it is gone.
func (s *stepper) step(state domain.AgentState) bool {
	held := state.StepExecutions()
	folded := state.StepCount() - len(held)
	if s.done < folded {
		from := s.done + 1
		s.done = min(folded, certain(state))
		return s.yield(domain.AgentState{}, gone("the states after steps %d to %d can no longer be read", from, s.done))
	}
	s.done++
	after, err := state.AtStep(s.done, held[s.done-folded-1].CompletedAt)
	if err != nil {
		return s.yield(domain.AgentState{}, errorf(Failed, err, "the state after step %d: %s", s.done, err))
	}
	return s.yield(after, nil)
}

// An assembly puts an agent's state together from what the runs of its workflow
// tell by page: the newest state, all messages, and all steps of one execution.
// What it has it does not ask for again. It is used by one goroutine.
type assembly struct {
	telling
	number  int
	entries []domain.Entry
	steps   []json.RawMessage
	// lost are the parts that can no longer be read, each once.
	lost []error
}

// A stateShape is the part of a saved state that says which steps it holds.
type stateShape struct {
	Count     int `json:"execution_count"`
	Execution *struct {
		Folded domain.Folded     `json:"folded"`
		Steps  []json.RawMessage `json:"step_executions"`
	} `json:"execution"`
}

// state returns the agent's state as a run knows it. It reports false where the
// execution that is wanted has not begun there, and is gone where a later one has.
func (a *assembly) state(ctx context.Context, runID string) (domain.AgentState, bool, error) {
	var none domain.AgentState
	view, err := tell(ctx, &a.telling, runID, contract.QueryState, contract.StateRequest{From: math.MaxInt32})
	if err != nil {
		return none, false, err
	}
	shape, err := domain.Decode[stateShape](view.State)
	if err != nil {
		return none, false, unreadable(a.snapshot, err)
	}
	switch {
	case shape.Count > a.number:
		return none, false, gone("the state of execution %d of %s: execution %d has begun since, and the workflow keeps the newest alone", a.number, a.snapshot.called(), shape.Count)
	case shape.Count < a.number || shape.Execution == nil:
		return none, false, nil
	}
	if err := a.loadMessages(ctx, runID, view.Length); err != nil {
		return none, false, err
	}
	whole, err := a.withSteps(ctx, view.State, shape)
	if err != nil {
		return none, false, err
	}
	state, err := domain.DecodeAgentState(whole)
	if err != nil {
		return none, false, unreadable(a.snapshot, err)
	}
	store, err := a.store(view.Length)
	if err != nil {
		return none, false, unreadable(a.snapshot, err)
	}
	return state.WithMessageStore(store), true, nil
}

func unreadable(s snapshot, err error) *Error {
	return errorf(Failed, err, "the state of %s cannot be read; the worker may be of another version: %s", s.called(), err)
}

// loadMessages reads the messages before an index that are still missing: those
// that the run holds, and what lies before them in earlier runs.
func (a *assembly) loadMessages(ctx context.Context, runID string, length int) error {
	for next := a.next(); next < length; {
		page, err := tell(ctx, &a.telling, runID, contract.QueryMessages, contract.MessagesRequest{From: next})
		if err != nil {
			return err
		}
		if page.From > next {
			if err := a.loadEarlier(ctx, next, page.From); err != nil {
				return err
			}
		}
		for _, entry := range page.Entries {
			if entry.Index >= a.next() {
				a.entries = append(a.entries, entry)
			}
		}
		if a.next() <= next {
			return nil
		}
		next = a.next()
	}
	return nil
}

// next is the index after the newest message.
func (a *assembly) next() int {
	if len(a.entries) == 0 {
		return 0
	}
	return a.entries[len(a.entries)-1].Index + 1
}

// loadEarlier reads messages that only earlier runs hold.
func (a *assembly) loadEarlier(ctx context.Context, from, to int) error {
	for entry, err := range a.client.Messages(ctx, a.snapshot.called()) {
		switch {
		case errors.Is(err, &Error{Class: Gone}):
			a.lost = append(a.lost, err)
		case err != nil:
			return err
		case entry.Index >= to:
			return nil
		case entry.Index >= from:
			a.entries = append(a.entries, entry)
		}
	}
	return nil
}

// store holds the messages before an index, by section.
func (a *assembly) store(length int) (domain.MessageStore, error) {
	var names []string
	sections := map[string][]domain.Message{}
	for _, entry := range a.entries {
		if entry.Index >= length {
			break
		}
		if _, known := sections[entry.Section]; !known {
			names = append(names, entry.Section)
		}
		sections[entry.Section] = append(sections[entry.Section], entry.Message)
	}
	var store domain.MessageStore
	for _, name := range names {
		with, err := store.With(name, sections[name]...)
		if err != nil {
			return store, err
		}
		store = with
	}
	return store, nil
}

// withSteps returns the saved state with all steps of the execution in place of
// those that it holds and the totals of those that it does not. Where earlier
// ones can no longer be read it stays as it is.
func (a *assembly) withSteps(ctx context.Context, saved json.RawMessage, shape stateShape) (json.RawMessage, error) {
	folded := shape.Execution.Folded.Steps
	if folded > len(a.steps) {
		if err := a.loadSteps(ctx, folded); err != nil {
			return nil, err
		}
	}
	if folded > len(a.steps) {
		return saved, nil
	}
	a.steps = append(a.steps[:folded:folded], shape.Execution.Steps...)
	steps, err := json.Marshal(a.steps)
	if err != nil {
		return nil, err
	}
	return replaced(saved, "execution", func(execution map[string]json.RawMessage) {
		delete(execution, "folded")
		execution["step_executions"] = steps
	})
}

// loadSteps reads the steps up to one that has left the state.
func (a *assembly) loadSteps(ctx context.Context, upTo int) error {
	for step, err := range a.client.Steps(ctx, a.snapshot.called(), a.number) {
		switch {
		case errors.Is(err, &Error{Class: Gone}):
			a.lost = append(a.lost, err)
			return nil
		case err != nil:
			return err
		case step.Step.Number > upTo:
			return nil
		case step.Step.Number > len(a.steps):
			raw, err := json.Marshal(step)
			if err != nil {
				return err
			}
			a.steps = append(a.steps, raw)
		}
	}
	return nil
}

// replaced changes one object in a JSON object and leaves all else as it is.
func replaced(object json.RawMessage, key string, change func(map[string]json.RawMessage)) (json.RawMessage, error) {
	var outer, inner map[string]json.RawMessage
	if err := json.Unmarshal(object, &outer); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(outer[key], &inner); err != nil {
		return nil, err
	}
	change(inner)
	changed, err := json.Marshal(inner)
	if err != nil {
		return nil, err
	}
	outer[key] = changed
	return json.Marshal(outer)
}
