package transcript

import (
	"context"
	"slices"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// Arguments returns the exact arguments of the call at a position of a message, and
// fails with the code context_lost where they are not those that ref names. It must
// be called by an activity.
func (s *Source) Arguments(ctx context.Context, ref contract.ArgumentsRef, position int) (string, error) {
	return s.arguments(ctx, activity.GetInfo(ctx).WorkflowExecution, ref, position)
}

func (s *Source) arguments(ctx context.Context, run workflow.Execution, ref contract.ArgumentsRef, position int) (string, error) {
	index := ref.Message
	right := func(e domain.Entry) (arguments string, ok bool) {
		if calls := e.Message.ToolCalls; position >= 0 && position < len(calls) {
			arguments = calls[position].Arguments
		}
		return arguments, domain.DigestOf([]byte(arguments)) == ref.Digest
	}
	log, _, _ := s.Cache.Find(run.ID)
	if found, ok := log.At(index); ok {
		if arguments, ok := right(found); ok {
			return arguments, nil
		}
	}
	page, err := s.query(ctx, run, contract.MessagesRequest{From: index, Limit: 1})
	entries := page.Entries
	if err == nil && index < page.Base {
		entries, err = s.readAround(ctx, run.ID, page.Segments, index)
	}
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(entries, func(e domain.Entry) bool { return e.Index == index })
	if at < 0 {
		return "", lostf("there is no message %d; the workflow holds %d", index, page.Length)
	}
	arguments, ok := right(entries[at])
	if !ok {
		return "", lostf("message %d is not the one that the activity was given", index)
	}
	return arguments, nil
}

// readAround reads the segment that holds a message: the workflow has handed it
// on.
func (s *Source) readAround(ctx context.Context, workflowID string, segments []contract.Segment, index int) ([]domain.Entry, error) {
	for _, segment := range segments {
		if segment.From <= index && index < segment.To {
			found, err := s.read(ctx, workflowID, segment)
			return found.entries, err
		}
	}
	return nil, lostf("message %d is in no segment", index)
}
