package activities

import (
	"context"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/contract"
)

// An ExecutionStore takes records of executions that have ended. To record one twice does no harm. record.Store is one.
type ExecutionStore interface {
	Record(ctx context.Context, r record.Record) error
}

func (a *Activities) record(ctx context.Context, request contract.RecordRequest) (contract.Segment, error) {
	if request.Ended == nil {
		return a.config.Transcripts.Record(ctx, request)
	}
	return contract.Segment{}, a.recordEnded(ctx, *request.Ended)
}

// recordEnded puts an execution among the records. What of it can no longer be told is missing there, and said to be.
func (a *Activities) recordEnded(ctx context.Context, ended contract.EndedExecution) error {
	if a.config.Records == nil {
		return lacking(domain.Errorf(domain.Unavailable, "records: this worker has none; give it those of the others with --records (EVERSTEP_RECORDS)"))
	}
	told, err := a.config.Transcripts.Ended(ctx, ended)
	if err != nil {
		return err
	}
	r, err := record.Of(told.Page, ended.RunID, told.Steps, told.Entries)
	if err != nil {
		return err
	}
	return a.config.Records.Record(ctx, r)
}
