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

// recordedExplanation is what a record tells of an execution: not what its attempts met, nor how long its history was.
func recordedExplanation(a agent, r record.Record) explanation {
	execution, _ := r.FinalState.Execution()
	t := target{position: position{snapshot: snapshot{agent: a}, number: r.Number, ended: &r.Outcome, left: true}, asked: r.Number, outcome: &r.Outcome}
	e := explanation{target: t, older: true, testimony: testimony{
		told: true, steps: r.Steps, failure: r.End.Error, signal: r.End.Signal, state: &execution,
	}}
	e.then.Model, e.at.Trusted, e.at.Prior = r.FinalState.LLMConfig().String(), r.FinalState.Trusted(), new(execution.Counts().Prior)
	if r.Origin != nil {
		e.at.Origin = r.Origin.ExecutionID
	}
	if r.Outcome.Priced {
		e.then.Price = &domain.Price{}
	}
	if account, has := r.FinalState.Session(); has {
		e.then.Session, e.at.Session = &account, accountBefore(account, r)
	}
	return e
}

// accountBefore is the session's account as an execution began, with the totals as they were at its end.
func accountBefore(account domain.SessionAccount, r record.Record) *domain.SessionAccount {
	own := r.FinalState.Spent(r.CompletedAt)
	if execution, ok := r.FinalState.Execution(); ok {
		own = own.Less(execution.Counts().Prior)
	}
	account.Spent = account.Spent.Less(own)
	return &account
}

func explanationOf(_ *Client, a agent, r record.Record) ExplainView {
	e := recordedExplanation(a, r)
	e.missing = []string{"what only its history had: failed attempts, waits, bytes; the record of the execution tells"}
	if len(r.Missing) > 0 {
		e.missing = append(e.missing, r.Lacks())
	}
	if !r.Imported.IsZero() {
		e.missing = append(e.missing, "it was imported on "+r.Imported.Format("2006-01-02 15:04 MST")+"; no workflow of it is here")
	}
	v := e.view()
	v.Execution, v.Source = a.recorded(r), contract.FromRecords
	if !r.Imported.IsZero() {
		v.ImportedAt = &r.Imported
	}
	return v
}

// statusOf is what a record tells of an agent of which no workflow is there, with where its session stands: nothing of it goes on.
func statusOf(a agent, r record.Record, position account.Position) contract.StatusView {
	e := recordedExplanation(a, r)
	v := e.adding(e.position.view(nil))
	x, now := a.recorded(r), r.CompletedAt
	v.ExecutionID, v.RunID, v.Number, v.Error = x.ExecutionID, x.RunID, x.Number, r.End.Error
	v.Build, v.RewoundTo, v.Cleared = r.Build, position.From, position.Edits.Emptied
	v.Doing, v.Since, v.Source = "ended; "+hereSince(r), now, contract.FromRecords
	v.OutcomeUnknown = append([]domain.UnknownCall{}, r.FinalState.Unsettled()...)
	v.Budget, _ = r.FinalState.Budget()
	v.BudgetLeft, _ = r.FinalState.BudgetLeft(now)
	v.StandingApprovals = append([]domain.StandingApproval{}, r.FinalState.StandingApprovals()...)
	if account, has := r.FinalState.Session(); has {
		v.SessionBudget, v.SessionBudgetLeft = &account.Budget, new(account.Left())
	}
	return v
}

// hereSince says that a record is all that there is.
func hereSince(r record.Record) string {
	if r.Imported.IsZero() {
		return "only its records are left"
	}
	return "it was imported on " + r.Imported.Format("2006-01-02 15:04 MST") + ", and can only be read here"
}

func recordedPast(a agent, r record.Record) Past {
	p := Past{
		Execution: a.recorded(r), Status: r.Status, StopReason: r.StopReason, Code: r.Outcome.Code, SessionLimit: r.Outcome.SessionLimit, Steps: &r.Outcome.Steps,
		TotalTokens: new(r.Usage.TotalTokens()), CostUSD: costInUSD(r.Outcome), StartedAt: r.StartedAt, EndedAt: r.CompletedAt, Origin: r.Origin, ImportedAt: r.Imported,
	}
	return p
}
