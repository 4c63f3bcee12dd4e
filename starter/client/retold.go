package client

import (
	"context"
	"slices"
	"sync"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// A retelling tells what a run holds that has continued as new, by its history alone, or that only a
// worker can tell it.
type retelling func(ctx context.Context, of part) (progress.Retold, bool)

// retold reads a run's history. What keeps it from being read a worker is asked for, or tells.
func (c *Client) retold(a agent) retelling {
	return func(ctx context.Context, of part) (progress.Retold, bool) {
		if of.next == nil {
			return progress.Retold{}, false
		}
		run := progress.Retell(*of.began)
		if run.Silent() {
			return progress.Retold{}, false
		}
		for recorded, err := range c.reader(a).Forwards(ctx, of.runID) {
			if err != nil {
				return progress.Retold{}, false
			}
			if run.Take(recorded.Fact, recorded.At); run.Silent() {
				return progress.Retold{}, false
			}
		}
		return run.Told(*of.next)
	}
}

// pageOf is what a run holds of an execution, where it was told.
func (t target) pageOf(told progress.Retold, ok bool, from int) (readSteps, bool) {
	if !ok || told.ExecutionID != t.want() {
		return readSteps{}, false
	}
	steps := told.Steps[min(max(from-told.Steps[0].Step.Number, 0), len(told.Steps)):]
	return readSteps{StepsPage: contract.StepsPage{ExecutionID: told.ExecutionID, Number: t.asked}, steps: steps, retold: true}, true
}

func messagesOf(told progress.Retold, ok bool, from int) (contract.MessagesPage, bool) {
	if !ok {
		return contract.MessagesPage{}, false
	}
	i := slices.IndexFunc(told.Entries, func(e domain.Entry) bool { return e.Index >= from })
	if i < 0 {
		i = len(told.Entries)
	}
	return contract.MessagesPage{Entries: told.Entries[i:], From: from, Length: from + len(told.Entries) - i}, true
}

// retellings are what is told of runs while somebody else reads their histories.
type retellings struct {
	mu   sync.Mutex
	runs map[string]chan retold
	// over is closed when no more is told.
	over chan struct{}
}

// A retold is what was told of a run, or that only a worker can tell it.
type retold struct {
	progress.Retold
	ok bool
}

func newRetellings() *retellings {
	return &retellings{runs: map[string]chan retold{}, over: make(chan struct{})}
}

func (r *retellings) run(id string) chan retold {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs[id] == nil {
		r.runs[id] = make(chan retold, 1)
	}
	return r.runs[id]
}

// tell tells of a run, once; next is what the one that goes on took over.
func (r *retellings) tell(run string, of *progress.Retelling, next progress.RunBegan) {
	if r == nil {
		return
	}
	told, ok := of.Told(next)
	r.run(run) <- retold{told, ok}
}

// end says that no more is told.
func (r *retellings) end() {
	if r != nil {
		close(r.over)
	}
}

// of waits until a run is told of, and is asked once for each.
func (r *retellings) of(ctx context.Context, of part) (progress.Retold, bool) {
	var told retold
	run := r.run(of.runID)
	if of.next != nil {
		select {
		case told = <-run:
		case <-ctx.Done():
		case <-r.over:
			select {
			case told = <-run:
			default:
			}
		}
	}
	return told.Retold, told.ok
}
