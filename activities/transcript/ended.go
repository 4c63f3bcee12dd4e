package transcript

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// An Ended is an execution that has ended, as its runs tell it.
type Ended struct {
	// Page is the last one about it, without its steps.
	Page  contract.StepsPage
	Steps []domain.StepExecution
	// Entries are its messages. Of these and of the steps those are absent that nobody can tell any more.
	Entries []domain.Entry
}

// Ended asks for an execution that has ended: the run that is named, and of the runs before it those that hold a part of it.
// Only activities may call it. Where the run itself is gone the error has the code context_lost.
func (s *Source) Ended(ctx context.Context, want contract.EndedExecution) (Ended, error) {
	return s.ended(ctx, activity.GetInfo(ctx).WorkflowExecution, want)
}

func (s *Source) ended(ctx context.Context, run workflow.Execution, want contract.EndedExecution) (Ended, error) {
	run.RunID = want.RunID
	page, steps, err := s.steps(ctx, run, want.Number)
	if err != nil {
		return Ended{}, err
	}
	if page.Ended == nil {
		return Ended{}, domain.Errorf(domain.Unavailable,
			"record: the worker that was asked does not tell how execution %d ended; are all workers of the same version?", want.Number)
	}
	found, runs := Ended{Page: page}, []workflow.Execution{run}
	for first, previous := page.First, page.Previous; first > 1 && previous != ""; {
		run.RunID = previous
		earlier, held, err := s.steps(ctx, run, want.Number)
		if lost(err) {
			break // what is missing the record says
		}
		if err != nil {
			return Ended{}, err
		}
		if earlier.ExecutionID != page.ExecutionID {
			break
		}
		for len(held) > 0 && held[len(held)-1].Step.Number >= first {
			held = held[:len(held)-1]
		}
		steps, runs = append(held, steps...), append(runs, run)
		first, previous = earlier.First, earlier.Previous
	}
	found.Steps = steps
	found.Entries, err = s.endedEntries(ctx, runs, *page.Ended)
	return found, err
}

// lost reports whether nobody can tell something any more, or this worker cannot: others record what they can.
func lost(err error) bool {
	own, ok := errors.AsType[*domain.Error](err)
	return ok && own.Code == domain.CodeContextLost && !own.Lacking
}

// steps asks one run, and answers its last page with the steps of all.
func (s *Source) steps(ctx context.Context, run workflow.Execution, number int) (page contract.StepsPage, all []domain.StepExecution, err error) {
	first := 0
	for from := 1; from > 0; from = page.Next {
		page, err = put(ctx, s, run, contract.QuerySteps, contract.StepsRequest{Number: number, From: from, Ended: true})
		if err != nil {
			return page, nil, err
		}
		steps, err := page.Kept()
		if err != nil {
			return page, nil, domain.Errorf(domain.Internal, "record: the steps of execution %d: %s", number, err)
		}
		if from == 1 {
			first = page.First
		}
		all = append(all, steps...)
	}
	page.First, page.Steps = first, nil
	return page, all, nil
}

// endedEntries are the messages from the execution's first to its last: as an inference would find them, else what
// each of the runs, the newest first, still holds.
func (s *Source) endedEntries(ctx context.Context, runs []workflow.Execution, ended contract.EndedView) ([]domain.Entry, error) {
	if ended.Log.Length <= ended.From {
		return nil, nil
	}
	found, err := s.fetch(ctx, runs[0], request{from: ended.From, ref: ended.Log})
	if err == nil {
		return found.Entries, nil
	}
	if !lost(err) {
		return nil, err
	}
	var entries []domain.Entry
	end := ended.Log.Length
	for _, run := range runs {
		held, err := s.heldBy(ctx, run, ended.From, end)
		if lost(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(held) > 0 {
			entries, end = append(held, entries...), held[0].Index
		}
	}
	return entries, nil
}

// heldBy are the messages of a range that one run holds in memory.
func (s *Source) heldBy(ctx context.Context, run workflow.Execution, from, end int) (held []domain.Entry, err error) {
	for from < end {
		page, err := put(ctx, s, run, contract.QueryMessages, contract.MessagesRequest{From: from})
		if err != nil {
			return nil, err
		}
		for _, e := range page.Entries {
			if e.Index >= from && e.Index < end {
				held, from = append(held, e), e.Index+1
			}
		}
		if len(page.Entries) == 0 || page.From+len(page.Entries) >= page.Length {
			break
		}
	}
	return held, nil
}

// Steps are those that the activity's own run holds of its newest execution, and the last page about it. Only activities
// may call it.
func (s *Source) Steps(ctx context.Context) (contract.StepsPage, []domain.StepExecution, error) {
	return s.steps(ctx, activity.GetInfo(ctx).WorkflowExecution, 0)
}
