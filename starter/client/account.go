package client

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
	"everstep/workflows/replay"
)

// replayAfter is how long the workflow is waited for alone before its history is replayed here beside.
const replayAfter = 150 * time.Millisecond

// Account reads the parts of an agent's account, its head always. It needs no worker: where none answers soon, the history
// is replayed. Of executions that the server has no more the records tell. What nobody has is named in Missing.
func (c *Client) Account(ctx context.Context, id string, want ...account.Part) (account.Account, error) {
	request := account.Request{Want: append([]account.Part{account.HeadOf}, want...)}
	s, err := c.describe(ctx, id)
	if lostToServer(err) && c.cfg.Records != nil {
		return c.recordedAccount(ctx, id, request, err)
	}
	if err != nil {
		return account.Account{}, err
	}
	r := accountReader{client: c, agent: s.agent, request: request}
	all, err := r.read(ctx, s.newest().runID())
	if err != nil {
		return account.Account{}, fail(ctx, id, "reading the account of "+id, err)
	}
	all.Server.Builds, all.Server.Pending = s.builds, []account.Pending{}
	if ended, ok := history.ServerEnd(s.newest().info().GetStatus()); ok {
		all.Server.Ended = ended.Code
	}
	for _, p := range c.pending(s.newest()) {
		all.Server.Pending = append(all.Server.Pending, account.Pending{
			ID: p.ID, Activity: p.Activity, Attempt: p.Attempt, Since: p.Since, Waiting: p.Waiting, Next: p.Next, Limited: p.Limited,
			Failure: p.Before, Heartbeat: p.Beat,
		})
	}
	return all, nil
}

// An accountReader reads the account of one agent over the runs of its workflow, the newest first.
type accountReader struct {
	client  *Client
	agent   agent
	request account.Request
}

func (r accountReader) read(ctx context.Context, runID string) (account.Account, error) {
	ctx, cancel := context.WithCancel(ctx)
	ahead := readAhead{accountReader: r, newest: runID, begun: map[string]chan runAccount{}}
	defer ahead.reading.Wait()
	defer cancel()
	runs := account.Runs{Gone: deleted, Before: func(run account.Run) (string, error) { return r.before(ctx, run) }}
	runs.Read = func(id string, request account.Request) (account.Account, account.Held, error) {
		ahead.request = request
		told := ahead.read(ctx, id)
		return told.Account, told.held, told.err
	}
	wanted := r.request
	all, held, err := runs.Account(runID, wanted)
	if err != nil {
		return all, err
	}
	if r.client.cfg.Records != nil && len(all.WithMissing(wanted, held).Missing) > 0 {
		recorded, heldThere, err := r.client.fromRecords(ctx, r.agent.called(), wanted)
		if err != nil {
			return all, err
		}
		all, held = all.After(recorded, held), held.With(heldThere)
	}
	return all.WithMissing(wanted, held), nil
}

// recordedAccount is that of an agent of which records alone tell. lost says that the server does not.
func (c *Client) recordedAccount(ctx context.Context, id string, wanted account.Request, lost error) (account.Account, error) {
	all, held, err := c.fromRecords(ctx, id, wanted)
	if err != nil {
		return all, err
	}
	if all.Head == nil {
		return all, lost
	}
	all.Server = &account.Server{Source: contract.FromRecords, Pending: []account.Pending{}}
	return all.WithMissing(wanted, held), nil
}

// fromRecords is what the records of an agent tell, with the head of the newest.
func (c *Client) fromRecords(ctx context.Context, id string, wanted account.Request) (all account.Account, held account.Held, err error) {
	_, records, err := c.keptSession(ctx, id)
	if err != nil {
		return all, held, err
	}
	for _, r := range records {
		one, err := r.Account()
		if err != nil {
			return all, held, err
		}
		if len(held.Executions) == 0 {
			held.Messages = r.From
		}
		all = all.With(one.Only(wanted))
		held.Run, held.Executions = one.Head.Run, append(held.Executions, account.HeldExecution{
			Number: r.Number, ID: r.ExecutionID, Step: 1, Event: 1, Message: r.From,
		})
	}
	return all, held, nil
}

// before is the run that holds what comes before another, if there is one.
func (r accountReader) before(ctx context.Context, run account.Run) (string, error) {
	if run.Previous != "" {
		return run.Previous, nil
	}
	return r.client.previous(ctx, r.agent, run.ID)
}

// A runAccount is what one run tells of itself, or why nobody can tell it.
type runAccount struct {
	account.Account
	held account.Held
	err  error
}

// A readAhead reads the runs of an agent one after the other, and where all of them are wanted, the run before each meanwhile.
type readAhead struct {
	accountReader
	newest  string
	begun   map[string]chan runAccount
	reading sync.WaitGroup
}

func (r *readAhead) read(ctx context.Context, runID string) runAccount {
	if r.request.Execution == 0 && (r.request.Wants(account.Steps) || r.request.Wants(account.Messages) || r.request.Wants(account.Events)) {
		if before, err := r.client.previous(ctx, r.agent, runID); err == nil && before != "" { // an error comes again when it is read
			r.begin(ctx, before)
		}
	}
	r.begin(ctx, runID)
	return <-r.begun[runID]
}

// begin reads a run, unless that was begun before.
func (r *readAhead) begin(ctx context.Context, runID string) {
	if r.begun[runID] != nil {
		return
	}
	told, reader := make(chan runAccount, 1), r.accountReader
	r.begun[runID] = told
	r.reading.Go(func() {
		if runID != r.newest {
			reader.request.Want = slices.DeleteFunc(slices.Clone(reader.request.Want), func(p account.Part) bool { return p == account.HeadOf })
			told <- reader.earlier(ctx, runID)
			return
		}
		told <- reader.run(ctx, runID)
	})
}

// earlier reads a run that has ended. No worker has it at hand: it would replay it for each page. So it is replayed here, and a
// worker is asked where that fails.
func (r accountReader) earlier(ctx context.Context, runID string) runAccount {
	told := r.replayed(ctx, runID)
	if told.err == nil || deleted(told.err) {
		return told
	}
	if asked := r.asked(ctx, runID); asked.err == nil {
		return asked
	}
	return told
}

// run reads what the newest run holds: as the workflow answers, or by a replay of its history where that takes too long.
// Whoever is first tells.
func (r accountReader) run(ctx context.Context, runID string) runAccount {
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	answers := make(chan runAccount, 2)
	begin := func(read func(ctx context.Context, runID string) runAccount) {
		reading.Go(func() { answers <- read(ctx, runID) })
	}
	begin(r.asked)
	under, replaying, patience := 1, false, time.After(replayAfter)
	var failed error
	for under > 0 {
		select {
		case <-patience:
		case got := <-answers:
			if got.err == nil || deleted(got.err) {
				return got
			}
			under, failed = under-1, errors.Join(failed, got.err)
		}
		if !replaying {
			replaying, under, patience = true, under+1, nil
			begin(r.replayed)
		}
	}
	if differs, ok := errors.AsType[*replay.Error](failed); ok && errors.Is(failed, errNoWorker) {
		failed = errorf(Failed, failed, "no worker answers, and %s", differs)
	}
	return runAccount{err: failed}
}

// asked has the workflow answer.
func (r accountReader) asked(ctx context.Context, runID string) runAccount {
	told := pagesOf(r.request, func(page account.Request) (account.Page, error) {
		page.Large = true
		return read(ctx, r.client, r.agent, runID, account.Query, page)
	})
	told.Server = &account.Server{Source: contract.FromWorkflow}
	return told
}

// replayed replays the history of the run here.
func (r accountReader) replayed(ctx context.Context, runID string) (told runAccount) {
	events, err := r.client.reader(r.agent).Events(ctx, runID)
	if err != nil {
		return runAccount{err: err}
	}
	untaken, err := replay.Ask(ctx, events, workflow.Execution{ID: r.agent.workflowID(), RunID: runID}, replay.Options{DataConverter: r.client.cfg.Converter}, func(q *replay.Queries) error {
		told = pagesOf(r.request, func(page account.Request) (account.Page, error) {
			page.Unbounded = true
			return replay.Query(q, account.Query, page)
		})
		return told.err
	})
	if err != nil {
		return runAccount{err: err}
	}
	told.Server = &account.Server{Source: contract.FromHistory, Untaken: len(untaken)}
	return told
}

func pagesOf(request account.Request, ask func(account.Request) (account.Page, error)) runAccount {
	all, held, err := account.ReadRun(request, ask)
	return runAccount{all, held, err}
}
