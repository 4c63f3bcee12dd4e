package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/workflow"

	"everstep/activities/build"
	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"

	"everstep/starter/client/internal/history"
	"everstep/starter/process"
	"everstep/workflows/replay"
)

// replayAfter is how long the workflow is waited for alone before its history is replayed here beside.
const replayAfter = 150 * time.Millisecond

// Account reads the parts of an agent's account, its head always. It needs no worker: where none answers soon, the history
// is replayed. Of executions that the server has no more the records tell. What nobody has is named in Missing. Where the
// record of where the session stands cannot be read an error of class Gone says so.
func (c *Client) Account(ctx context.Context, id string, want ...account.Part) (account.Account, error) {
	all, err := c.account(ctx, id, account.RequestOf(0, want...))
	if err == nil {
		all.Head.Position, err = c.positionIn(ctx, id, all)
	}
	return all, err
}

// positionIn is where the session of an account stands. Records have apart where it was moved to since the newest execution; else that
// has left it with its messages, of which no more were taken back or cleared than as it began, and what else it has edited is not told.
func (c *Client) positionIn(ctx context.Context, id string, a account.Account) (none account.Position, _ error) {
	if a.Server.Source != contract.FromRecords {
		return a.Head.Position, nil
	}
	newest := a.Head.Newest
	untold := func(why any, err error) error {
		return errorf(Gone, err, "whether %s was rewound or cleared since execution %d is not told: %s", id, newest.Number, why)
	}
	left := account.Position{Length: newest.MessagesTo, Edits: domain.Edits{TakenBack: newest.EditsBefore.TakenBack}}
	switch {
	case a.Server.Unread != "":
		return none, untold(a.Server.Unread, nil)
	case a.Head.Name == "": // an agent without a name is not moved
		return left, nil
	}
	moved, err := c.cfg.Records.Position(ctx, record.Ref{AgentID: a.Head.AgentID, ExecutionID: newest.ExecutionID, Number: newest.Number})
	switch {
	case errors.Is(err, record.ErrNone):
		return left, nil
	case err != nil:
		return none, untold(err, err)
	}
	return moved.Head.Position, nil
}

// account is Account of what a request asks for, and of the head.
func (c *Client) account(ctx context.Context, id string, request account.Request) (account.Account, error) {
	_, all, err := c.accountWith(ctx, id, request)
	return all, err
}

// accountWith is account, with what the server says of the agent: nothing, where records alone tell.
func (c *Client) accountWith(ctx context.Context, id string, request account.Request) (s snapshot, all account.Account, err error) {
	request.Want = append([]account.Part{account.HeadOf}, request.Want...)
	s, err = c.describe(ctx, id)
	switch {
	case lostToServer(err):
		s.agent, _ = agentOf(id) // it was asked about
		all, err = c.recordedAccount(ctx, id, request, err)
	case err == nil:
		all, err = c.accountOf(ctx, s, request, 0)
	}
	return s, all, fail(ctx, id, "reading the account of "+id, err)
}

// accountOf reads the account of an agent that was described; patience is that of an accountReader.
func (c *Client) accountOf(ctx context.Context, s snapshot, request account.Request, patience time.Duration) (account.Account, error) {
	if s.teller() != s.runID() {
		s = s.newest()
	}
	all, err := accountReader{client: c, request: request, patience: patience, snapshot: s}.read(ctx)
	if err == nil && all.Head == nil {
		err = errorf(Failed, nil, "the account of %s has no head; the worker may be of another version", s.called())
	}
	if err != nil {
		return all, err
	}
	all.Server.Builds = s.builds
	return s.endedByServer(all), c.adding(ctx, s, all.Server)
}

// adding adds to an account what the server alone knows of its newest run.
func (c *Client) adding(ctx context.Context, s snapshot, server *account.Server) error {
	if ended, ok := s.serverEnd(); ok {
		server.Ended = ended.Code
	}
	server.Pending = c.pending(s)
	task, wasReset := s.GetPendingWorkflowTask(), s.GetWorkflowExtendedInfo().GetLastResetTime() != nil
	fails := task.GetAttempt() > 1
	if !fails && !wasReset {
		return nil
	}
	events, err := c.reader(s.agent).Events(ctx, s.runID())
	if fails { // no worker has completed it yet
		server.FailingTask = &account.FailingTask{Attempt: int(task.GetAttempt()), Since: task.GetOriginalScheduledTime().AsTime()}
		history.FailedTask(c.cfg.Converter, events, server.FailingTask)
	}
	if wasReset {
		server.Reset = history.NewestReset(events)
	}
	return err
}

// An accountReader reads the account of one agent over the runs of its workflow, from one on backwards.
type accountReader struct {
	client  *Client
	request account.Request
	// patience is how long the workflow is waited for alone before its history is replayed beside; zero: as long as for any reader.
	patience time.Duration
	// snapshot is of the run with which it begins.
	snapshot
	// upTo is the history of that run as far as it counts; empty: all of it, and a worker is asked first.
	upTo []*historypb.HistoryEvent
}

// read reads from the run on backwards, and from records what the runs lack.
func (r accountReader) read(ctx context.Context) (account.Account, error) {
	wanted := r.request
	all, held, err := r.runs(ctx)
	if err != nil {
		return all, err
	}
	if told := all.WithMissing(wanted, held); r.client.cfg.Records == nil || len(told.Missing) == 0 {
		return told, nil
	}
	recorded, heldThere, err := r.client.fromRecords(ctx, r.called(), wanted.Of(held), held.Newest())
	if err != nil {
		return all, err
	}
	all, held = all.After(recorded, held), held.With(heldThere)
	parts, err := r.client.fromParts(ctx, r.id, wanted.Of(held), held)
	return all.After(parts, held).WithMissing(wanted, held), err
}

// runs reads what the run and those before it hold, and what a fork has of the messages of its origin.
func (r accountReader) runs(ctx context.Context) (account.Account, account.Held, error) {
	ctx, cancel := context.WithCancel(ctx)
	ahead := readAhead{accountReader: r, begun: map[string]chan runAccount{}}
	defer ahead.reading.Wait()
	defer cancel()
	runs := account.Runs{Gone: deleted}
	runs.Before = func(run account.Run) (string, error) {
		if run.Previous != "" {
			return run.Previous, nil
		}
		return r.client.previous(ctx, r.agent, run.ID)
	}
	var others []string
	runs.Read = func(id string, request account.Request) (account.Account, account.Held, error) {
		told := ahead.read(ctx, id, request)
		if told.err == nil {
			others = append(others, told.Server.OtherBuilds...)
		}
		return told.Account, told.held, told.err
	}
	all, held, err := runs.Account(r.runID(), r.request)
	if err == nil {
		slices.Sort(others)
		all.Server.OtherBuilds = slices.Compact(others)
	}
	if err != nil || !r.request.Wants(account.Messages) || r.request.Execution != 0 || held.Reaches(account.Request{Want: []account.Part{account.Messages}, From: r.request.From}) {
		return all, held, err
	}
	return r.withCopied(ctx, all, held)
}

// withCopied adds the messages that a fork has in storage alone, as its origin tells them.
func (r accountReader) withCopied(ctx context.Context, all account.Account, held account.Held) (account.Account, account.Held, error) {
	began, err := r.client.reader(r.agent).First(ctx, held.Run.ID)
	told, there := account.Account{}, held
	if copied := copyOf(began.Input); copied != nil {
		origin, _ := agentOfWorkflow(copied.WorkflowID)
		from := accountReader{client: r.client, request: account.Request{Want: []account.Part{account.Messages}, From: r.request.From}}
		if from.snapshot, err = r.client.described(ctx, origin, copied.RunID); err == nil {
			told, there, err = from.runs(ctx)
		}
	}
	if err == nil {
		all = all.After(account.Account{Messages: told.Messages}, held)
		held.Messages = min(held.Messages, there.Messages)
	}
	if deleted(err) { // what the fork has itself is there all the same
		err = nil
	}
	return all, held, err
}

// recordedAccount is that of an agent of which records alone tell. lost says that the server does not.
func (c *Client) recordedAccount(ctx context.Context, id string, wanted account.Request, lost error) (account.Account, error) {
	all, held, err := c.fromRecords(ctx, id, wanted, domain.MaxCount)
	if err != nil {
		return all, err
	}
	if all.Head == nil {
		return all, lost
	}
	return all.WithMissing(wanted, held), nil
}

// fromRecords is what the records of an agent tell up to an execution, with the head of the newest: a reset of the workflow may
// have taken back what came after. Where some cannot be read the others tell, but for what has to be of the newest.
func (c *Client) fromRecords(ctx context.Context, id string, wanted account.Request, newest int) (all account.Account, held account.Held, err error) {
	records, err := c.keptSession(ctx, id)
	if err = fail(ctx, id, "reading the records of "+id, err); err != nil && (len(records) == 0 || wanted.Execution == account.Newest) {
		return all, held, err
	}
	all.Server = &account.Server{Source: contract.FromRecords, Pending: []account.Pending{}}
	if err != nil {
		all.Server.Unread = err.Error()
	}
	if len(records) > 0 && wanted.Execution == account.Newest {
		wanted.Execution = records[len(records)-1].Number
	}
	for _, r := range records {
		if r.Number > newest {
			continue
		}
		one, err := r.Account()
		if err != nil {
			return all, held, err
		}
		one.Executions[0].Imported = r.Imported
		one.Head = recordedHead(r, one.Executions[0])
		all.Head, held.Run = one.Head, one.Head.Run
		all.Server.Builds.Begun = r.Build
		if wanted.Execution > 0 && r.Number != wanted.Execution {
			continue
		}
		if len(held.Executions) == 0 {
			held.Messages = r.MessagesFrom
		}
		all = all.With(one.Only(wanted))
		held.Executions = append(held.Executions, account.HeldExecution{Number: r.Number, ID: r.ExecutionID, Step: 1, Event: 1, Message: r.MessagesFrom})
	}
	return all, held, nil
}

// recordedHead is that of an agent as the execution of a record has left it.
func recordedHead(r record.Record, newest account.Execution) *account.Head {
	head, state, left := r.Head, r.FinalState, "only its records are left"
	if !r.Imported.IsZero() {
		left = "it was imported on " + r.Imported.Format("2006-01-02 15:04 MST") + ", and can only be read here"
	}
	head.Doing, head.Since, head.AlwaysAllowed = "ended; "+left, r.CompletedAt, state.StandingApprovals
	head.State, head.Configuration.Model, head.Configuration.Agent = newest.State, state.LLMConfig.String(), newest.Agent
	head.Configuration.Constraints = newest.Constraints
	newest.State, newest.Constraints = nil, nil
	head.Newest, head.Trusted, head.Todo = &newest, state.Trusted(), state.Metadata.Todo()
	head.Waits = state.UnresolvedOutcomes()
	head.Ledger = account.LedgerOf(state, r.CompletedAt)
	return &head
}

// checkNewest refuses to take the newest execution of the records for the agent's, where no server says whether there is a later
// one. Of one that was imported there is no workflow.
func (c *Client) checkNewest(a account.Account) error {
	newest := a.Head.Newest
	if c.unreached == nil || a.Server.Source != contract.FromRecords || !newest.Imported.IsZero() {
		return nil
	}
	called := cmp.Or(a.Head.Name, a.Head.AgentID.String())
	return errorf(Unreachable, c.unreached, "%s; the records know of execution %d of %s, and not whether there is a later one", c.unreached.Message, newest.Number, called).
		next("`explain %s --execution %d` tells of that one, and `executions %s` of all that are recorded", called, newest.Number, called)
}

// fromParts is what runs have recorded of the steps and events of executions before they continued as new, where nothing else
// holds them.
func (c *Client) fromParts(ctx context.Context, agent domain.AgentID, wanted account.Request, held account.Held) (all account.Account, err error) {
	if !wanted.Wants(account.Steps) && !wanted.Wants(account.Events) {
		return all, nil
	}
	for _, e := range held.Executions {
		if e.Step <= 1 && e.Event <= 1 || wanted.Execution > 0 && e.Number != wanted.Execution {
			continue
		}
		parts, err := c.cfg.Records.Parts(ctx, record.Ref{AgentID: agent, ExecutionID: e.ID, Number: e.Number})
		if err != nil {
			return all, fail(ctx, agent.String(), "reading the records of "+agent.String(), err)
		}
		one := account.Account{}
		for _, part := range parts {
			for _, step := range part.Steps {
				one.Steps = append(one.Steps, account.Step{Execution: e.Number, StepExecution: step})
			}
			one.Events = append(one.Events, part.Events...)
		}
		all.Steps = append(all.Steps, account.ByNumber(one.Steps, account.StepNumber)...)
		all.Events = append(all.Events, account.ByNumber(one.Events, account.EventNumber)...)
	}
	return all.Only(wanted), nil
}

// A runAccount is what one run tells of itself, or why nobody can tell it.
type runAccount struct {
	account.Account
	held account.Held
	err  error
}

// A readAhead reads the runs of an agent one after the other, each once, and where all of them are wanted, the run before each
// meanwhile.
type readAhead struct {
	accountReader
	begun   map[string]chan runAccount
	reading sync.WaitGroup
}

func (r *readAhead) read(ctx context.Context, runID string, request account.Request) runAccount {
	lists := []account.Part{account.Executions, account.Steps, account.Messages, account.Events}
	if request.Execution == 0 && slices.ContainsFunc(lists, request.Wants) {
		if before, err := r.client.previous(ctx, r.agent, runID); err == nil && before != "" { // an error comes again when it is read
			r.begin(ctx, before, request)
		}
	}
	r.begin(ctx, runID, request)
	return <-r.begun[runID]
}

// begin reads a run, unless that was begun before. The head is that of the newest.
func (r *readAhead) begin(ctx context.Context, runID string, request account.Request) {
	if r.begun[runID] != nil {
		return
	}
	told, reader := make(chan runAccount, 1), r.accountReader
	r.begun[runID], reader.request = told, request
	if runID != r.runID() {
		reader.request.Want = slices.DeleteFunc(slices.Clone(request.Want), func(p account.Part) bool { return p == account.HeadOf })
	}
	r.reading.Go(func() { told <- reader.run(ctx, runID) })
}

// run reads what a run holds: the newest as the workflow answers, or by a replay of its history where that takes too long. Whoever
// is first tells. An earlier one no worker has at hand: it would replay it for each page. So that is replayed here at once, and a worker
// is asked where that fails. Where both fail, the workflow is waited for only if a worker may be there.
func (r accountReader) run(ctx context.Context, runID string) runAccount {
	newest := runID == r.runID()
	if newest && len(r.upTo) > 0 {
		return r.replayed(ctx, runID)
	}
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	begin := func(ctx context.Context, read func(ctx context.Context, runID string) runAccount) chan runAccount {
		answer := make(chan runAccount, 1)
		reading.Go(func() { answer <- read(ctx, runID) })
		return answer
	}
	asking, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	var asked, replayed chan runAccount
	var patience <-chan time.Time
	if newest {
		asked, patience = begin(asking, r.asked), time.After(cmp.Or(r.patience, replayAfter))
	} else {
		replayed = begin(ctx, r.replayed)
	}
	var unasked, unreplayed error
	for unasked == nil || unreplayed == nil {
		select {
		case <-patience:
		case got := <-asked:
			if unasked = got.err; unasked == nil || deleted(unasked) {
				return got
			}
		case got := <-replayed:
			if unreplayed = got.err; unreplayed == nil || deleted(unreplayed) {
				return got
			}
			if asked == nil {
				asked = begin(asking, r.asked)
			}
			if unasked == nil {
				reading.Go(func() { r.giveUpWithoutWorker(asking, giveUp) })
			}
		}
		if replayed == nil {
			replayed, patience = begin(ctx, r.replayed), nil
		}
	}
	return runAccount{err: unread(unasked, unreplayed)}
}

// giveUpWithoutWorker ends the wait for a worker's answer where none may be there, or where those that are there cannot carry
// the run on: a question waits for that.
func (r accountReader) giveUpWithoutWorker(asking context.Context, giveUp context.CancelCauseFunc) {
	for process.Pause(asking, time.Second) == nil {
		now, err := r.client.described(asking, r.agent, r.runID())
		if failing := err == nil && now.GetPendingWorkflowTask().GetAttempt() > 1; failing || !r.client.hasWorker(asking, r.queue()) {
			giveUp(errNoWorker)
			return
		}
	}
}

// unread says why nobody can tell what a run holds.
func unread(unasked, unreplayed error) error {
	both := errors.Join(unasked, unreplayed)
	switch {
	case !errors.Is(unasked, errNoWorker), errors.Is(unreplayed, context.Canceled):
		return both
	case isAs[*replay.Error](unreplayed):
		return errorf(Failed, both, "no worker answers, and %s", unreplayed)
	case history.Away(unreplayed):
		return errorf(Unreachable, both, "no worker answers, and the server does not give the history: %s", unreplayed)
	default:
		return errorf(Failed, both, "no worker answers, and the history cannot be read: %s", unreplayed)
	}
}

// asked has the workflow answer.
func (r accountReader) asked(ctx context.Context, runID string) runAccount {
	ask := func(large bool) runAccount {
		return pagesOf(r.request, func(page account.Request) (account.Page, error) {
			page.Large = large
			return r.client.ask(ctx, r.agent, runID, page)
		})
	}
	told := ask(true)
	if isAs[*serviceerror.QueryFailed](told.err) { // it may be too large for the server
		told = ask(false)
	}
	if told.err != nil && errors.Is(context.Cause(ctx), errNoWorker) {
		told.err = errNoWorker
	}
	told.Server = &account.Server{Source: contract.FromWorkflow}
	return told
}

// replayed replays the history of the run here.
func (r accountReader) replayed(ctx context.Context, runID string) (told runAccount) {
	events, err := r.history(ctx, runID)
	if err != nil {
		return runAccount{err: err}
	}
	untaken, err := replay.Ask(ctx, events, workflow.Execution{ID: r.workflowID(), RunID: runID}, replay.Options{DataConverter: r.client.cfg.Converter}, func(q *replay.Queries) error {
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
	if told.Head != nil { // else that of a later run tells
		newest := r.newestOf(told.Account).ExecutionID
		told.Server.Stops = slices.DeleteFunc(history.Stops(r.client.cfg.Converter, untaken), func(stop contract.StopRequest) bool {
			return !stop.ExecutionID.IsZero() && stop.ExecutionID != newest
		})
	}
	if wrote := history.NewestBuild(events); wrote != "" && wrote != build.ID() {
		told.Server.OtherBuilds = []string{wrote}
	}
	return told
}

// history is that of a run, as far as it counts. A part of it is refused, as a page or its token may be lost between here and there:
// fewer events than the server said that the first run has, or no end of an earlier one.
func (r accountReader) history(ctx context.Context, runID string) ([]*historypb.HistoryEvent, error) {
	if len(r.upTo) > 0 && runID == r.runID() {
		return r.upTo, nil
	}
	events, err := r.client.reader(r.agent).Events(ctx, runID)
	if err != nil {
		return nil, err
	}
	var last *historypb.HistoryEvent
	if len(events) > 0 {
		last = events[len(events)-1]
	}
	incomplete := replay.Error{Kind: replay.ErrIncomplete, EventID: last.GetEventId() + 1}
	switch first := runID == r.runID(); {
	case first && last.GetEventId() < r.info().GetHistoryLength():
		incomplete.Detail = fmt.Sprintf("the server has %d events of the run, and gave those up to %d", r.info().GetHistoryLength(), last.GetEventId())
	case !first && !history.Ends(last):
		incomplete.Detail = "the run has ended, and its end is not among what the server gave"
	default:
		return events, nil
	}
	return nil, &incomplete
}

func pagesOf(request account.Request, ask func(account.Request) (account.Page, error)) runAccount {
	all, held, err := account.ReadRun(request, ask)
	return runAccount{all, held, err}
}
