package client

import (
	"context"
	"time"

	"everstep/domain"
)

// Status says what an agent is doing now. The workflow is asked and described
// at once; where no worker answers within 2 s, what the server knows is told
// instead, and Source says so: step count, status, what is pending. Usage,
// budget and signals are then zero unless the execution has ended.
func (c *Client) Status(ctx context.Context, id string) (domain.StatusView, error) {
	a, err := agentOf(id)
	if err != nil {
		return domain.StatusView{}, err
	}
	views := make(chan *domain.StatusView, 1)
	background, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { views <- c.statusByWorkflow(background, a) }()
	s, err := c.snapshot(ctx, a)
	if err != nil {
		return domain.StatusView{}, fail(ctx, id, "asking about "+id, err)
	}
	if _, byServer := serverEnd(s.info().GetStatus()); !byServer {
		if view := <-views; view != nil {
			return c.waiting(ctx, s, s.completing(*view)), nil
		}
	}
	return c.statusByServer(ctx, id)
}

// statusByWorkflow asks the workflow, and returns nil where no worker answers.
func (c *Client) statusByWorkflow(ctx context.Context, a agent) *domain.StatusView {
	q := question{workflowID: a.workflowID(), deadline: askTimeout}
	view, err := within(ctx, patience, func(ctx context.Context) (domain.StatusView, error) {
		return ask(ctx, c, q, domain.QueryStatus, domain.StatusRequest{})
	})
	if err != nil {
		return nil
	}
	return &view
}

// completing adds to the workflow's own view what only the server knows.
func (s snapshot) completing(v domain.StatusView) domain.StatusView {
	v.WorkflowID, v.RunID = s.workflowID(), s.runID()
	v.History.Events, v.History.Bytes = s.info().GetHistoryLength(), s.info().GetHistorySizeBytes()
	v.Source, v.Open = domain.FromWorkflow, v.Open && s.open()
	if !s.open() {
		v.Doing = "ended"
	}
	return v
}

// statusByServer tells what can be told without a worker.
func (c *Client) statusByServer(ctx context.Context, id string) (domain.StatusView, error) {
	p, err := c.locate(ctx, id)
	if err != nil {
		return domain.StatusView{}, err
	}
	if p.ended != nil {
		return p.endedView(), nil
	}
	return c.waiting(ctx, p.snapshot, p.runningView(c.reader().pending(p.snapshot))), nil
}

// view is what all views have in common.
func (p position) view() domain.StatusView {
	return domain.StatusView{
		AgentID: p.id, Name: p.name, ExecutionID: p.executionID(p.number), Number: p.number,
		WorkflowID: p.workflowID(), RunID: p.runID(), CostUSD: "0",
		StopSignals: []domain.StopSignal{}, PendingApprovals: []string{}, PendingQuestions: []string{},
		History: domain.HistoryView{Events: p.info().GetHistoryLength(), Bytes: p.info().GetHistorySizeBytes()},
		Open:    p.open() && p.name != "",
	}
}

// endedView shows an agent none of whose executions is in progress.
func (p position) endedView() domain.StatusView {
	v, o := p.view(), *p.ended
	v.Status, v.StopReason, v.StepCount, v.Usage = o.Status, o.StopReason, o.Steps, o.Usage.View()
	v.CostUSD, v.Priced = domain.USD(o.CostNanoUSD), o.Priced
	v.Source, v.Doing = domain.FromMemo, "ended"
	if p.open() {
		v.Doing = "idle"
		if p.trouble != "" {
			v.Doing = p.stuck()
		}
	} else if closed := p.info().GetCloseTime(); closed != nil {
		v.Since = closed.AsTime()
	}
	if p.byServer {
		v.Source = domain.FromServer
	}
	if o.Status == domain.StatusFailed {
		v.Error = failureOf(o)
	}
	return v
}

// runningView shows an execution in progress by its pending work, and by the
// step that the history names where nothing pending tells.
func (p position) runningView(work []pendingWork) domain.StatusView {
	v := p.view()
	v.Status, v.Source = domain.StatusInProgress, domain.FromHistory
	step := p.step
	for _, w := range work {
		if w.beat != nil && w.beat.ExecutionID == v.ExecutionID && w.beat.Step >= step {
			step, v.Source = w.beat.Step, domain.FromHeartbeat
		}
	}
	v.StepCount = max(step-1, 0)
	v.Doing, v.Since = p.doing(work, step)
	return v
}

// stuck says why nothing moves.
func (p position) stuck() string {
	return "a worker cannot carry it on, and tries again: " + p.trouble
}

// doing says in words what is going on, and since when.
func (p position) doing(work []pendingWork, step int) (string, time.Time) {
	if p.trouble != "" || len(work) == 0 {
		text, since := "no worker says", time.Time{}
		if task := p.GetPendingWorkflowTask(); task != nil {
			text, since = "it waits for a worker to go on", task.GetOriginalScheduledTime().AsTime()
		}
		if p.trouble != "" {
			text = p.stuck()
		}
		return text, since
	}
	since := work[0].since
	for _, w := range work {
		if w.since.Before(since) {
			since = w.since
		}
	}
	return describeWork(work, step), since
}
