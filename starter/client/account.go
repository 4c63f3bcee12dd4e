package client

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/workflow"

	"everstep/activities/record"
	"everstep/domain"
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
	return c.account(ctx, id, account.Request{Want: want})
}

// account is Account of what a request asks for, and of the head.
func (c *Client) account(ctx context.Context, id string, request account.Request) (account.Account, error) {
	request.Want = append([]account.Part{account.HeadOf}, request.Want...)
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
	if all.Head == nil {
		return account.Account{}, errorf(Failed, nil, "the account of %s has no head; the worker may be of another version", id)
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
	wanted := r.request
	all, held, err := r.runs(ctx, runID)
	if err != nil {
		return all, err
	}
	if r.client.cfg.Records == nil || len(all.WithMissing(wanted, held).Missing) == 0 {
		return all.WithMissing(wanted, held), nil
	}
	recorded, heldThere, err := r.client.fromRecords(ctx, r.agent.called(), wanted.Of(held))
	if err != nil {
		return all, err
	}
	all, held = all.After(recorded, held), held.With(heldThere)
	parts, err := r.client.fromParts(ctx, r.agent.id, wanted.Of(held), held)
	return all.After(parts, held).WithMissing(wanted, held), err
}

// runs reads what a run and those before it hold, and what a fork has of the messages of its origin.
func (r accountReader) runs(ctx context.Context, runID string) (account.Account, account.Held, error) {
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
	all, held, err := runs.Account(runID, r.request)
	if err != nil || r.request.Execution != 0 || held.Reaches(account.Request{Want: []account.Part{account.Messages}, From: r.request.From}) {
		return all, held, err
	}
	return r.withCopied(ctx, all, held)
}

// withCopied adds the messages that a fork has in storage alone, as its origin tells them.
func (r accountReader) withCopied(ctx context.Context, all account.Account, held account.Held) (account.Account, account.Held, error) {
	if !r.request.Wants(account.Messages) {
		return all, held, nil
	}
	began, err := r.client.reader(r.agent).First(ctx, held.Run.ID)
	origin, runID := copiedFrom(began)
	if deleted(err) || err == nil && runID == "" {
		return all, held, nil
	}
	var told account.Account
	var there account.Held
	if err == nil {
		from := accountReader{client: r.client, agent: origin, request: account.Request{Want: []account.Part{account.Messages}, From: r.request.From}}
		told, there, err = from.runs(ctx, runID)
	}
	if deleted(err) {
		return all, held, nil
	}
	if err != nil {
		return all, held, err
	}
	all = all.After(account.Account{Messages: told.Messages}, held)
	held.Messages = min(held.Messages, there.Messages)
	return all, held, nil
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

// fromRecords is what the records of an agent tell, with the head of the newest. Where some cannot be read the others tell, but
// for what has to be of the newest.
func (c *Client) fromRecords(ctx context.Context, id string, wanted account.Request) (all account.Account, held account.Held, err error) {
	_, records, err := c.keptSession(ctx, id)
	if err != nil && (len(records) == 0 || wanted.Execution == account.Newest) {
		return all, held, fail(ctx, id, "reading the records of "+id, err)
	}
	if err != nil {
		c.cfg.Progress(err.Error())
	}
	if len(records) > 0 && wanted.Execution == account.Newest {
		wanted.Execution = records[len(records)-1].Number
	}
	for _, r := range records {
		one, err := r.Account()
		if err != nil {
			return all, held, err
		}
		all.Head, held.Run = one.Head, one.Head.Run
		all.Head.Newest = new(one.Executions[0])
		all.Head.Newest.State, all.Head.Newest.Constraints = nil, nil
		if wanted.Execution > 0 && r.Number != wanted.Execution {
			continue
		}
		if len(held.Executions) == 0 {
			held.Messages = r.From
		}
		all = all.With(one.Only(wanted))
		held.Executions = append(held.Executions, account.HeldExecution{Number: r.Number, ID: r.ExecutionID, Step: 1, Event: 1, Message: r.From})
	}
	return all, held, nil
}

// fromParts is what runs have recorded of the steps of executions before they continued as new, where nothing else holds them.
func (c *Client) fromParts(ctx context.Context, agent domain.AgentID, wanted account.Request, held account.Held) (all account.Account, err error) {
	store, ok := c.cfg.Records.(PartRecords)
	if !ok || !wanted.Wants(account.Steps) {
		return all, nil
	}
	for _, e := range held.Executions {
		if e.Step <= 1 || wanted.Execution > 0 && e.Number != wanted.Execution {
			continue
		}
		parts, err := store.Parts(ctx, record.Ref{AgentID: agent, ExecutionID: e.ID, Number: e.Number})
		if err != nil {
			return all, fail(ctx, agent.String(), "reading the records of "+agent.String(), err)
		}
		for _, step := range stepsOfParts(parts) {
			all.Steps = append(all.Steps, account.Step{Execution: e.Number, WireStep: step.Wire()})
		}
	}
	return all, nil
}

// stepsOfParts are in their order, each once.
func stepsOfParts(parts []record.Part) []domain.StepExecution {
	byNumber := map[int]domain.StepExecution{}
	for _, part := range parts {
		for _, step := range part.Steps {
			byNumber[step.Step.Number] = step
		}
	}
	return slices.SortedFunc(maps.Values(byNumber), func(a, b domain.StepExecution) int { return cmp.Compare(a.Step.Number, b.Step.Number) })
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
	ask := func(large bool) runAccount {
		return pagesOf(r.request, func(page account.Request) (account.Page, error) {
			page.Large = large
			return read(ctx, r.client, r.agent, runID, account.Query, page)
		})
	}
	told := ask(true)
	if isAs[*serviceerror.QueryFailed](told.err) { // it may be too large for the server
		told = ask(false)
	}
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
