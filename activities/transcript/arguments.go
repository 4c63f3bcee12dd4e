package transcript

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// Arguments returns the exact arguments of the call that stands at a position
// of a message, and fails with the code context_lost where they are not those
// that ref names. It must be called by an activity.
func (s *Source) Arguments(ctx context.Context, ref contract.ArgumentsRef, position int) (string, error) {
	return s.arguments(ctx, activity.GetInfo(ctx).WorkflowExecution, ref, position)
}

func (s *Source) arguments(ctx context.Context, run workflow.Execution, ref contract.ArgumentsRef, position int) (string, error) {
	right := func(e domain.Entry) bool {
		calls := e.Message.ToolCalls
		return position >= 0 && position < len(calls) && domain.DigestOf([]byte(calls[position].Arguments)) == ref.Digest
	}
	found, err := s.entry(ctx, run, ref.Message, right)
	if err != nil {
		return "", err
	}
	return found.Message.ToolCalls[position].Arguments, nil
}

// entry finds a message that is right: in the cache, else with the workflow,
// else in storage.
func (s *Source) entry(ctx context.Context, run workflow.Execution, index int, right func(domain.Entry) bool) (domain.Entry, error) {
	log, _, _ := s.Cache.Find(run.ID)
	if found, ok := log.At(index); ok && right(found) {
		return found, nil
	}
	page, err := s.query(ctx, run, contract.MessagesRequest{From: index, Limit: 1})
	if err != nil {
		return domain.Entry{}, err
	}
	entries := page.Entries
	if index < page.Base {
		entries, err = s.readAround(ctx, run.ID, page.Segments, index)
		if err != nil {
			return domain.Entry{}, err
		}
	}
	for _, e := range entries {
		if e.Index != index {
			continue
		}
		if right(e) {
			return e, nil
		}
		return domain.Entry{}, lostf("message %d is not the one that the activity was given", index)
	}
	return domain.Entry{}, lostf("there is no message %d; the workflow holds %d", index, page.Length)
}

// readAround reads the segment that holds a message.
func (s *Source) readAround(ctx context.Context, workflowID string, segments []contract.Segment, index int) ([]domain.Entry, error) {
	for _, segment := range segments {
		if segment.From <= index && index < segment.To {
			found, err := s.read(ctx, workflowID, segment)
			return found.entries, err
		}
	}
	return nil, lostf("message %d is in no segment", index)
}
