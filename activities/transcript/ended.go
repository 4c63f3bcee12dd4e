package transcript

import (
	"context"
	"errors"
	"slices"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// largestPage bounds, in bytes, a page that comes compressed: below the 2 MiB of a server whatever it says.
const largestPage = 1_800_000

// Wants is what an activity that records needs of the account of a run: of an execution that has ended, of the position of the
// session, or of the execution in progress.
func Wants(r contract.RecordRequest) account.Request {
	switch {
	case r.Ended != nil:
		return account.Request{
			Want:      []account.Part{account.HeadOf, account.Executions, account.Steps, account.Events, account.State},
			Execution: r.Ended.Number, Bytes: largestPage, LargePage: contract.LargePage{Large: true},
		}
	case r.Moved != nil:
		return account.RequestOf(0, account.HeadOf)
	}
	return account.RequestOf(account.Newest, account.HeadOf, account.Steps, account.Events)
}

// Ended is the account of an execution that has ended, as the run in which it ended tells it, and where earlier is asked for as
// the runs before that tell it too. Of its steps, messages and events those are absent that nobody can tell any more. It
// reports whether the execution began in its last run, which then tells all of it. Only activities may call it. Where the last
// run is gone the error has the code context_lost. A run that is over is replayed for it, which takes its whole history.
func (s *Source) Ended(ctx context.Context, want contract.EndedExecution, earlier bool) (told account.Account, began bool, err error) {
	run := activity.GetInfo(ctx).WorkflowExecution
	run.RunID = want.RunID
	told, held, err := s.account(ctx, run, Wants(contract.RecordRequest{Ended: &want}), earlier)
	if err == nil && len(told.Executions) != 1 {
		err = domain.Errorf(domain.Internal, "record: run %s does not tell of execution %d", run.RunID, want.Number)
	}
	if err != nil {
		return account.Account{}, false, err
	}
	began = held.Run.ID == run.RunID && slices.ContainsFunc(held.Executions, func(e account.HeldExecution) bool { return e.Number == want.Number && e.Step <= 1 && e.Event <= 1 })
	told.Messages, err = s.messagesOf(ctx, run, told.Executions[0], want.Log)
	return told, began, err
}

// account reads what a run holds of an execution, and those before it where they are asked for, as far as a request reaches.
func (s *Source) account(ctx context.Context, run workflow.Execution, request account.Request, earlier bool) (account.Account, account.Held, error) {
	runs := account.Runs{Gone: lost, Before: func(run account.Run) (string, error) {
		if !earlier {
			return "", nil
		}
		return run.Previous, nil
	}}
	runs.Read = func(id string, request account.Request) (account.Account, account.Held, error) {
		run.RunID = id
		return s.readRun(ctx, run, request)
	}
	return runs.Account(run.RunID, request)
}

// readRun reads what a run holds: as its workflow has handed it to this worker, else as that answers. What it has handed over may
// no longer be so where another worker has tried before.
func (s *Source) readRun(ctx context.Context, run workflow.Execution, request account.Request) (account.Account, account.Held, error) {
	return account.ReadRun(request, func(page account.Request) (account.Page, error) {
		if told, ok := s.Cache.takeAccount(run, page); ok && activity.GetInfo(ctx).Attempt <= 1 {
			return told, nil
		}
		return put(ctx, s, run, account.Query, page)
	})
}

// lost reports whether nobody can tell something any more, or this worker cannot: others record what they can.
func lost(err error) bool {
	own, ok := errors.AsType[*domain.Error](err)
	return ok && own.Code == domain.CodeContextLost && !own.Lacking
}

// messagesOf are the messages of an execution that left a transcript: as an inference would find them, else what its runs still hold.
func (s *Source) messagesOf(ctx context.Context, run workflow.Execution, e account.Execution, left domain.LogRef) ([]domain.Entry, error) {
	if e.MessagesTo <= e.MessagesFrom {
		return nil, nil
	}
	found, err := s.fetch(ctx, run, request{from: e.MessagesFrom, ref: left})
	if err == nil || !lost(err) {
		return found.Entries, err
	}
	held, _, err := s.account(ctx, run, account.RequestOf(e.Number, account.Messages), true)
	return held.Messages, err
}

// InProgress is what the activity's own run holds of an execution in progress. It reports false where none is. Only activities
// may call it.
func (s *Source) InProgress(ctx context.Context) (account.Account, bool, error) {
	told, err := s.ownRun(ctx, contract.RecordRequest{})
	if err != nil || told.Head.Newest == nil || told.Head.Newest.Ended != nil {
		return told, false, err
	}
	return told, true, nil
}

// Moved is the head of the account of the activity's own run, which has the position of the session. Only activities may call it.
func (s *Source) Moved(ctx context.Context, moved contract.Move) (account.Head, error) {
	told, err := s.ownRun(ctx, contract.RecordRequest{Moved: &moved})
	if err != nil {
		return account.Head{}, err
	}
	return *told.Head, nil
}

// ownRun reads what the activity's own run holds of what it is to record.
func (s *Source) ownRun(ctx context.Context, record contract.RecordRequest) (account.Account, error) {
	told, _, err := s.readRun(ctx, activity.GetInfo(ctx).WorkflowExecution, Wants(record))
	if err == nil && told.Head == nil {
		err = domain.Errorf(domain.Internal, "account: the run's own account has no head")
	}
	return told, err
}
