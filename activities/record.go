package activities

import (
	"context"

	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
)

// Record writes a range of the transcript to storage, and answers where it is.
// It may run any number of times: see transcript.Source.Record.
//
// A transcript that cannot be read back any more fails for good, with the code
// context_lost. A storage or a workflow that does not answer is tried again.
func (a *Activities) Record(ctx context.Context, request contract.RecordRequest) (contract.Segment, error) {
	defer pulse(ctx)()
	segment, err := a.config.Transcripts.Record(ctx, request)
	switch {
	case err == nil:
		return segment, nil
	case temporal.IsCanceledError(context.Cause(ctx)):
		return contract.Segment{}, ctx.Err()
	case ctx.Err() != nil:
		return contract.Segment{}, failure(domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted,
			"record: cut off before the segment was written"))
	}
	return contract.Segment{}, failure(domain.AsError(err))
}
