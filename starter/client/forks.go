package client

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"golang.org/x/sync/errgroup"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

// A forkSearch looks for the agents that were forked from some, or from such, and for those that still copy messages.
type forkSearch struct {
	client *Client
	from   map[domain.AgentID]bool

	mu    sync.Mutex
	found map[string]foundFork
}

// A foundFork is an agent that was forked from another one.
type foundFork struct {
	id, origin domain.AgentID
	// copied says that it has the origin's messages in its storage alone, and copying that it does not have them yet.
	copied, copying bool
}

// forks adds the forks of the agents to be deleted. A fork has messages of its origin in its input or in segments of its
// own, and needs the origin only until those are written.
func (c *Client) forks(ctx context.Context, b *Belongings, agents map[domain.AgentID]bool) error {
	search := forkSearch{client: c, from: agents, found: map[string]foundFork{}}
	looked, whole, err := search.run(ctx)
	if err != nil {
		return err
	}
	forks := search.below()
	for _, id := range slices.Sorted(maps.Keys(forks)) {
		b.Forks = append(b.Forks, id)
		if forks[id].copying {
			b.copying = id
		}
		text := id + " was forked from it and keeps the conversation up to the fork"
		if forks[id].copied {
			text += ", in the storage of its workers, where its model reads it; `messages` can no longer show it"
		}
		remain(&b.remains, RemainsInFork, id, "%s", text)
	}
	if !whole {
		remain(&b.remains, RemainsUnknown, "", "agents that were forked from it keep the conversation up to the fork; only %d workflows were looked at for such", looked)
	}
	return nil
}

// below are the forks of the agents, and forks of these.
func (s *forkSearch) below() map[string]foundFork {
	below, from := map[string]foundFork{}, maps.Clone(s.from)
	for grown := true; grown; {
		grown = false
		for id, f := range s.found {
			if _, known := below[id]; !known && from[f.origin] {
				below[id], from[f.id], grown = f, true, true
			}
		}
	}
	return below
}

// run looks at the agents that the server lists, at 5,000 and for a minute at most, and says how many, and whether those are all.
func (s *forkSearch) run(ctx context.Context) (looked int, whole bool, err error) {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var looking errgroup.Group
	looking.SetLimit(8)
	whole = true
	for info, err := range s.client.visible(limited, ListOptions{}) {
		if err != nil && limited.Err() == nil {
			_ = looking.Wait() // that is told already
			return looked, false, err
		}
		if whole = err == nil && looked < 5000 && limited.Err() == nil; !whole {
			break
		}
		looked++
		looking.Go(func() error { return s.look(limited, info) })
	}
	if err = looking.Wait(); err != nil && limited.Err() != nil && ctx.Err() == nil {
		return looked, false, nil
	}
	return looked, whole, err
}

// look notes of a workflow from which agent it was forked, if from any.
func (s *forkSearch) look(ctx context.Context, info *workflowpb.WorkflowExecutionInfo) error {
	a, is := agentOfWorkflow(info.GetExecution().GetWorkflowId())
	if !is || s.from[a.id] {
		return nil
	}
	run, copying := info.GetExecution().GetRunId(), false
	began, err := s.client.reader(a).First(ctx, run)
	if err == nil && info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		copying, err = s.copies(ctx, a, run, began.Input)
	}
	if err == nil && began.Input.Fork == nil && began.Continues != "" { // the first run tells
		var first snapshot
		if first, err = s.client.described(ctx, a, run); err == nil {
			began, err = s.client.reader(a).First(ctx, first.firstRunID())
		}
	}
	fork := began.Input.Fork
	switch {
	case deleted(err):
		return nil
	case err != nil || fork == nil:
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.found[a.called()]
	s.found[a.called()] = foundFork{
		id: a.id, origin: fork.Origin.AgentID, copied: fork.Copy != nil || before.copied, copying: copying || before.copying,
	}
	return nil
}

// copies reports whether a run is to copy messages of one of the agents first, and does not have them in its storage yet.
func (s *forkSearch) copies(ctx context.Context, a agent, run string, in contract.SessionInput) (bool, error) {
	copies := copyOf(in)
	if copies == nil {
		return false, nil
	}
	if origin, _ := agentOfWorkflow(copies.WorkflowID); !s.from[origin.id] {
		return false, nil
	}
	events, err := s.client.reader(a).Events(ctx, run)
	return len(history.Replies(s.client.cfg.Converter, events, contract.Record)) == 0, err
}

// copyOf is what a run has to copy from another agent before anything else; nil: nothing.
func copyOf(in contract.SessionInput) *contract.RecordRequest {
	var copies *contract.RecordRequest
	switch {
	case in.Fork != nil:
		copies = in.Fork.Copy
	case in.Carry != nil:
		copies = in.Carry.Copy
	}
	if copies == nil || copies.WorkflowID == "" {
		return nil
	}
	return copies
}
