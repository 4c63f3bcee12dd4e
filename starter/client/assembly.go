package client

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"everstep/domain"
)

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
	view, err := tell(ctx, &a.telling, runID, domain.QueryState, domain.StateRequest{From: math.MaxInt32})
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
		page, err := tell(ctx, &a.telling, runID, domain.QueryMessages, domain.MessagesRequest{From: next})
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
