package client

import (
	"cmp"
	"context"
	"iter"
	"time"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
	"everstep/starter/process"
)

// FollowOptions choose what Follow shows.
type FollowOptions struct {
	// Number names the execution. Zero: the newest.
	Number int
	// After is the sequence number of the last event that the caller has.
	After int64
	// Tree adds the events of its sub-agents and theirs, while those work: see Event.Path. All of one stand between the
	// SubagentSpawning and the SubagentCompleted that are about it. The text of a sub-agent is not given as it arrives.
	Tree bool
	// below says that it is a sub-agent of the tree.
	below bool
}

// Follow yields what happens in an execution, from its beginning to its end, as it happens: each event that the execution has
// noted once and in order, and between them what only the server or the moment knows, such as the model's text while it
// arrives. It can be begun any number of times and needs no worker; it asks the server four times a second at most. Where the
// server goes away it says so, and goes on when that is back. Where some events can no longer be read it yields an error of
// class Gone that says which, and goes on; any other error ends it. Breaking out of the loop leaves the execution as it is.
func (c *Client) Follow(ctx context.Context, id string, o FollowOptions) iter.Seq2[Event, error] {
	return sequence(ctx, id, "following ", func(yield func(Event, error) bool) error {
		if o.Tree {
			return followTree(ctx, c, id, o, yield)
		}
		return c.followOne(ctx, id, o, func(e Event, err error) bool { return e.earlier || yield(e, err) })
	})
}

// Events yields what Follow does of an execution, without what only the server or the moment knows, and without sub-agents. Where
// no event tells how the execution ended an error does.
func (c *Client) Events(ctx context.Context, id string, o FollowOptions) iter.Seq2[domain.Event, error] {
	o.Tree = false
	return func(yield func(domain.Event, error) bool) {
		for e, err := range c.Follow(ctx, id, o) {
			if err == nil && e.Type == EventEnded && e.Ended.Closed {
				err = errorf(Failed, nil, "execution %d of %s was ended by the server (%s), so no event says how it ended", e.Number, id, e.Ended.Code)
			}
			if (err != nil || e.Recorded.Type != "") && !yield(e.Recorded, err) {
				return
			}
		}
	}
}

// followOne follows one agent. It yields the events before those that are wanted too, as earlier ones, and one without a type
// when they are over: what goes on is known from them.
func (c *Client) followOne(ctx context.Context, id string, o FollowOptions, yield func(Event, error) bool) error {
	if o.After < 0 {
		return invalidf("after: is %d; events are counted from 1", o.After)
	}
	if o.Number < 0 {
		return invalidf("execution: is %d; executions are counted from 1", o.Number)
	}
	f := &follower{client: c, impatient: *c, id: id, FollowOptions: o, yield: yield, content: newContent(), moment: moments{calls: map[domain.ToolExecutionID]callMoment{}}}
	f.impatient.impatient = true
	return f.run(ctx)
}

const (
	// askEvery is how often a follower asks the server at most, and askBelowEvery one of a sub-agent, of which there may be many.
	askEvery, askBelowEvery = 250 * time.Millisecond, time.Second
	// patientWith is how long a worker is waited for that has answered before, until the history is replayed beside it.
	patientWith = 2 * time.Second
	// answersWithin is how long the server may take to describe the workflow, until it is said to be away.
	answersWithin = 2 * time.Second
)

// A follower shows one execution. It is used by one goroutine.
type follower struct {
	client *Client
	// impatient is the same one, which notices at once that the server is away.
	impatient Client
	id        string
	// Of them zero is the number of the newest execution, before its account is read.
	FollowOptions
	yield func(Event, error) bool
	// finished says that the caller has seen all, or wants no more; ended that the end was among it.
	finished, ended bool

	// seen is how far the execution was read; caughtUp says that all was shown that had happened before.
	seen     account.Seen
	caughtUp bool
	// session is the first run of the agent's workflow, and current the newest: they are empty until it was described.
	session, current string
	// mark tells whether the workflow has got on since its account was read, and answers that a worker has told that.
	mark    mark
	answers bool
	content content
	moment  moments
}

// A mark is what changes in the description of a workflow that gets on.
type mark struct {
	run     string
	events  int64
	attempt int32
	open    bool
}

// run asks until all was shown.
func (f *follower) run(ctx context.Context) error {
	for {
		asked, err := f.look(ctx)
		switch {
		case err != nil && ctx.Err() == nil && f.passes(err):
			asked = 4 // it may take a while
		case err != nil || f.finished:
			return err
		}
		pause := time.Duration(max(asked, 1)) * askEvery
		if f.below {
			pause = max(pause, askBelowEvery)
		}
		if err := process.Pause(ctx, pause); err != nil {
			return err
		}
	}
}

// passes reports whether an error is one after which it goes on: a server that is away, and whatever keeps an open workflow from
// being read until a worker is up. Each is told once.
func (f *follower) passes(err error) bool {
	if f.session == "" || Is(err, Gone) || Is(err, NotFound) || Is(err, Invalid) {
		return false
	}
	if Is(err, Unreachable) {
		f.show(f.moment.reached(false))
		return !f.finished
	}
	f.show(f.moment.troubled(err.Error()))
	return !f.finished && f.mark.open
}

// look asks the server how far the workflow is, and where it has got on for its account. It returns how often the server was asked.
func (f *follower) look(ctx context.Context) (asked int, err error) {
	patience := answersWithin
	if f.session == "" {
		patience = history.CallTimeout // nothing was shown yet, and it ends where the server does not answer
	}
	call, cancel := context.WithTimeout(ctx, patience)
	s, err := f.impatient.describe(call, f.id)
	if call.Err() != nil && ctx.Err() == nil {
		err = errorf(Unreachable, err, "the server does not answer")
	}
	cancel()
	if lostToServer(err) {
		all, err := f.client.recordedAccount(ctx, f.id, f.request(), err)
		if err == nil {
			err = f.find(all)
		}
		if err == nil {
			f.take(ctx, all)
			f.over(ctx, all)
		}
		return 1, err
	}
	if err != nil {
		return 1, err
	}
	f.show(f.moment.reached(true))
	if f.session != "" && f.session != s.firstRunID() { // another session has begun under the name
		return 3, f.leave(ctx, s.agent)
	}
	newest := s.newest()
	now := mark{newest.runID(), newest.info().GetHistoryLength(), s.GetPendingWorkflowTask().GetAttempt(), s.open()}
	if now != f.mark {
		asked++
		if err := f.read(ctx, s); err != nil {
			f.mark.open = now.open
			return asked + 1, err
		}
		f.mark = now
	}
	f.session = s.firstRunID()
	if !f.finished {
		f.show(f.live(ctx, s)...)
	}
	return asked + 1, nil
}

// request asks for what is new.
func (f *follower) request() account.Request {
	want := []account.Part{account.HeadOf, account.Steps, account.Events, account.Current}
	if f.session == "" {
		want = append(want, account.Executions)
	}
	return account.Request{Want: want, Execution: cmp.Or(f.Number, account.Newest), After: f.seen}
}

// find finds the execution that is followed in the account that was read first.
func (f *follower) find(all account.Account) error {
	if f.session != "" {
		return nil
	}
	err := f.client.checkHas(all, f.id, f.Number)
	if f.Number == 0 && all.Head.Newest != nil {
		f.Number = all.Head.Newest.Number
	}
	f.Number = max(f.Number, 1) // the first is about to begin
	return err
}

// read reads what is new, and shows it.
func (f *follower) read(ctx context.Context, s snapshot) error {
	all, err := f.account(ctx, s)
	if err == nil {
		err = f.find(all)
	}
	if err != nil {
		return fail(ctx, f.id, "following "+f.id, err)
	}
	f.answers = all.Server.Source == contract.FromWorkflow
	was := f.current
	if f.current = s.runID(); was != "" && was != f.current {
		f.show(Event{Type: EventContinued, RunID: f.current})
	}
	if task := all.Server.FailingTask; task != nil && task.Failure != "" {
		f.show(f.moment.troubled("a workflow task failed: " + task.Failure))
	}
	if f.take(ctx, all); f.finished {
		return nil
	}
	newest := all.Head.Newest
	ended := newest != nil && (newest.Number > f.Number || newest.Number == f.Number && newest.Ended != nil)
	if ended && (f.ended || len(all.Events) == 0) { // else what came while the pages were read is still to be shown
		f.over(ctx, all)
	} else if ended {
		return f.read(ctx, s)
	}
	return nil
}

// account reads an account. A server that goes away meanwhile, which the reading outlasts, is told all the same.
func (f *follower) account(ctx context.Context, s snapshot) (all account.Account, err error) {
	request, patience := f.request(), time.Duration(0)
	if f.answers {
		patience = patientWith
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		all, err = f.client.accountOf(ctx, s, request, patience)
	}()
	for {
		select {
		case <-done:
			return all, err
		case <-time.After(askEvery):
		}
		call, cancel := context.WithTimeout(ctx, answersWithin)
		_, away := f.impatient.described(call, s.agent, s.runID())
		cancel()
		if away == nil || history.Away(away) && ctx.Err() == nil {
			f.show(f.moment.reached(away == nil))
		}
	}
}

// leave shows what is left of a session that is over, since another one has its name.
func (f *follower) leave(ctx context.Context, a agent) error {
	s, err := f.client.described(ctx, a, f.current)
	if err == nil {
		err = f.read(ctx, s)
	}
	if err == nil && !f.finished {
		err = gone("the session of %s that was followed is over, and another one has begun", f.id)
	}
	return goneIfDeleted(err, "run %s of %s has been deleted", f.current, f.id)
}

// take shows the events of an account, with what they are about.
func (f *follower) take(ctx context.Context, all account.Account) {
	f.content.learn(all)
	yieldAll(account.Events, all.Events, account.EventNumber, all.Missing, func(e domain.Event, err error) bool {
		if err != nil {
			f.fail(err)
		} else {
			f.seen.Event = e.Sequence
			f.show(f.tell(ctx, e, all)...)
		}
		return !f.finished
	})
	f.seen.Step = max(f.seen.Step, f.content.newest)
	if !f.caughtUp && !f.finished {
		f.caughtUp = true
		f.finished = !f.yield(Event{Number: f.Number, earlier: true}, nil)
	}
}

// fail tells of an error after which it goes on.
func (f *follower) fail(err error) {
	f.finished = f.finished || !f.yield(Event{Number: f.Number}, err)
}

// over ends it: the execution is. How it ended is told where no event has.
func (f *follower) over(ctx context.Context, all account.Account) {
	if f.finished {
		return
	}
	outcome := f.outcome(ctx, all)
	switch {
	case f.After > f.seen.Event:
		f.fail(notFound("after: execution %d of %s has no event %d; its last is %d", f.Number, f.id, f.After, f.seen.Event))
	case f.ended:
	case outcome != nil:
		f.show(Event{Type: EventEnded, Time: f.newest(all).CompletedAt, Ended: outcome})
	default:
		f.fail(gone("how execution %d of %s ended can no longer be read", f.Number, f.id))
	}
	f.finished = true
}

// outcome is how the execution ended; nil: it has not, or that cannot be read.
func (f *follower) outcome(ctx context.Context, all account.Account) *contract.Outcome {
	x := f.newest(all)
	if x.Number == 0 {
		if told, err := f.client.execution(ctx, f.id, f.Number); err == nil && len(told.Executions) > 0 {
			x = told.Executions[0]
		}
	}
	if !x.Status.Terminal() {
		return nil
	}
	return &x.Outcome
}

// show gives events to the caller, as long as that wants any. Those that say nothing else are of this moment.
func (f *follower) show(events ...Event) {
	for _, e := range events {
		if f.finished || e.Type == "" {
			continue
		}
		if e.Number = f.Number; e.Time.IsZero() {
			e.Time = time.Now()
		}
		f.ended = f.ended || e.Ended != nil
		e.earlier = e.Recorded.Type != "" && e.Recorded.Sequence <= f.After || e.Recorded.Type == "" && f.seen.Event < f.After
		f.finished = !f.yield(e, nil)
	}
}
