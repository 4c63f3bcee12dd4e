package record

import (
	"cmp"
	"fmt"
	"time"

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

func accountOf(r Record) (account.Account, error) {
	state, err := domain.Encode(r.FinalState)
	if err != nil {
		return account.Account{}, err
	}
	a := account.Account{Head: &r.Head, Messages: r.Messages, Events: r.Events, Missing: r.Missing, Imported: r.Imported}
	r.State, r.Imported = state, time.Time{}
	a.Executions = []account.Execution{r.Execution}
	for _, step := range r.Steps {
		a.Steps = append(a.Steps, account.Step{Execution: r.Number, StepExecution: step})
	}
	return a, nil
}

// readRecord reads the record out of an account that somebody else may have written.
func readRecord(a account.Account) (Record, error) {
	if err := domain.CheckRecorded(a); err != nil {
		return Record{}, err
	}
	r, err := recordOf(a)
	if err != nil {
		return r, err
	}
	if err := domain.CheckRecorded(&r.FinalState); err != nil {
		return r, fmt.Errorf("executions[0].final_state.%w", err)
	}
	for i, step := range r.Steps {
		if r.Steps[i], err = step.Kept(); err != nil {
			return r, fmt.Errorf("steps[%d].%w", i, err)
		}
	}
	return r, r.check()
}

// recordOf is the record in the account of one execution that has ended, and refuses an account of anything else.
func recordOf(a account.Account) (none Record, _ error) {
	if a.Head == nil {
		return none, invalid("head", "is missing")
	}
	if len(a.Executions) != 1 {
		return none, invalid("executions", "has %d; a record is of one", len(a.Executions))
	}
	e := a.Executions[0]
	switch {
	case e.RunID != a.Head.Run.ID:
		return none, invalid("executions[0].run_id", "is %q, and that of the head %q", domain.Shorten(e.RunID, 64), domain.Shorten(a.Head.Run.ID, 64))
	case e.Ended == nil:
		return none, invalid("executions[0].ended", "is missing; only what has ended is recorded")
	case e.Constraints == nil:
		return none, invalid("executions[0].constraints", "is missing; it says what bounds the agent's forks")
	case e.State == nil:
		return none, invalid("executions[0].final_state", "is missing")
	}
	var state domain.AgentState
	if err := domain.DecodeInto(e.State, &state); err != nil {
		return none, fmt.Errorf("executions[0].final_state.%w", err)
	}
	for i, step := range a.Steps {
		if step.Execution != e.Number {
			return none, invalid(fmt.Sprintf("steps[%d].execution_number", i), "is %d, and that of the execution %d", step.Execution, e.Number)
		}
	}
	e.State, e.Imported, e.Prior, e.MoreSignals = nil, a.Imported, state.Execution.ExecutionCounts.Prior, state.Execution.Continuation.More
	e.Signals = append([]domain.StopSignal{}, state.StopSignals()...)
	head := account.Head{AgentID: a.Head.AgentID, Name: a.Head.Name, Parent: a.Head.Parent}
	head.Run = account.Run{WorkflowID: domain.WorkflowID(cmp.Or(head.Name, head.AgentID.String())), ID: e.RunID, First: a.Head.Run.First}
	head.Configuration.Changes = a.Head.Configuration.ChangesBetween(0, e.Number)
	return Record{Execution: e, Head: head, FinalState: state, Steps: a.StepExecutions(), Messages: a.Messages, Events: a.Events, Missing: a.Missing}, nil
}
