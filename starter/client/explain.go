package client

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
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

// attempts is what only the histories of an execution's runs have: why attempts at inferences failed, how long those waited for
// their turn, and how far the newest run is on the way to the next.
type attempts struct {
	steps map[int]stepAttempts
	// stepsOfRun counts the steps of the newest run, of all executions, firstEvent are the bytes of its first event, and
	// suggested says that the server suggests a new run.
	stepsOfRun int
	firstEvent int64
	suggested  bool
	// gone says that runs have been deleted, and unread what of the others cannot be read.
	gone   bool
	unread []string
}

// price is what the model costs; nil: nobody knows it.
func (e *explanation) price() *domain.Price {
	if resolved := e.Head.Configuration.Resolved; resolved != nil {
		return resolved.Price
	}
	return nil
}

// attemptsOf reads the runs in which an execution was, from the newest of them on backwards, and the newest run.
func (c *Client) attemptsOf(ctx context.Context, e explanation) (all attempts, err error) {
	all = attempts{steps: map[int]stepAttempts{}}
	reader, newest := c.reader(e.agent), e.runID()
	price := e.price()
	for runID := cmp.Or(e.asked.RunID, newest); runID != ""; {
		events, err := reader.Events(ctx, runID)
		switch {
		case deleted(err):
			all.gone = true
			return all, nil
		case err != nil || len(events) == 0:
			return all, err
		}
		inferences, unread := history.Inferences(c.cfg.Converter, events)
		all.unread = append(all.unread, unread...)
		askedFor := map[domain.StepID]bool{}
		for _, one := range inferences {
			askedFor[one.Request.ExecutionID.Step(one.Request.Step)] = true
			if step, limit := one.Request.Step, e.Head.Configuration.RateLimit; one.Request.ExecutionID == e.asked.ExecutionID {
				all.steps[step] = all.steps[step].with(*one, limit != nil && one.Queue == limit.TaskQueue, price)
			}
		}
		if runID == newest {
			all.firstEvent, all.suggested = int64(proto.Size(events[0])), history.ContinueSuggested(events)
			all.stepsOfRun = len(askedFor)
		}
		began := e.asked.StartedAt
		if began.IsZero() || !events[0].GetEventTime().AsTime().After(began) {
			return all, nil
		}
		runID = history.Began(c.cfg.Converter, events[0]).Previous()
	}
	return all, nil
}

// A stepAttempts are the attempts at the inferences of a step that failed, which it counts, and how long those are known to have
// waited for their turns.
type stepAttempts struct {
	retries []ExplainRetry
	failed  int
	queued  time.Duration
}

// add notes attempts that failed one after another within one activity: the last one for why, those before it for before, where
// that is known. What all have used, of which the price is nil where the model has none, is noted with the last.
func (s *stepAttempts) add(n int, before, why *domain.Error, used domain.Usage, price *domain.Price) {
	if n < 1 {
		return
	}
	if n > 1 && before != nil {
		s.add(n-1, nil, before, domain.Usage{}, price)
		n = 1
	}
	s.failed += n
	retry := ExplainRetry{Attempts: n, Reason: "history does not say why", Usage: used}
	if why != nil {
		retry.Reason = why.Message
		if why.Code != "" {
			retry.Code = &why.Code
		}
	}
	if price != nil {
		retry.CostNanoUSD = new(price.Cost(used))
	}
	if last := len(s.retries) - 1; last >= 0 && s.retries[last].Reason == retry.Reason && reflect.DeepEqual(s.retries[last].Code, retry.Code) {
		same := &s.retries[last]
		same.Attempts, same.Usage, same.CostNanoUSD = same.Attempts+n, same.Usage.Add(used), addCost(same.CostNanoUSD, retry.CostNanoUSD)
		return
	}
	s.retries = append(s.retries, retry)
}

// with takes an inference, and whether it was to wait for its turn. Of what that used the price is nil where the model has none.
func (s stepAttempts) with(one history.Inference, turns bool, price *domain.Price) stepAttempts {
	s.retries = slices.Clone(s.retries)
	if turns {
		s.queued += one.Queued
	}
	switch {
	case one.Lost != nil:
		// To have come to a worker that has another task queue for it, or lacks what it needs, is no attempt. What was cut off while it
		// waited under a rate limit mostly waited for its turn, and was never begun: history does not tell that from a wait for
		// another attempt.
		err := one.Lost.Err()
		if err.Code != domain.CodeRerouted && !err.Lacking && (one.Attempt > 0 || !turns || err.Code != domain.CodeInterrupted) {
			s.add(max(one.Attempt, 1), one.Before, err, one.Lost.Spent(one.Request, one.Lost.AskedAgain(one.Request)), price)
		}
		return s
	case one.Reply == nil: // it is under way
		return s
	}
	failed := max(one.Reply.Tries, one.Attempt, 1)
	switch why := one.Reply.Error; {
	case one.Reply.Outcome == contract.Answered && why != nil:
		refused := strings.Split(why.Message, "\n")
		s.add(failed-1-len(refused), nil, one.Before, one.Reply.Spent, price)
		for _, reason := range refused {
			s.add(1, nil, &domain.Error{Message: reason}, domain.Usage{}, price)
		}
	case one.Reply.Outcome == contract.Answered, one.Reply.Outcome == contract.Interrupted:
		s.add(failed-1, nil, one.Before, one.Reply.Spent, price)
	default:
		s.add(failed, one.Before, one.Reply.WhyUnanswered(), one.Reply.Spent, price)
	}
	return s
}
