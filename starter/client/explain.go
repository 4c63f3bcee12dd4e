package client

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
)

// Explain says why an execution ended, or what it is doing, what its steps cost, and what was wasted.
// Number zero is the newest. It reads the history and asks a worker; Missing says what none could tell.
func (c *Client) Explain(ctx context.Context, id string, number int) (ExplainView, error) {
	t, err := c.targetEnd(ctx, id, number)
	if err != nil {
		return ExplainView{}, err
	}
	e := explanation{target: t, pending: c.pending(t.snapshot), older: t.asked < t.number || t.left}
	if err := e.read(ctx, c); err != nil {
		return ExplainView{}, fail(ctx, id, "reading the history of "+id, goneIfDeleted(err, "the runs of %s have been deleted", id))
	}
	if err := c.askAll(ctx, &e); err != nil {
		return ExplainView{}, fail(ctx, id, "explaining "+id, err)
	}
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
	if err := e.read(ctx, c); err != nil {
		return nil, fail(ctx, id, "reading the history of "+id, err)
	}
	var kept []domain.StepExecution
	for step, err := range c.Steps(ctx, id, number) {
		if err != nil {
			return nil, err
		}
		kept = append(kept, step)
	}
	return append(e.missing, e.at.Compare(e.then.Hooks, kept)...), nil
}

func (c *Client) askAll(ctx context.Context, e *explanation) error {
	page, err := glance(ctx, c, e.agent, e.runID(), contract.QuerySteps, contract.StepsRequest{Number: e.asked, From: math.MaxInt32})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		e.miss("no worker answers: hooks, blocked calls, and signals other than users' stops cannot be told")
		return nil
	}
	if page.ExecutionID == e.want() {
		e.failure, e.signal = page.Error, page.Signal
	}
	e.told = true
	for step, err := range c.Steps(ctx, e.called(), e.asked) {
		switch {
		case errors.Is(err, &Error{Class: Gone}), errors.Is(err, &Error{Class: Unreachable}):
			e.miss("%s", err)
		case err != nil:
			return err
		default:
			e.steps = append(e.steps, step)
		}
	}
	if e.asked != e.number {
		e.hear(ctx, c)
		return nil
	}
	if view := c.statusByWorkflow(ctx, e.agent); view != nil && view.ExecutionID == e.want() {
		e.status = new(c.waiting(ctx, e.snapshot, e.completing(*view)))
	}
	view, err := read(ctx, c, e.agent, e.runID(), contract.QueryState, contract.StateRequest{From: math.MaxInt32})
	if err != nil {
		return nil //nolint:nilerr // what it would add is said to be missing
	}
	if state, err := domain.DecodeAgentState(view.State); err == nil {
		if execution, ok := state.Execution(); ok && execution.ID() == e.want() {
			e.state = &execution
		}
	}
	return nil
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
		steps = append(steps, byNumber[n])
	}
	return steps
}

func (e *explanation) reported() *ExplainReported {
	priced := e.then.Price != nil
	switch o := e.outcome; {
	case o != nil && !e.byServerHere():
		return &ExplainReported{o.Steps, o.Usage.View(), costOf(o.CostNanoUSD, priced)}
	case e.state != nil:
		return &ExplainReported{e.state.StepCount(), e.state.Usage().View(), costOf(e.state.CostNanoUSD(), priced)}
	}
	return nil
}

func (e *explanation) identity(v *ExplainView) {
	model, origin, started, ended := e.then.Model, e.at.Origin, e.at.StartedAt, e.at.EndedAt
	if e.status != nil {
		model, origin = e.status.Model, e.status.Origin
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

func (e *explanation) history() ExplainHistory {
	h := ExplainHistory{
		Events: e.info().GetHistoryLength(), Bytes: e.info().GetHistorySizeBytes(), Runs: e.run.Before + 1,
		Steps: e.run.Steps, ContinueEvents: continueEvents, ContinueBytes: continueBytes, Suggested: e.run.Suggested,
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
