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

// Ended is the account of an execution that has ended, as the run in which it ended tells it, and where earlier is asked for as
// the runs before that tell it too. Of its steps, messages and events those are absent that nobody can tell any more. It
// reports whether the execution began in its last run, which then tells all of it. Only activities may call it. Where the last
// run is gone the error has the code context_lost. A run that is over is replayed for it, which takes its whole history.
func (s *Source) Ended(ctx context.Context, want contract.EndedExecution, earlier bool) (told account.Raw, began bool, err error) {
	run := activity.GetInfo(ctx).WorkflowExecution
	run.RunID = want.RunID
	request := account.Request{
		Want:      []account.Part{account.HeadOf, account.Executions, account.Steps, account.Events, account.State},
		Execution: want.Number, Bytes: largestPage, LargePage: contract.LargePage{Large: true},
	}
	told, held, err := s.account(ctx, run, request, earlier)
	if err == nil && len(told.Executions) != 1 {
		err = domain.Errorf(domain.Internal, "record: run %s does not tell of execution %d", run.RunID, want.Number)
	}
	if err != nil {
		return account.Raw{}, false, err
	}
	began = held.Run.ID == run.RunID && slices.ContainsFunc(held.Executions, func(e account.HeldExecution) bool { return e.Number == want.Number && e.Step <= 1 && e.Event <= 1 })
	told.Messages, err = s.messagesOf(ctx, run, told.Executions[0])
	return told, began, err
}

// account reads what a run holds of an execution, and those before it where they are asked for, as far as a request reaches.
func (s *Source) account(ctx context.Context, run workflow.Execution, request account.Request, earlier bool) (account.Raw, account.Held, error) {
	runs := account.Runs[account.Raw]{Gone: lost, Before: func(run account.Run) (string, error) {
		if !earlier {
			return "", nil
		}
		return run.Previous, nil
	}}
	runs.Read = func(id string, request account.Request) (account.Raw, account.Held, error) {
		run.RunID = id
		return account.ReadRun(request, func(page account.Request) (account.RawPage, error) { return put(ctx, s, run, account.RawQuery, page) })
	}
	return runs.Account(run.RunID, request)
}

// lost reports whether nobody can tell something any more, or this worker cannot: others record what they can.
func lost(err error) bool {
	own, ok := errors.AsType[*domain.Error](err)
	return ok && own.Code == domain.CodeContextLost && !own.Lacking
}

// messagesOf are the messages of an execution: as an inference would find them, else what its runs still hold.
func (s *Source) messagesOf(ctx context.Context, run workflow.Execution, e account.Execution) ([]domain.Entry, error) {
	if e.MessagesTo <= e.MessagesFrom {
		return nil, nil
	}
	end, err := s.query(ctx, run, contract.MessagesRequest{From: e.MessagesTo, Limit: 1})
	if err != nil {
		return nil, err
	}
	found, err := s.fetch(ctx, run, request{from: e.MessagesFrom, ref: domain.LogRef{Length: end.From, Digest: end.Before}})
	if err == nil || !lost(err) {
		return found.Entries, err
	}
	held, _, err := s.account(ctx, run, account.Request{Want: []account.Part{account.Messages}, Execution: e.Number}, true)
	return held.Messages, err
}

// InProgress is what the activity's own run holds of an execution in progress. It reports false where none is. Only activities
// may call it.
func (s *Source) InProgress(ctx context.Context) (account.Account, bool, error) {
	head, err := s.Head(ctx)
	told := account.Account{Head: &head}
	if err != nil || head.Newest == nil || head.Newest.Ended != nil {
		return told, false, err
	}
	lists, err := s.ownRun(ctx, account.Request{Want: []account.Part{account.Steps, account.Events}, Execution: head.Newest.Number})
	return told.With(lists), true, err
}

// Head queries the activity's own run for the head of its account. Only activities may call it.
func (s *Source) Head(ctx context.Context) (account.Head, error) {
	told, err := s.ownRun(ctx, account.Request{Want: []account.Part{account.HeadOf}})
	if err != nil {
		return account.Head{}, err
	}
	if told.Head == nil {
		return account.Head{}, domain.Errorf(domain.Internal, "account: the run's own account has no head")
	}
	return *told.Head, nil
}

// ownRun reads what the activity's own run holds.
func (s *Source) ownRun(ctx context.Context, request account.Request) (account.Account, error) {
	run := activity.GetInfo(ctx).WorkflowExecution
	told, _, err := account.ReadRun(request, func(page account.Request) (account.Page, error) { return put(ctx, s, run, account.Query, page) })
	return told, err
}
