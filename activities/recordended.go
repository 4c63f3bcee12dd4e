package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/contract"
)

func (a *Activities) record(ctx context.Context, request contract.RecordRequest) (none contract.Segment, _ error) {
	if request.Ended != nil {
		return none, a.recordEnded(ctx, *request.Ended)
	}
	if request.Moved != nil {
		return none, a.recordPosition(ctx, *request.Moved)
	}
	segment, err := a.config.Transcripts.Record(ctx, request)
	if err == nil && request.RunID == "" && request.WorkflowID == "" && a.config.Records != nil {
		if err := a.recordPart(ctx); err != nil {
			activity.GetLogger(ctx).Warn("the steps of this run are not among the records; they are lost if the server deletes it before the execution ends", "error", err)
		}
	}
	return segment, err
}

// recordPart puts what this run holds of an execution in progress among the records, before another one continues it: its
// steps and events. Its messages are in segments then.
func (a *Activities) recordPart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // so long a store of records may hold up a run that is about to be continued
	defer cancel()
	told, goesOn, err := a.config.Transcripts.InProgress(ctx)
	if err != nil || !goesOn || len(told.Steps) == 0 {
		return err
	}
	return a.config.Records.Record(ctx, record.Part{
		Ref:   record.Ref{AgentID: told.Head.AgentID, ExecutionID: told.Head.Newest.ExecutionID, Number: told.Head.Newest.Number},
		RunID: told.Head.Run.ID, Steps: told.StepExecutions(), Events: told.Events,
	})
}

// recordEnded puts an execution among the records. What of it can no longer be told is missing there, and said to be.
func (a *Activities) recordEnded(ctx context.Context, ended contract.EndedExecution) error {
	if err := a.checkRecords(); err != nil {
		return err
	}
	told, began, err := a.config.Transcripts.Ended(ctx, ended, false)
	if err != nil {
		return err
	}
	r, err := record.Of(told)
	if err == nil && !began {
		r, err = a.withEarlier(ctx, ended, r)
	}
	if err == nil {
		err = a.config.Records.Record(ctx, r)
	}
	if err != nil || began {
		return err
	}
	if err := a.config.Records.ForgetParts(ctx, r.Ref()); err != nil {
		activity.GetLogger(ctx).Warn("parts of an execution that is recorded as a whole are still among the records", "error", err)
	}
	return nil
}

// withEarlier returns the record of an execution with what runs before its last have recorded as parts. Where those miss
// something the runs themselves are asked too.
func (a *Activities) withEarlier(ctx context.Context, ended contract.EndedExecution, r record.Record) (record.Record, error) {
	parts, err := a.config.Records.Parts(ctx, r.Ref())
	if err != nil {
		return r, err
	}
	r, err = r.WithParts(parts)
	if err != nil || len(r.Missing) == 0 {
		return r, err
	}
	told, _, err := a.config.Transcripts.Ended(ctx, ended, true)
	if err != nil {
		return r, err
	}
	if r, err = record.Of(told); err == nil {
		r, err = r.WithParts(parts)
	}
	return r, err
}

func (a *Activities) checkRecords() error {
	if a.config.Records == nil {
		return lacking(domain.Errorf(domain.Unavailable, "records: this worker has none; give it those of the others with --records (EVERSTEP_RECORDS)"))
	}
	return nil
}

// recordPosition puts the position of an idle session among the records. Where the session has been moved again since, or an
// execution has begun, there is nothing to do: a later record says where the session stands, or from where it went on.
func (a *Activities) recordPosition(ctx context.Context, moved contract.Move) error {
	if err := a.checkRecords(); err != nil {
		return err
	}
	head, err := a.config.Transcripts.Moved(ctx, moved)
	if err != nil {
		return err
	}
	stands := head.Position.Moved != nil && head.Position.Moved.Number == moved.Number && head.Newest != nil && head.Newest.Number == moved.After
	if !stands || head.Newest.Ended == nil {
		return nil
	}
	p, err := record.PositionOf(head)
	if err != nil {
		return err
	}
	return a.config.Records.Record(ctx, p)
}
