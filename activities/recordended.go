package activities

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"everstep/activities/record"
	"everstep/activities/transcript"
	"everstep/domain"
	"everstep/domain/contract"
)

// An ExecutionStore takes records of executions that have ended, and before that parts of them. To record one twice does
// no harm. record.Store is one.
type ExecutionStore interface {
	Record(ctx context.Context, r record.Record) error
	RecordPart(ctx context.Context, p record.Part) error
	// Parts are those of an execution, and ForgetParts deletes them.
	Parts(ctx context.Context, r record.Ref) ([]record.Part, error)
	ForgetParts(ctx context.Context, r record.Ref) error
}

func (a *Activities) record(ctx context.Context, request contract.RecordRequest) (contract.Segment, error) {
	if request.Ended != nil {
		return contract.Segment{}, a.recordEnded(ctx, *request.Ended)
	}
	segment, err := a.config.Transcripts.Record(ctx, request)
	if err == nil && request.RunID == "" && request.WorkflowID == "" && a.config.Records != nil {
		if err := a.recordPart(ctx); err != nil {
			activity.GetLogger(ctx).Warn("the steps of this run are not among the records; they are lost if the server deletes it before the execution ends", "error", err)
		}
	}
	return segment, err
}

// partTimeout bounds how long a store of records holds up a run that is about to be continued.
const partTimeout = 10 * time.Second

// recordPart puts the steps that this run holds of an execution in progress among the records, before another one
// continues it. Its messages are in segments then.
func (a *Activities) recordPart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, partTimeout)
	defer cancel()
	run := activity.GetInfo(ctx).WorkflowExecution
	page, steps, err := a.config.Transcripts.Steps(ctx)
	if err != nil || page.Outcome != nil || len(steps) == 0 {
		return err
	}
	agent, err := domain.AgentIDOf(strings.TrimPrefix(run.ID, domain.WorkflowIDPrefix))
	if err != nil {
		return err
	}
	return a.config.Records.RecordPart(ctx, record.Part{
		Ref: record.Ref{AgentID: agent, ExecutionID: page.ExecutionID, Number: page.Number}, RunID: run.RunID, Steps: steps,
	})
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
	began := told.Page.First <= 1 // in the run in which it ended
	if !began && len(r.Missing) > 0 {
		if r, err = a.withParts(ctx, r.Ref(), ended, told); err != nil {
			return err
		}
	}
	if err = a.config.Records.Record(ctx, r); err != nil || began {
		return err
	}
	if err := a.config.Records.ForgetParts(ctx, r.Ref()); err != nil {
		activity.GetLogger(ctx).Warn("parts of an execution that is recorded as a whole are still among the records", "error", err)
	}
	return nil
}

// withParts is the record with the steps that runs had recorded which nobody can ask any more.
func (a *Activities) withParts(ctx context.Context, ref record.Ref, ended contract.EndedExecution, told transcript.Ended) (record.Record, error) {
	parts, err := a.config.Records.Parts(ctx, ref)
	if err != nil {
		return record.Record{}, err
	}
	number := func(s domain.StepExecution) int { return s.Step.Number }
	steps := slices.Clone(told.Steps)
	for _, p := range parts {
		steps = append(steps, p.Steps...) // what was told comes first, and counts
	}
	slices.SortStableFunc(steps, func(x, y domain.StepExecution) int { return cmp.Compare(number(x), number(y)) })
	steps = slices.CompactFunc(steps, func(x, y domain.StepExecution) bool { return number(x) == number(y) })
	return record.Of(told.Page, ended.RunID, steps, told.Entries)
}
