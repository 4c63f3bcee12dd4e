package record

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"everstep/domain"
	"everstep/domain/account"
)

// A Record is an execution that has ended, with all its steps, messages and events. Its final state holds neither steps nor
// messages: they stand beside it, once. Its JSON is the account of the execution.
type Record struct {
	// Execution says how it ended. Its state stands beside it.
	account.Execution
	// Head names the agent, the one whose sub-agent it is, the run in which it ended and the first of its session, and has the
	// newest changes of what was in force by then, hand-overs too, as its account remembered them when it was recorded.
	Head       account.Head
	FinalState domain.AgentState
	Steps      []domain.StepExecution
	// Messages are those of this execution, by their places in the agent's transcript.
	Messages []domain.Entry
	Events   []domain.Event
	// Missing says which steps, messages and events could not be read any more when it was recorded.
	Missing []account.Missing
	// Build wrote the file that it was read from, in whose head that stands.
	Build string
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
func (r Record) Ref() Ref { return Ref{r.Head.AgentID, r.ExecutionID, r.Number} }

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
func (r Record) gaps() []account.Missing {
	last := 0
	if n := len(r.Events); n > 0 {
		last = eventNumber(r.Events[n-1])
	}
	return slices.Concat(
		account.Gaps(account.Steps, r.Number, 1, r.FinalState.StepCount(), r.Steps, stepNumber),
		account.Gaps(account.Messages, 0, r.MessagesFrom, r.MessagesTo-1, r.Messages, messageIndex),
		account.Gaps(account.Events, r.Number, 1, last, r.Events, eventNumber),
	)
}

// Lacks says what is missing of the record; empty: nothing.
func (r Record) Lacks() string { return account.Ranges(r.Missing) }

func invalid(field, format string, args ...any) error {
	return domain.Invalidf("%s: %s", field, fmt.Sprintf(format, args...))
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
	if err := checkHead(r.Head); err != nil {
		return err
	}
	switch {
	case r.ExecutionID.IsZero():
		return ended("execution_id", "is missing")
	case r.Number < 1 || r.Number > domain.MaxCount:
		return ended("execution_number", "is %d; executions are counted from 1", r.Number)
	case r.ExecutionID != r.Head.AgentID.Execution(r.Head.Run.First, r.Number):
		return ended("execution_id", "is %s, which is not that of execution %d of the session that run %q began", r.ExecutionID, r.Number, domain.Shorten(r.Head.Run.First, 64))
	case r.Head.Parent != nil && r.Head.Parent.AgentID != r.FinalState.ParentAgentID:
		return invalid("head.parent.agent_id", "is %s, which is not that of final_state", r.Head.Parent.AgentID)
	case !r.Status.Terminal():
		return ended("status", "is %s; only what has ended is recorded", r.Status)
	case r.FinalState.AgentID != r.Head.AgentID:
		return ended("final_state.agent_id", "is %s, and that of the record %s", r.FinalState.AgentID, r.Head.AgentID)
	case r.AgentID != r.Head.AgentID:
		return ended("agent_id", "is %s, and that of the record %s", r.AgentID, r.Head.AgentID)
	case r.FinalState.ExecutionCount != r.Number:
		return ended("final_state.execution_count", "is %d, and the number of the execution %d", r.FinalState.ExecutionCount, r.Number)
	case r.Outcome.Steps != r.FinalState.StepCount():
		return ended("step_count", "is %d, and that of final_state %d", r.Outcome.Steps, r.FinalState.StepCount())
	case r.MessagesTo < r.MessagesFrom || r.MessagesTo > domain.MaxCount:
		return ended("messages_to", "is %d; it is the place after the last message, and messages_from is %d", r.MessagesTo, r.MessagesFrom)
	}
	if err := r.Origin.Check(); err != nil {
		return fmt.Errorf("executions[0].origin.%w", err)
	}
	if err := r.EditsBefore.Check(r.MessagesFrom); err != nil {
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
		if err := step.Step.Input.Edits.Check(r.MessagesTo); err != nil {
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
		if e.Index < r.MessagesFrom || e.Index >= r.MessagesTo || i > 0 && e.Index <= r.Messages[i-1].Index {
			return invalid(fmt.Sprintf("messages[%d].index", i), "is %d; messages are in order, each once, from %d on and before %d", e.Index, r.MessagesFrom, r.MessagesTo)
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
		case e.AgentID != r.Head.AgentID:
			return invalid(fmt.Sprintf("events[%d].agent_id", i), "is %s, and that of the record %s", e.AgentID, r.Head.AgentID)
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
