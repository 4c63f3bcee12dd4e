package client

import (
	"context"
	"slices"

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
