package record

import (
	"cmp"
	"fmt"

	"everstep/domain"
	"everstep/domain/account"
)

// MarshalJSON writes the record as the account of its execution.
func (r Record) MarshalJSON() ([]byte, error) {
	a, err := accountOf(r)
	if err != nil {
		return nil, err
	}
	return domain.Encode(a)
}

// Account is the account of the execution.
func (r Record) Account() (account.Account, error) { return accountOf(r) }

// accountOf is the account of the execution that a record holds. Its head names the agent and the run in which it ended.
func accountOf(r Record) (account.Account, error) {
	state, err := domain.Encode(r.FinalState)
	if err != nil {
		return account.Account{}, err
	}
	a := account.Account{
		Head: &account.Head{AgentID: r.AgentID, Name: r.Name, Run: account.Run{WorkflowID: domain.WorkflowID(cmp.Or(r.Name, r.AgentID.String())), ID: r.RunID, First: r.FirstRunID}},
		Executions: []account.Execution{{
			Outcome: r.Outcome, Origin: r.Origin, StartedAt: r.StartedAt, CompletedAt: r.CompletedAt, Prior: r.FinalState.Execution.ExecutionCounts.Prior,
			Signals: append([]domain.StopSignal{}, r.FinalState.StopSignals()...), MoreSignals: r.FinalState.Execution.Continuation.More,
			MessagesFrom: r.From, MessagesTo: r.To, EditsBefore: r.EditsBefore, Ended: &r.End, RunID: r.RunID, Constraints: &r.Constraints, Budget: r.Budget, Agent: r.Agent, State: state,
		}},
		Messages: r.Messages, Events: r.Events, Missing: r.Missing, Imported: r.Imported,
	}
	a.Head.Parent, a.Head.Configuration.Changes = r.Parent, r.Changes
	for _, step := range r.Steps {
		a.Steps = append(a.Steps, account.Step{Execution: r.Number, StepExecution: step})
	}
	return a, nil
}

// recordOf reads the record out of the account of one execution that has ended, and refuses an account of anything else.
func recordOf(a account.Account) (Record, error) {
	if err := domain.CheckRecorded(a); err != nil {
		return Record{}, err
	}
	if a.Head == nil {
		return Record{}, invalid("head", "is missing")
	}
	if len(a.Executions) != 1 {
		return Record{}, invalid("executions", "has %d; a record is of one", len(a.Executions))
	}
	e := a.Executions[0]
	switch {
	case e.RunID != a.Head.Run.ID:
		return Record{}, invalid("executions[0].run_id", "is %q, and that of the head %q", domain.Shorten(e.RunID, 64), domain.Shorten(a.Head.Run.ID, 64))
	case e.Ended == nil:
		return Record{}, invalid("executions[0].ended", "is missing; only what has ended is recorded")
	case e.Constraints == nil:
		return Record{}, invalid("executions[0].constraints", "is missing; it says what bounds the agent's forks")
	case e.State == nil:
		return Record{}, invalid("executions[0].final_state", "is missing")
	}
	var state domain.AgentState
	if err := cmp.Or(domain.DecodeInto(e.State, &state), domain.CheckRecorded(&state)); err != nil {
		return Record{}, fmt.Errorf("executions[0].final_state.%w", err)
	}
	steps := a.StepExecutions()
	for i, step := range a.Steps {
		if step.Execution != e.Number {
			return Record{}, invalid(fmt.Sprintf("steps[%d].execution_number", i), "is %d, and that of the execution %d", step.Execution, e.Number)
		}
		var err error
		if steps[i], err = step.Kept(); err != nil {
			return Record{}, fmt.Errorf("steps[%d].%w", i, err)
		}
	}
	return Record{
		ExecutionRecord: domain.ExecutionRecord{
			ExecutionID: e.ExecutionID, AgentID: a.Head.AgentID, Number: e.Number, Origin: e.Origin, StartedAt: e.StartedAt, CompletedAt: e.CompletedAt,
			Status: e.Status, StopReason: e.StopReason, FinalState: state, Steps: steps, Usage: e.Usage,
		},
		Name: a.Head.Name, Parent: a.Head.Parent, Changes: a.Head.Configuration.ChangesBetween(0, e.Number), FirstRunID: a.Head.Run.First, RunID: e.RunID, Outcome: e.Outcome, End: *e.Ended,
		Messages: a.Messages, From: e.MessagesFrom, To: e.MessagesTo, Events: a.Events, EditsBefore: e.EditsBefore,
		Missing: a.Missing, Constraints: *e.Constraints, Budget: e.Budget, Agent: e.Agent, Imported: a.Imported,
	}, nil
}
