package client

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"

	"everstep/domain"
	"everstep/domain/contract"
)

// Explain says why an execution ended, or what it is doing, what its steps cost, and what was wasted.
// Number zero is the newest. It reads the history and asks a worker; Missing says what none could tell.
func (c *Client) Explain(ctx context.Context, id string, number int) (ExplainView, error) {
	v, err := c.liveExplain(ctx, id, number)
	return orKept(ctx, c, id, number, v, err, explanationOf)
}

func (c *Client) liveExplain(ctx context.Context, id string, number int) (ExplainView, error) {
	t, err := c.targetEnd(ctx, id, number)
	if err != nil {
		return ExplainView{}, err
	}
	e := explanation{target: t, pending: c.pending(t.snapshot), older: t.asked < t.number || t.left}
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	var asking sync.WaitGroup
	var told testimony
	var untold error
	runs := newRetellings()
	asking.Go(func() { told, untold = c.testimony(call, t, runs) })
	err = e.read(ctx, c, runs)
	if err != nil {
		cancel()
	}
	asking.Wait()
	switch {
	case err != nil:
		return ExplainView{}, fail(ctx, id, "reading the history of "+id, goneIfDeleted(err, "the runs of %s have been deleted", id))
	case untold != nil:
		return ExplainView{}, fail(ctx, id, "explaining "+id, untold)
	}
	e.testimony, e.missing = told, append(e.missing, told.untold...)
	return e.view(), nil
}

// Audit says each difference between what history tells of an execution and what itself has kept: there
// is none, unless the worker and this program are of different versions. Number zero is the newest.
// The execution has to have ended. It needs a worker.
func (c *Client) Audit(ctx context.Context, id string, number int) ([]string, error) {
	t, err := c.targetEnd(ctx, id, number)
	switch {
	case err != nil:
		return nil, err
	case t.outcome == nil:
		return nil, errorf(Refused, nil, "execution %d of %s is in progress; audit it when it has ended", t.asked, id)
	}
	e := explanation{target: t}
	if err := e.read(ctx, c, nil); err != nil {
		return nil, fail(ctx, id, "reading the history of "+id, err)
	}
	kept, err := c.allStepsOf(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	differences := slices.Concat(e.missing, e.at.Compare(e.then.Hooks, kept), e.at.CompareSession(kept))
	retold, err := c.allStepsOf(ctx, t, c.retold(t.agent))
	if err == nil && !reflect.DeepEqual(retold, kept) {
		differences = append(differences, "history alone tells other steps than the execution has kept")
	}
	return differences, err
}

func (c *Client) allStepsOf(ctx context.Context, t target, told retelling) (all []domain.StepExecution, err error) {
	for step, err := range sequence(ctx, t.called(), "reading the steps of ", func(yield func(domain.StepExecution, error) bool) error {
		return c.stepsOf(ctx, t, nil, told, func(contract.StepsPage) {}, yield)
	}) {
		if err != nil {
			return nil, err
		}
		all = append(all, step)
	}
	return all, nil
}

// A testimony is what workers tell of an execution.
type testimony struct {
	// told means that one has answered: the fields below are set by it. failure is why the execution
	// failed, signal the one that ended it.
	told    bool
	steps   []domain.StepExecution
	failure *domain.Error
	signal  *domain.StopSignal
	// status and state are of the newest execution only.
	status *contract.StatusView
	state  *domain.ExecutionState
	// heard are the signals of an earlier execution by its events; nil where
	// they cannot be read.
	heard *domain.Continuation
	// untold says, a sentence each, what they could not tell.
	untold []string
}

// testimony asks the runs in which the execution was, side by side, where history does not tell them whole.
func (c *Client) testimony(ctx context.Context, t target, told *retellings) (w testimony, err error) {
	first := func(ctx context.Context, c *Client, a agent, runID string, query contract.Query[contract.StepsRequest, contract.StepsPage], in contract.StepsRequest) (contract.StepsPage, error) {
		page, err := glance(ctx, c, a, runID, query, in)
		if err != nil && ctx.Err() == nil {
			err = errNoWorker
		}
		return page, err
	}
	err = c.stepsOf(ctx, t, first, told.of, func(page contract.StepsPage) { w.hear(ctx, c, t, page) }, func(step domain.StepExecution, err error) bool {
		if err != nil {
			w.untold = append(w.untold, err.Error())
		} else {
			w.steps = append(w.steps, step)
		}
		return true
	})
	switch err = fail(ctx, t.called(), "reading the steps of "+t.called(), err); {
	case ctx.Err() != nil:
		return w, ctx.Err()
	case !w.told && errors.Is(err, errNoWorker):
		w.steps = nil
		w.untold = append(w.untold, "no worker answers: hooks, blocked calls, and signals other than users' stops cannot be told")
		return w, nil
	case errors.Is(err, &Error{Class: Gone}), errors.Is(err, &Error{Class: Unreachable}):
		w.untold = append(w.untold, err.Error())
	case err != nil:
		return w, err
	}
	if t.asked != t.number {
		w.heard = c.heardOf(ctx, t)
	}
	return w, nil
}

// hear takes what a page says beside the steps. What it would add to that is said to be missing where it
// cannot be read.
func (w *testimony) hear(ctx context.Context, c *Client, t target, page contract.StepsPage) {
	w.told = true
	if page.Error != nil || page.Signal != nil {
		w.failure, w.signal = page.Error, page.Signal
	}
	if page.Status != nil && page.Status.ExecutionID == t.want() {
		w.status = new(c.waiting(ctx, t.snapshot, t.completing(*page.Status)))
	}
	if len(page.State) == 0 {
		return
	}
	state, err := domain.DecodeAgentState(page.State)
	if execution, ok := state.Execution(); err == nil && ok && execution.ID() == t.want() {
		w.state = &execution
	}
}

func (e *explanation) view() ExplainView {
	v := ExplainView{Execution: e.execution(e.asked), Source: contract.FromHistory, Status: domain.StatusInProgress}
	if e.told {
		v.Source = contract.FromWorkflow
	}
	if e.outcome != nil {
		v.Status = e.outcome.Status
	}
	v.ExecutionID = e.want()
	v.Steps = e.allSteps()
	v.Totals = totalsOf(v.Steps)
	v.Waste = wasteOf(v.Steps, v.Totals)
	v.Reported = e.reported()
	e.identity(&v)
	if r := v.Reported; r != nil && r.Steps > len(v.Steps) {
		e.miss("%d of %d steps cannot be read; the totals are without them", r.Steps-len(v.Steps), r.Steps)
	}
	if v.Totals.CostNanoUSD == nil {
		e.miss("the cost: the execution knows no price of the model")
	}
	v.Budget, v.SessionBudget = e.limits(v), e.sessionLimits(v)
	v.Grants = grantsOf(e.at)
	if e.outcome != nil {
		v.Ending = e.ending()
	} else {
		v.Doing = e.doing()
	}
	v.Advice = e.advice(v)
	v.History = e.history()
	v.Context = e.context()
	v.Missing = append([]string{}, e.missing...)
	return v
}

// allSteps are the workflow's steps and those that only history has.
func (e *explanation) allSteps() []ExplainStep {
	if e.gone {
		e.miss("earlier runs of the workflow have been deleted, and steps with them")
	}
	byNumber := map[int]ExplainStep{}
	for _, s := range e.recorded() {
		byNumber[s.Number] = s
	}
	for _, s := range e.steps {
		step := explainStep(s, e.then.Price != nil)
		if h, ok := byNumber[s.Step.Number]; ok {
			step = step.withHistory(h)
		}
		byNumber[s.Step.Number] = step
	}
	steps := []ExplainStep{}
	for _, n := range slices.Sorted(maps.Keys(byNumber)) {
		steps = append(steps, e.withSettlements(byNumber[n]))
	}
	return steps
}

func (e *explanation) reported() *ExplainReported {
	priced := e.then.Price != nil
	switch o := e.outcome; {
	case o != nil && !e.byServerHere():
		return &ExplainReported{o.Steps, o.Usage.View(), costOf(o.CostNanoUSD, priced || o.Usage.TotalTokens() == 0)}
	case e.state != nil:
		return &ExplainReported{e.state.StepCount(), e.state.Usage().View(), costOf(e.state.CostNanoUSD(), priced || e.state.Usage().TotalTokens() == 0)}
	}
	return nil
}

func (e *explanation) identity(v *ExplainView) {
	model, origin, started, ended := e.then.Model, e.at.Origin, e.at.StartedAt, e.at.EndedAt
	v.BranchedFrom = e.at.Branch
	if e.status != nil {
		model, origin, v.Todo, v.BranchedFrom = e.status.Model, e.status.Origin, e.status.Todo, e.status.BranchedFrom
	}
	if e.state != nil {
		started = e.state.StartedAt()
		if at, ok := e.state.CompletedAt(); ok {
			ended = at
		}
	}
	if model != "" {
		v.Model = &model
	}
	if !origin.IsZero() {
		v.Origin = &origin
	}
	v.StartedAt, v.Trusted, v.Messages = timeOf(started), e.at.Trusted, e.at.Messages
	if given := e.at.Given; given != nil {
		v.Given = &ExplainGiven{Messages: given.Messages, Metadata: append([]string{}, given.Metadata...)}
	}
	v.Changed, v.Handoffs = e.then.ChangeOf(e.asked), e.then.HandoffsOf(e.asked)
	v.Sessions = []ExplainSession{}
	for _, s := range e.then.Sessions {
		v.Sessions = append(v.Sessions, ExplainSession{Server: s.Server, Worker: s.Worker, Since: s.Since, EndedAt: timeOf(s.EndedAt), Reason: s.Why})
	}
	if e.outcome != nil {
		v.EndedAt, v.Milliseconds = timeOf(ended), between(started, ended)
	}
}

// Where servers suggest to continue as new, unless they are configured
// otherwise.
const (
	continueEvents = 4096
	continueBytes  = 4 << 20
)

func (e *explanation) history() ExplainHistory {
	h := ExplainHistory{
		Events: e.info().GetHistoryLength(), Bytes: e.info().GetHistorySizeBytes(), Runs: e.run.Before + 1,
		Steps: e.run.Steps, ContinueEvents: continueEvents, ContinueBytes: continueBytes, Suggested: e.run.Suggested, ResetAt: timeOf(e.run.ResetAt),
	}
	if e.run.Unstored != nil {
		h.Unstored = &e.run.Unstored.Message
	}
	h.Share = min(max(float64(h.Events)/continueEvents, float64(h.Bytes)/continueBytes), 1)
	if h.Steps == 0 {
		return h
	}
	bytes, events := max(h.Bytes-e.run.Base, 0)/int64(h.Steps), h.Events/int64(h.Steps)
	h.BytesPerStep, h.EventsPerStep = &bytes, &events
	if bytes > 0 {
		h.StepsLeft = new(max(continueBytes-h.Bytes, 0) / bytes)
	}
	if left := max(continueEvents-h.Events, 0); events > 0 && (bytes == 0 || left/events < *h.StepsLeft) {
		h.StepsLeft = new(left / events)
	}
	return h
}
