package client

import (
	"encoding/json"
	"strings"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// recorded names the execution of a record.
func (a agent) recorded(r record.Record) Execution {
	return a.begun(r.Number, r.ExecutionID, r.RunID)
}

func resultOf(_ *Client, a agent, r record.Record) Result {
	result := Result{
		Execution: a.recorded(r), Outcome: r.Outcome, Answer: r.End.Answer, SaidLast: r.End.SaidLast, Error: r.End.Error, Signal: r.End.Signal, Source: contract.FromRecords, ImportedAt: r.Imported,
	}
	format := r.FinalState.ResponseFormat().Type
	if r.Status == domain.StatusCompleted && (format == domain.FormatJSON || format == domain.FormatSchema) && json.Valid([]byte(r.End.Answer)) {
		result.Output = json.RawMessage(strings.TrimSpace(r.End.Answer))
	}
	return result
}

// recordedAccount is that of the execution of a record, with as much of a head as the record tells.
func (a agent) recordedAccount(r record.Record) account.Account {
	all, err := r.Account()
	if err != nil { // the state was decoded
		all.Head, all.Executions = &account.Head{AgentID: r.AgentID, Name: r.Name}, []account.Execution{{Outcome: r.Outcome, Ended: &r.End}}
	}
	x, now, state := a.recorded(r), r.CompletedAt, r.FinalState
	e := &all.Executions[0]
	e.ExecutionID, e.Number = x.ExecutionID, x.Number
	head := all.Head
	head.Newest, head.Configuration.Model, head.Trusted, head.Todo = e, state.LLMConfig().String(), state.Trusted(), state.Metadata().Todo()
	head.Doing, head.Since, head.AlwaysAllowed = "ended; "+hereSince(r), now, state.StandingApprovals()
	for _, call := range state.Unsettled() {
		head.Waits = append(head.Waits, account.UnknownWait(call))
	}
	own := &account.Holder{Spent: state.Spent(now)}
	own.Limit, _ = state.Budget()
	own.Left, _ = state.BudgetLeft(now)
	head.Ledger.Execution = own
	if session, has := state.Session(); has {
		head.Ledger.Session = &account.Holder{Limit: session.Budget, Spent: session.Spent, Left: session.Left()}
	}
	all.Server = &account.Server{Source: contract.FromRecords, Builds: contract.Builds{Begun: r.Build}, Pending: []account.Pending{}}
	return all
}

// explanationOf is what a record tells of an execution: not what its attempts met, nor how long its history was.
func explanationOf(_ *Client, a agent, r record.Record) ExplainView {
	e, err := newExplanation(snapshot{agent: a}, a.recordedAccount(r), r.Number)
	e.older = true
	e.miss("what only its history had: failed attempts, waits, bytes; the record of the execution tells")
	if err != nil {
		e.miss("%s", err)
	}
	if len(r.Missing) > 0 {
		e.miss("%s", r.Lacks())
	}
	if !r.Imported.IsZero() {
		e.miss("it was imported on %s; no workflow of it is here", r.Imported.Format("2006-01-02 15:04 MST"))
	}
	v := e.view()
	if v.Execution = a.recorded(r); !r.Imported.IsZero() {
		v.ImportedAt = &r.Imported
	}
	return v
}

// statusOf is what a record tells of an agent of which no workflow is there, with where its session stands: nothing of it goes on.
func statusOf(a agent, r record.Record, position account.Position) contract.StatusView {
	all := a.recordedAccount(r)
	all.Head.Position = position
	v := all.Head.Status()
	v.AgentID, v.Name, v.WorkflowID, v.RunID = a.id, a.name, a.workflowID(), a.recorded(r).RunID
	v.Source, v.Build, v.Open = all.Server.Source, r.Build, false
	return v
}

// hereSince says that a record is all that there is.
func hereSince(r record.Record) string {
	if r.Imported.IsZero() {
		return "only its records are left"
	}
	return "it was imported on " + r.Imported.Format("2006-01-02 15:04 MST") + ", and can only be read here"
}
