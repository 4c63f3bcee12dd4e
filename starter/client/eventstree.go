package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"everstep/domain"
)

// A TreeEvent is an event of an agent of a tree. Its header names the agent, and the one that started it.
type TreeEvent struct {
	domain.Event
	// Path are the names by which the agent was started, from the root on, whose own is empty.
	Path []string
}

// MarshalJSON writes a domain.RecordedEvent; of a sub-agent with its path, and how deep it is.
func (e TreeEvent) MarshalJSON() ([]byte, error) {
	event, err := json.Marshal(domain.RecordedEvent{Event: e.Event})
	if err != nil || len(e.Path) == 0 {
		return event, err
	}
	where, err := json.Marshal(struct {
		Depth int      `json:"depth"`
		Path  []string `json:"path"`
	}{len(e.Path), e.Path})
	if err != nil {
		return nil, err
	}
	return append(append(bytes.TrimSuffix(event, []byte("}")), ','), where[1:]...), nil
}

// TreeEvents yields the events of an execution, as Events does, and those of all sub-agents below the execution: of each agent each once and in
// order, and all of a sub-agent between the SubagentSpawning and the SubagentCompleted that are about it. Those that work
// side by side come as they are told, which is not the same each time. Where those of a sub-agent can no longer be read,
// or its end cannot, it yields an error of class Gone that says so, and goes on. Number zero is the newest execution.
func (c *Client) TreeEvents(ctx context.Context, id string, number int) iter.Seq2[TreeEvent, error] {
	return sequence(ctx, id, "reading the events of ", func(yield func(TreeEvent, error) bool) error {
		return followTree(ctx, id, number, treeEvents{c}, yield)
	})
}

// treeEvents tells what each agent of a tree has noted.
type treeEvents struct{ client *Client }

// patience is none: each event is told.
func (t treeEvents) patience() time.Duration { return 0 }
func (t treeEvents) goesOn(err error) bool   { return errors.Is(err, &Error{Class: Gone}) }

func (t treeEvents) of(ctx context.Context, id string, number int, _ kin) iter.Seq2[TreeEvent, error] {
	return func(yield func(TreeEvent, error) bool) {
		for event, err := range t.client.Events(ctx, id, EventsOptions{Number: number}) {
			if !yield(TreeEvent{Event: event}, err) {
				return
			}
		}
	}
}

func (t treeEvents) marked(e TreeEvent, whose kin) (TreeEvent, bool) {
	e.Path = whose.path
	return e, true
}

func (t treeEvents) child(e TreeEvent) (id domain.AgentID, name string, ends bool) {
	switch of := e.Event.(type) {
	case domain.SubagentSpawning:
		return of.ChildID, of.Subagent, false
	case domain.SubagentCompleted:
		return of.ChildID, of.Subagent, true
	}
	return id, "", false
}

func (t treeEvents) lost(whose kin, why error) (TreeEvent, error) {
	return TreeEvent{}, errorf(Gone, why, "sub-agent %s (%s): %s", whose.name(), whose.agent, why)
}
