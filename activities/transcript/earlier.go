package transcript

import (
	"context"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// complete puts what is needed before the workflow's answer in front of it.
func (s *Source) complete(ctx context.Context, run workflow.Execution, want request, held domain.Log, got answer) (none domain.Log, _ error) {
	if !got.located {
		// The segments come with the run's first message only.
		page, err := s.query(ctx, run, contract.MessagesRequest{Limit: 1})
		if err != nil {
			return none, err
		}
		if page.Base < got.log.Base() {
			return none, mismatchf("the workflow holds messages from %d on, not from %d", page.Base, got.log.Base())
		}
		got.segments = page.Segments
	}
	if want.ref.Length < got.log.Base() {
		return s.earlier(ctx, run.ID, got.segments, held, want.from, want.ref)
	}
	before, _ := got.log.ChainAt(got.log.Base())
	upto := domain.LogRef{Length: got.log.Base(), Digest: before}
	earlier, err := s.earlier(ctx, run.ID, got.segments, held, want.from, upto)
	if err != nil {
		return none, err
	}
	return earlier.Join(got.log.Entries()...)
}

// earlier returns the messages from an index up to one that the workflow does not hold any more, or to the first that it holds:
// from memory where it has them, else from the segments that are needed.
func (s *Source) earlier(ctx context.Context, workflowID string, segments []contract.Segment, held domain.Log, from int, upto domain.LogRef) (domain.Log, error) {
	if log, ok := covered(held, from, upto); ok {
		return log, nil
	}
	var log domain.Log
	for _, segment := range segments {
		if segment.To <= from {
			log = domain.LogAt(segment.To, segment.Digest)
			continue
		}
		if log.Len() >= upto.Length {
			break
		}
		if segment.From > max(from, log.Len()) {
			return log, lostf("messages %d to %d are in no segment", max(from, log.Len()), segment.From-1)
		}
		if known, ok := covered(held, from, domain.LogRef{Length: segment.To, Digest: segment.Digest}); ok {
			log = known
			continue
		}
		stored, err := s.read(ctx, workflowID, segment)
		if err != nil {
			return log, err
		}
		if segment.From > log.Len() {
			// The segment's own digest covers what came before.
			log = domain.LogAt(segment.From, stored.before)
		}
		log, err = log.Join(stored.entries...)
		if err != nil || log.Len() != segment.To || log.Chain() != segment.Digest {
			return log, mismatchf("messages %d to %d, as stored in %s, are not those that were recorded",
				segment.From, segment.To-1, segment.Key(workflowID))
		}
	}
	if log.Len() < upto.Length {
		return log, lostf("messages %d to %d are in no segment", max(from, log.Len()), upto.Length-1)
	}
	if log.Len() > upto.Length { // it ends within a segment
		log, _ = log.Upto(upto.Length)
	}
	if log.Ref() != upto {
		return log, mismatchf("the stored messages before %d are not those that the workflow continues", upto.Length)
	}
	return log, nil
}

// covered returns what is held before upto, where that is all from an index on.
func covered(held domain.Log, from int, upto domain.LogRef) (domain.Log, bool) {
	if held.Base() > from || !has(held, upto) {
		return domain.Log{}, false
	}
	return prefix(held, upto.Length)
}
