package client

import (
	"cmp"
	"context"
	"strings"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// Explain says why an execution ended, or what it is doing, what its steps cost, and what was wasted. Number zero is the newest.
// It needs no worker. Missing says what nobody could tell.
func (c *Client) Explain(ctx context.Context, id string, number int) (none ExplainView, _ error) {
	e, err := c.explained(ctx, id, number)
	if err != nil {
		return none, err
	}
	if e.Server.Source == contract.FromRecords {
		e.miss("what only its history had: failed attempts, waits, bytes; the record of the execution tells")
		if len(e.Missing) > 0 {
			e.miss("%s", account.Ranges(e.Missing))
		}
		if at := e.asked.Imported; !at.IsZero() {
			e.miss("it was imported on %s; no workflow of it is here", at.Format("2006-01-02 15:04 MST"))
		}
		return e.view(), nil
	}
	if e.attempts, err = c.attemptsOf(ctx, e); err != nil {
		return none, fail(ctx, id, "reading the history of "+id, goneIfDeleted(err, "the runs of %s have been deleted", id))
	}
	e.missing = append(e.missing, e.attempts.unread...)
	if e.attempts.gone {
		e.miss("earlier runs of the workflow have been deleted, and with them why attempts failed, and how long inferences waited for their turn")
	}
	v := e.view()
	if !e.over() {
		now := c.status(ctx, e.snapshot, e.Account)
		v.Doing = &ExplainDoing{Text: now.Doing, Since: orNull(now.Since), Paused: now.Paused}
	}
	if e.Head.Parent != nil {
		v.Grants = c.grantsOf(ctx, *e.Head)
	}
	return v, nil
}

func (e *explanation) view() ExplainView {
	x := e.asked
	v := ExplainView{
		Execution: e.begun(x.Number, x.ExecutionID, cmp.Or(e.runID(), x.RunID)), Status: x.Status, Source: e.Server.Source, StartedAt: orNull(x.StartedAt), ImportedAt: orNull(x.Imported),
		Trusted: e.state.Trusted(), Sessions: e.sessions(), Changes: e.Head.Configuration.ChangesBetween(x.Number-1, x.Number), Signals: e.signals(), MoreStops: e.state.Execution.Continuation.More,
		Steps: e.steps(), Reported: &ExplainReported{x.Steps, x.Usage, x.Cost()}, History: e.history(),
	}
	if x.Status == domain.StatusPending {
		v.Status = domain.StatusInProgress
	}
	if model := e.state.LLMConfig.String(); e.state.LLMConfig.Model != "" {
		v.Model = &model
	}
	if x.Origin != nil {
		v.Origin, v.OriginNumber, v.BranchedFrom = &x.Origin.ExecutionID, e.Head.OriginNumber(x), x.Origin.Branch()
	}
	if !e.older {
		v.Todo = e.now.Metadata.Todo()
	}
	for _, event := range e.Events {
		switch data := event.Data.(type) {
		case domain.AgentExecutionStarted:
			names := strings.FieldsFunc(data.GivenMetadata, func(r rune) bool { return r == ',' })
			v.Given = &ExplainGiven{Messages: data.GivenMessages, Metadata: append([]string{}, names...)}
		case domain.MessageReceived:
			if !data.Began {
				v.Messages++
			}
		}
	}
	if e.over() {
		v.EndedAt, v.Milliseconds = orNull(x.CompletedAt), between(x.StartedAt, x.CompletedAt)
		v.Ending = &ExplainEnding{StopReason: x.StopReason, Signal: e.counted()}
		if x.Status == domain.StatusFailed {
			v.Ending.Error = e.error()
		}
		v.Ending.Summary = e.summary(v.Ending)
	}
	v.Totals, v.Waste = sumsOf(v.Steps)
	if v.Totals.CostNanoUSD == nil {
		e.miss("the cost: the execution knows no price of the model")
	}
	v.Budget, v.SessionBudget = e.limits(), e.sessionLimits()
	v.Advice = e.advice(v)
	if !e.older && e.Head.Context > 0 {
		v.Context = &ExplainContext{Tokens: e.Head.Context}
		if window := e.Head.Window; window > 0 {
			v.Context.Window, v.Context.Share = &window, new(float64(e.Head.Context)/float64(window))
		}
	}
	v.Missing = append([]string{}, e.missing...)
	return v
}

// Where servers suggest to continue as new, unless they are configured
// otherwise.
const (
	continueEvents = 4096
	continueBytes  = 4 << 20
)

func (e *explanation) history() ExplainHistory {
	h := ExplainHistory{
		HistoryView: account.StatusOf(*e.Head).History, Steps: e.attempts.stepsOfRun,
		ContinueEvents: continueEvents, ContinueBytes: continueBytes, Suggested: e.attempts.suggested,
	}
	h.Events, h.Bytes = e.info().GetHistoryLength(), e.info().GetHistorySizeBytes()
	if reset := e.Server.Reset; reset != nil {
		h.ResetAt = &reset.At
	}
	h.Share = min(max(float64(h.Events)/continueEvents, float64(h.Bytes)/continueBytes), 1)
	if h.Steps == 0 {
		return h
	}
	steps := int64(h.Steps)
	h.BytesPerStep, h.EventsPerStep = new(max(h.Bytes-e.attempts.firstEvent, 0)/steps), new(h.Events/steps)
	left := func(most, used, perStep int64) int64 { return max(most-used, 0) / max(perStep, 1) }
	h.StepsLeft = new(min(left(continueBytes, h.Bytes, *h.BytesPerStep), left(continueEvents, h.Events, *h.EventsPerStep)))
	return h
}
