package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// An explanation is what is known of an execution: the account of its agent, and what only the histories of its runs have.
type explanation struct {
	// snapshot is what the server says of the agent; without a response where records alone tell.
	snapshot
	account.Account
	asked account.Execution
	// state is the agent's as the execution has left it or stands, and now is that as of now.
	state, now domain.AgentState
	// older means that the agent has begun an execution after this one, or has gone on elsewhere.
	older    bool
	attempts attempts
	missing  []string
}

// newExplanation finds an execution in an account that was read for it. Number zero is the newest.
func newExplanation(s snapshot, a account.Account, number int) (e explanation, err error) {
	e = explanation{snapshot: s, Account: a}
	newest := s.newestOf(a)
	number = cmp.Or(number, newest.Number)
	at := slices.IndexFunc(e.Executions, func(x account.Execution) bool { return x.Number == number })
	switch {
	case number > newest.Number:
		return e, notFound("execution: %s has no execution %d; its newest is %d", s.called(), number, newest.Number)
	case at >= 0:
		e.asked = e.Executions[at]
	case number == newest.Number:
		e.asked = newest
	default:
		return e, s.vanished(number)
	}
	e.older = e.asked.Number < newest.Number || e.Server.Source == contract.FromRecords
	e.Steps = slices.DeleteFunc(e.Steps, func(s account.Step) bool { return s.Execution != e.asked.Number })
	e.Events = slices.DeleteFunc(e.Events, func(event domain.Event) bool { return event.ExecutionID != e.asked.ExecutionID })
	if e.Head.State != nil {
		e.now, err = domain.DecodeAgentState(e.Head.State)
	}
	if e.state = e.now; err == nil && e.asked.State != nil {
		e.state, err = domain.DecodeAgentState(e.asked.State)
	}
	if e.Head.State == nil {
		e.now = e.state
	}
	return e, err
}

// explained reads what tells of an execution.
func (c *Client) explained(ctx context.Context, id string, number int) (none explanation, _ error) {
	if number < 0 {
		return none, invalidf("execution: is %d; executions are counted from 1", number)
	}
	s, a, err := c.accountWith(ctx, id, account.RequestOf(cmp.Or(number, account.Newest),
		account.Executions, account.Steps, account.Events, account.State, account.Definition))
	if err == nil && number == 0 {
		err = c.checkNewest(a)
	}
	if err != nil {
		return none, err
	}
	return newExplanation(s, a, number)
}

func (e *explanation) miss(format string, args ...any) {
	e.missing = append(e.missing, fmt.Sprintf(format, args...))
}

func (e *explanation) over() bool { return e.asked.Status.Terminal() }

// cut reports whether it was this execution that the server ended.
func (e *explanation) cut() bool {
	_, byServer := e.serverEnd()
	return byServer && !e.older && !e.state.Status().Terminal()
}

// steps are those that have ended, and the one in progress.
func (e *explanation) steps() []ExplainStep {
	completed := e.StepExecutions()
	if step := e.state.Execution.CurrentStep; step != nil {
		completed = append(completed, domain.StepExecution{Step: *step, StartedAt: e.state.Execution.CurrentStepStartedAt})
	}
	steps := []ExplainStep{}
	edits := e.asked.EditsBefore
	for _, s := range completed {
		open := s.CompletedAt.IsZero()
		cut := open && e.over()
		if cut {
			s.Step.Interrupted, s.CompletedAt = true, e.asked.CompletedAt
		}
		told, shown := e.step(s), s.Step.Input.Edits
		for i := range told.Tools {
			if cut && told.Tools[i].Outcome == domain.ToolRunning {
				told.Tools[i].Outcome = domain.ToolUnknown
			}
		}
		if shown.Hidden > edits.Hidden {
			told.Compactions = append(told.Compactions, ExplainCompaction{Kind: CompactionSummary, Before: shown.Hidden, Usage: e.summariesOf(s.Step.ID)})
		}
		if shown.Cleared > max(edits.Cleared, shown.Hidden) {
			told.Compactions = append(told.Compactions, ExplainCompaction{Kind: CompactionCleared, Before: shown.Cleared})
		}
		if s.Step.Input.Messages > 0 {
			edits = shown
		}
		if raw, ok := e.attempts.steps[s.Step.Number]; ok {
			told.FailedAttempts, told.QueuedMilliseconds, told.Retries = raw.failed, raw.queued.Milliseconds(), append(told.Retries, raw.retries...)
		}
		told.uncounted = cut
		if open && !cut {
			told.InProgress, told.Type = true, nil
			told.Tools = slices.DeleteFunc(told.Tools, func(t ExplainTool) bool {
				return t.Outcome == domain.ToolNotRun && t.Error == nil && len(t.Waits) == 0 // it was not begun, and nobody is asked about it
			})
		}
		steps = append(steps, told)
	}
	for _, gap := range e.Missing {
		if gap.Execution == e.asked.Number && gap.Part == account.Steps {
			e.miss("%s: they can no longer be read, and the totals are without them", gap)
		}
	}
	return steps
}

// summariesOf is what the summaries of a step have used.
func (e *explanation) summariesOf(id domain.StepID) (used domain.Usage) {
	summary := false
	for _, event := range e.Events {
		switch data := event.Data.(type) {
		case domain.InferenceRequestStarted:
			summary = data.Summary && event.StepID == id
		case domain.InferenceResponseReceived:
			if summary {
				used = used.Add(data.Usage)
			}
		}
	}
	return used
}

// sessions are those with stateful MCP servers that it has opened, lost, or has now.
func (e *explanation) sessions() []ExplainSession {
	all, there := []ExplainSession{}, map[string]int{} // where the one of a server stands that is not over
	begin := func(server, worker string, since time.Time) {
		there[server] = len(all)
		all = append(all, ExplainSession{Server: server, Worker: worker, Since: since})
	}
	end := func(server, why string, at time.Time) {
		if i, known := there[server]; known {
			all[i].EndedAt, all[i].Reason = &at, why
			delete(there, server)
		}
	}
	if !e.older {
		for _, bound := range e.Head.MCPSessions {
			if bound.Since.Before(e.asked.StartedAt) {
				begin(bound.Server, bound.Worker, bound.Since)
			}
		}
	}
	for _, event := range e.Events {
		session, _ := event.Data.(domain.MCPSessionEvent)
		switch event.Type {
		case domain.EventMCPSessionOpened:
			end(session.Server, "another one was opened", event.Time)
			begin(session.Server, session.Worker, event.Time)
		case domain.EventMCPSessionLost:
			if _, known := there[session.Server]; !known { // an earlier execution has opened it
				begin(session.Server, session.Worker, session.Since)
			}
			end(session.Server, session.Why, event.Time)
		}
	}
	if !e.open() && !e.older && e.over() {
		for _, s := range all {
			end(s.Server, "the agent has ended", e.asked.CompletedAt)
		}
	}
	return all
}

// counted is the signal that has ended the execution; nil: none has, or nobody tells.
func (e *explanation) counted() *domain.StopSignal {
	reason := e.asked.StopReason
	signal, ok := e.state.Execution.Continuation.Signal()
	switch {
	case ok && signal.Reason == reason:
		return &signal
	case reason == "":
		return nil
	case e.asked.Ended != nil && e.asked.Ended.Signal != nil:
		return e.asked.Ended.Signal
	case reason == domain.ErrorForbade:
		return new(domain.SignalOf(e.error()))
	}
	return &domain.StopSignal{Reason: reason}
}

// error is why it failed.
func (e *explanation) error() *domain.Error {
	if e.asked.Ended != nil && e.asked.Ended.Error != nil {
		return e.asked.Ended.Error
	}
	return failureOf(e.asked.Outcome)
}
