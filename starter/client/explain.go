package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
	"everstep/starter/client/internal/history"
)

// Explain says why an execution ended, or what it is doing, with each of its
// steps, what they cost, and what was wasted. Number zero is the newest. The
// history is read in any case; where a worker answers too, what only the
// workflow knows is added, else Missing says what could not be told.
func (c *Client) Explain(ctx context.Context, id string, number int) (ExplainView, error) {
	p, number, err := c.locateExecution(ctx, id, number)
	if err != nil {
		return ExplainView{}, err
	}
	e := explanation{position: p, number: number, want: p.executionID(number), pending: c.pending(p.snapshot)}
	outcome, err := c.outcome(ctx, p, number)
	switch {
	case err == nil:
		e.outcome = &outcome
		if !outcome.ExecutionID.IsZero() { // one of an earlier workflow has another id than it would have in this one
			e.want = outcome.ExecutionID
		}
	case !errors.Is(err, errUnfinished):
		return ExplainView{}, fail(ctx, id, "reading the history of "+id, err)
	}
	e.older = number < p.number || c.superseded(ctx, p)
	if err = c.readHistory(ctx, &e); err != nil {
		return ExplainView{}, fail(ctx, id, "reading the history of "+id, goneIfDeleted(err, "the runs of %s have been deleted", id))
	}
	if err := c.askAll(ctx, &e); err != nil {
		return ExplainView{}, fail(ctx, id, "explaining "+id, err)
	}
	return e.view(), nil
}

// superseded reports whether the agent has gone on in a later workflow.
func (c *Client) superseded(ctx context.Context, p position) bool {
	now, err := c.snapshot(ctx, p.agent)
	return err == nil && now.firstRunID() != p.firstRunID()
}

// An explanation is what is known of an execution, by who told it.
type explanation struct {
	position
	number int
	want   domain.ExecutionID
	// pending is the work that has not ended.
	pending []history.Pending
	// older means that the agent has begun an execution after this one.
	older bool
	// outcome is nil while the execution is in progress.
	outcome *contract.Outcome

	// then is what history tells of the agent while the execution was its newest,
	// at of the execution; run is the newest run. gone says that runs of the
	// execution have been deleted.
	then progress.Agent
	at   progress.Execution
	run  progress.Run
	gone bool

	// told means that a worker answered: the fields below are set by it.
	told    bool
	steps   []domain.StepExecution
	failure *domain.Error
	// status and state are of the newest execution only.
	status *contract.StatusView
	state  *domain.ExecutionState
	// heard are the signals of an earlier execution by its events; nil where
	// they cannot be read.
	heard *heardSignals

	missing []string
}

// readHistory reads what is recorded of the execution: the runs in which it was,
// the oldest first, and the newest run.
func (c *Client) readHistory(ctx context.Context, e *explanation) error {
	runs, err := c.runsOf(ctx, e)
	if err != nil {
		return err
	}
	if !slices.Contains(runs, e.runID()) {
		runs = append(runs, e.runID())
	}
	a := progress.NewAgent(e.id, e.firstRunID())
	for _, runID := range runs {
		for recorded, err := range c.reader(e.agent).Forwards(ctx, runID) {
			if deleted(err) {
				e.gone = true
				break
			}
			if err != nil {
				return err
			}
			if a = a.With(recorded.Fact, recorded.At); a.Execution.Number == e.number {
				e.then, e.at = a, a.Execution
			}
		}
	}
	e.run = a.Run
	for _, unread := range a.Unread {
		e.miss("%s", unread)
	}
	return nil
}

// runsOf finds the runs in which the execution was, the oldest first, by what
// each took over from the one before.
func (c *Client) runsOf(ctx context.Context, e *explanation) ([]string, error) {
	var runs []string
	for runID := e.runID(); runID != ""; {
		began, err := c.reader(e.agent).First(ctx, runID)
		if deleted(err) {
			e.gone = true
			break
		}
		if err != nil {
			return nil, err
		}
		took := progress.Carried(began.Input)
		here := took.Number < e.number || took.Begins && took.Number == e.number
		if here || took.Open && took.Execution == e.want {
			runs = append(runs, runID)
		}
		if here {
			break
		}
		runID = began.Previous()
	}
	slices.Reverse(runs)
	return runs, nil
}

// recorded are the steps as history tells them, in order.
func (e *explanation) recorded() []ExplainStep {
	at := e.at
	at.Running = at.Running && e.outcome == nil
	steps, open := at.Steps(len(e.then.Open) > 0)
	all := make([]ExplainStep, len(steps))
	for i, s := range steps {
		all[i] = explainRecorded(s, e.then.Price != nil, open && i == len(steps)-1)
	}
	return all
}

// askAll asks the workflow, where a worker answers, for all that it knows.
func (c *Client) askAll(ctx context.Context, e *explanation) error {
	q := question{workflowID: e.workflowID(), runID: e.runID(), deadline: askTimeout}
	page, err := within(ctx, patience, func(ctx context.Context) (contract.StepsPage, error) {
		return ask(ctx, c, q, contract.QuerySteps, contract.StepsRequest{Number: e.number, From: math.MaxInt32})
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		e.miss("no worker answers: hooks, blocked calls, and signals other than users' stops cannot be told")
		return nil
	}
	if page.ExecutionID == e.want {
		e.failure = page.Error
	}
	if err := c.askSteps(ctx, e); err != nil {
		return err
	}
	if e.number != e.position.number {
		e.heard = c.heard(ctx, e.called(), e.number)
		return nil
	}
	if view := c.statusByWorkflow(ctx, e.agent); view != nil && view.ExecutionID == e.want {
		e.status = new(c.waiting(ctx, e.snapshot, e.completing(*view)))
	}
	view, err := ask(ctx, c, q, contract.QueryState, contract.StateRequest{From: math.MaxInt32})
	if err != nil {
		return nil //nolint:nilerr // what it would add is said to be missing
	}
	if state, err := domain.DecodeAgentState(view.State); err == nil {
		if execution, ok := state.Execution(); ok && execution.ID() == e.want {
			e.state = &execution
		}
	}
	return nil
}

// askSteps reads the steps as the workflow keeps them.
func (c *Client) askSteps(ctx context.Context, e *explanation) error {
	e.told = true
	for step, err := range c.Steps(ctx, e.called(), e.number) {
		switch {
		case errors.Is(err, &Error{Class: Gone}), errors.Is(err, &Error{Class: Unreachable}):
			e.miss("%s", err)
		case err != nil:
			return err
		default:
			e.steps = append(e.steps, step)
		}
	}
	return nil
}

// miss notes what cannot be told.
func (e *explanation) miss(format string, args ...any) {
	e.missing = append(e.missing, fmt.Sprintf(format, args...))
}

// view puts together what is known.
func (e *explanation) view() ExplainView {
	v := ExplainView{Execution: e.execution(e.number), Source: contract.FromHistory, Status: domain.StatusInProgress}
	if e.told {
		v.Source = contract.FromWorkflow
	}
	if e.outcome != nil {
		v.Status = e.outcome.Status
	}
	v.ExecutionID = e.want
	v.Steps = e.allSteps()
	v.Totals = totalsOf(v.Steps)
	v.Waste = wasteOf(v.Steps, v.Totals)
	v.Reported = e.reported()
	e.times(&v)
	e.identity(&v)
	e.compare(v)
	v.Budget = e.limits(v)
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

// allSteps are the workflow's steps with what history adds, and those that only
// history has.
func (e *explanation) allSteps() []ExplainStep {
	recorded := e.recorded()
	if e.gone {
		e.miss("earlier runs of the workflow have been deleted, and steps with them")
	}
	byNumber := map[int]ExplainStep{}
	for _, s := range recorded {
		byNumber[s.Number] = s
	}
	told := map[int]ExplainStep{}
	for _, s := range e.steps {
		step := explainStep(s, e.then.Price != nil)
		if h, ok := byNumber[s.Step.Number]; ok {
			step = step.withHistory(h)
		}
		told[s.Step.Number] = step
	}
	last := 0
	for n := range told {
		last = max(last, n)
	}
	for n := range byNumber {
		last = max(last, n)
	}
	steps := []ExplainStep{}
	for n := 1; n <= last; n++ {
		if step, ok := told[n]; ok {
			steps = append(steps, step)
		} else if step, ok := byNumber[n]; ok {
			steps = append(steps, step)
		}
	}
	return steps
}

// reported is what the execution itself has counted, where anybody tells.
func (e *explanation) reported() *ExplainReported {
	priced := e.then.Price != nil
	switch {
	case e.outcome != nil && !e.byServerHere():
		return &ExplainReported{
			Steps: e.outcome.Steps, Usage: e.outcome.Usage.View(), CostNanoUSD: costOf(e.outcome.CostNanoUSD, priced),
		}
	case e.state != nil:
		return &ExplainReported{
			Steps: e.state.StepCount(), Usage: e.state.Usage().View(), CostNanoUSD: costOf(e.state.CostNanoUSD(), priced),
		}
	}
	return nil
}

// byServerHere reports whether the server ended this execution, and not an
// outcome of ours.
func (e *explanation) byServerHere() bool { return e.byServer && e.number == e.position.number }

// compare says where steps are missing from the totals.
func (e *explanation) compare(v ExplainView) {
	if r := v.Reported; r != nil && r.Steps > len(v.Steps) {
		e.miss("%d of %d steps cannot be read; the totals are without them", r.Steps-len(v.Steps), r.Steps)
	}
	if v.Totals.CostNanoUSD == nil {
		e.miss("the cost: the execution knows no price of the model")
	}
}

func (e *explanation) times(v *ExplainView) {
	started, ended := e.at.StartedAt, e.at.EndedAt
	if e.state != nil {
		started = e.state.StartedAt()
		if at, ok := e.state.CompletedAt(); ok {
			ended = at
		}
	}
	v.StartedAt = timeOf(started)
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

// explainHistory says how long the newest run's history is.
func (e *explanation) history() ExplainHistory {
	h := ExplainHistory{
		Events: e.info().GetHistoryLength(), Bytes: e.info().GetHistorySizeBytes(), Runs: e.run.Before + 1,
		Steps: e.run.Steps, ContinueEvents: continueEvents, ContinueBytes: continueBytes, Suggested: e.run.Suggested,
	}
	h.Share = min(max(float64(h.Events)/continueEvents, float64(h.Bytes)/continueBytes), 1)
	if h.Steps == 0 {
		return h
	}
	n := int64(h.Steps)
	h.BytesPerStep, h.EventsPerStep = new(max(h.Bytes-e.run.Base, 0)/n), new(h.Events/n)
	left := int64(math.MaxInt64)
	if *h.BytesPerStep > 0 {
		left = min(left, max(continueBytes-h.Bytes, 0) / *h.BytesPerStep)
	}
	if *h.EventsPerStep > 0 {
		left = min(left, max(continueEvents-h.Events, 0) / *h.EventsPerStep)
	}
	if left < math.MaxInt64 {
		h.StepsLeft = &left
	}
	return h
}
