package record

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// A Record is an execution that has ended, with all its steps, messages and events. Its final state holds neither steps nor
// messages: they stand beside it, once. Its JSON is the account of the execution.
type Record struct {
	domain.ExecutionRecord
	// Name is the agent's; empty: it has none.
	Name string
	// Parent is the agent whose sub-agent it is; nil: it is none.
	Parent *account.Parent
	// Changes are the newest of what was in force by then, hand-overs too, as its account remembered them when it was recorded.
	Changes []contract.Change
	// FirstRunID tells the sessions of a name apart: Temporal's id of the run with which the execution's session began.
	FirstRunID string
	// RunID is the run in which it ended.
	RunID   string
	Outcome contract.Outcome
	// End is what it came to, in words.
	End contract.End
	// Messages are those of this execution, by their places in the agent's transcript: from From on, before To.
	Messages []domain.Entry
	From     int
	To       int
	Events   []domain.Event
	// EditsBefore are those of the transcript with which it began.
	EditsBefore domain.Edits
	// Missing says which steps, messages and events could not be read any more when it was recorded.
	Missing []account.Missing
	// Constraints are what bound the agent beside its definition when it was recorded, and bind its forks. Budget is its
	// definition's for each execution, and Agent who had the conversation in the end, where it was handed over.
	Constraints contract.Constraints
	Budget      domain.ExecutionBudget
	Agent       string
	// Build wrote the file that it was read from, in whose head that stands.
	Build string
	// Imported is when it came out of a file; zero: it was recorded here.
	Imported time.Time
	// Moved is where a rewind or a clear has moved the session to since, in a file where it stands behind the record; nil: none has.
	// In a store it is an object of its own, and no part of the record.
	Moved *Position
}

// A Ref names a record of an agent.
type Ref struct {
	AgentID     domain.AgentID     `json:"agent_id"`
	ExecutionID domain.ExecutionID `json:"execution_id"`
	// Number counts the executions of a session from 1.
	Number int `json:"execution_number"`
}

// Ref names the record.
func (r Record) Ref() Ref { return Ref{r.AgentID, r.ExecutionID, r.Number} }

// Of makes the record of an execution that has ended: of its account, with as many of its steps, messages and events as can
// still be read. What is missing of them the record says.
func Of(a account.Account) (Record, error) {
	r, err := recordOf(a)
	if err != nil {
		return Record{}, fmt.Errorf("record: %w", err)
	}
	r.FinalState = r.FinalState.WithStepsFolded(0).WithMessageStore(domain.MessageStore{})
	r.Missing = r.gaps()
	return r, r.check()
}

func stepNumber(s domain.StepExecution) int { return s.Step.Number }
func eventNumber(e domain.Event) int        { return int(e.Sequence) }
func messageIndex(e domain.Entry) int       { return e.Index }

// gaps are the steps, messages and events that the record counts and does not hold.
func (r Record) gaps() []account.Missing { return gaps(r, r.Steps, stepNumber, r.Events, eventNumber) }

// gaps are those of a record with its steps and events in one of their forms.
func gaps[S, E any](r Record, steps []S, stepNumber func(S) int, events []E, eventNumber func(E) int) []account.Missing {
	last := 0
	if n := len(events); n > 0 {
		last = eventNumber(events[n-1])
	}
	return slices.Concat(
		account.Gaps(account.Steps, r.Number, 1, r.FinalState.StepCount(), steps, stepNumber),
		account.Gaps(account.Messages, 0, r.From, r.To-1, r.Messages, messageIndex),
		account.Gaps(account.Events, r.Number, 1, last, events, eventNumber),
	)
}

// Lacks says what is missing of the record; empty: nothing.
func (r Record) Lacks() string { return account.Ranges(r.Missing) }

func invalid(field, format string, args ...any) error {
	return domain.Errorf(domain.Invalid, "%s: %s", field, fmt.Sprintf(format, args...))
}

// check refuses what is no record of an execution that has ended. Its errors name the field of the record's account.
func (r Record) check() error {
	if err := cmp.Or(r.checkEnd(), r.checkSteps(), r.checkMessages(), r.checkEvents()); err != nil {
		return err
	}
	if gaps := r.gaps(); !slices.Equal(r.Missing, gaps) {
		shown := func(missing []account.Missing) string {
			return domain.Shorten(account.Ranges(missing[:min(len(missing), 10)]), 200)
		}
		return invalid("missing", "says %q, and by its counts the record lacks %q; export it again", shown(r.Missing), shown(gaps))
	}
	return nil
}

// checkEnd checks all but the lists.
func (r Record) checkEnd() error {
	ended := func(field, format string, args ...any) error { return invalid("executions[0]."+field, format, args...) }
	if err := checkHead(account.Head{AgentID: r.AgentID, Name: r.Name, Run: account.Run{First: r.FirstRunID}}); err != nil {
		return err
	}
	switch {
	case r.ExecutionID.IsZero():
		return ended("execution_id", "is missing")
	case r.Number < 1 || r.Number > domain.MaxCount:
		return ended("execution_number", "is %d; executions are counted from 1", r.Number)
	case r.ExecutionID != r.AgentID.Execution(r.FirstRunID, r.Number):
		return ended("execution_id", "is %s, which is not that of execution %d of the session that run %q began", r.ExecutionID, r.Number, domain.Shorten(r.FirstRunID, 64))
	case r.Parent != nil && r.Parent.AgentID != r.FinalState.ParentAgentID:
		return invalid("head.parent.agent_id", "is %s, which is not that of final_state", r.Parent.AgentID)
	case !r.Status.Terminal():
		return ended("status", "is %s; only what has ended is recorded", r.Status)
	case r.FinalState.AgentID != r.AgentID:
		return ended("final_state.agent_id", "is %s, and that of the record %s", r.FinalState.AgentID, r.AgentID)
	case r.Outcome.AgentID != r.AgentID:
		return ended("agent_id", "is %s, and that of the record %s", r.Outcome.AgentID, r.AgentID)
	case r.FinalState.ExecutionCount != r.Number:
		return ended("final_state.execution_count", "is %d, and the number of the execution %d", r.FinalState.ExecutionCount, r.Number)
	case r.Outcome.Steps != r.FinalState.StepCount():
		return ended("step_count", "is %d, and that of final_state %d", r.Outcome.Steps, r.FinalState.StepCount())
	case r.To < r.From || r.To > domain.MaxCount:
		return ended("messages_to", "is %d; it is the place after the last message, and messages_from is %d", r.To, r.From)
	}
	if err := r.Origin.Check(); err != nil {
		return fmt.Errorf("executions[0].origin.%w", err)
	}
	if err := r.EditsBefore.Check(r.From); err != nil {
		return ended("edits_before", "%s", err)
	}
	if err := r.Constraints.Check(); err != nil {
		return ended("constraints", "%s", err)
	}
	if err := r.Budget.Check(); err != nil {
		return ended("definition_budget", "%s", err)
	}
	return nil
}

func (r Record) checkSteps() error {
	for i, step := range r.Steps {
		if n := step.Step.Number; n < 1 || n > r.Outcome.Steps || i > 0 && n <= r.Steps[i-1].Step.Number {
			return invalid(fmt.Sprintf("steps[%d].number", i), "is %d; steps are in order, each once, from 1 to %d", n, r.Outcome.Steps)
		}
		// Of ids follow others, such as those of sub-agents, which may be deleted with the agent: none may be another's.
		id := r.ExecutionID.Step(step.Step.Number)
		if step.Step.ID != id {
			return invalid(fmt.Sprintf("steps[%d].step_id", i), "is %s, which is not that of step %d of the execution", step.Step.ID, step.Step.Number)
		}
		if err := step.Step.Input.Edits.Check(r.To); err != nil {
			return invalid(fmt.Sprintf("steps[%d].input", i), "%s", err)
		}
		for n, x := range step.Step.ToolExecutions {
			if x.ID != id.Tool(n) {
				return invalid(fmt.Sprintf("steps[%d].tool_executions[%d].tool_execution_id", i, n), "is %s, which is not that of call %d of step %d of the execution", x.ID, n+1, step.Step.Number)
			}
		}
	}
	return nil
}

func (r Record) checkMessages() error {
	for i, e := range r.Messages {
		if e.Index < r.From || e.Index >= r.To || i > 0 && e.Index <= r.Messages[i-1].Index {
			return invalid(fmt.Sprintf("messages[%d].index", i), "is %d; messages are in order, each once, from %d on and before %d", e.Index, r.From, r.To)
		}
	}
	return nil
}

func (r Record) checkEvents() error {
	last := int64(0)
	for i, e := range r.Events {
		if e.Type == "" {
			return invalid(fmt.Sprintf("events[%d]", i), "is missing")
		}
		switch {
		case e.Sequence <= last || e.Sequence > domain.MaxCount:
			return invalid(fmt.Sprintf("events[%d].sequence", i), "is %d; events are in order, each once, from 1 to %d", e.Sequence, domain.MaxCount)
		case e.AgentID != r.AgentID:
			return invalid(fmt.Sprintf("events[%d].agent_id", i), "is %s, and that of the record %s", e.AgentID, r.AgentID)
		case e.ExecutionID != r.ExecutionID:
			return invalid(fmt.Sprintf("events[%d].execution_id", i), "is %s, and that of the record %s", e.ExecutionID, r.ExecutionID)
		}
		if begun, ok := e.Data.(domain.AgentExecutionStarted); ok && begun.Number != r.Number {
			return invalid(fmt.Sprintf("events[%d].execution_number", i), "is %d, and that of the execution %d", begun.Number, r.Number)
		}
		last = e.Sequence
	}
	return nil
}

// ErrNone is the error of a record that a store does not have.
var ErrNone = errors.New("there is no such record")
