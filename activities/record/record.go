package record

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Record is an execution that has ended, with all its steps and messages. Its final state holds neither: they stand
// beside it, once.
type Record struct {
	domain.ExecutionRecord
	// Name is the agent's; empty: it has none.
	Name string `json:"name,omitzero"`
	// FirstRunID tells the sessions of a name apart: Temporal's id of the run with which the execution's session began.
	FirstRunID string `json:"first_run_id"`
	// RunID is the run in which it ended.
	RunID   string           `json:"run_id"`
	Outcome contract.Outcome `json:"outcome"`
	// End is what it came to, in words.
	End contract.End `json:"end,omitzero"`
	// Messages are those of this execution, by their places in the agent's transcript: from From on, before To.
	Messages []domain.Entry `json:"messages,omitempty"`
	From     int            `json:"messages_from,omitzero"`
	To       int            `json:"messages_to"`
	// Missing says which steps and messages could not be read any more when it was recorded.
	Missing []string `json:"missing,omitempty"`
	// HeldTo is what bound the agent beside its definition when it was recorded, and binds its forks.
	HeldTo contract.HeldTo `json:"held_to"`
	// Build wrote the file that it was read from, in whose head that stands.
	Build string `json:"-"`
	// Imported is when it came out of a file; zero: it was recorded here.
	Imported time.Time `json:"imported_at,omitzero"`
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

// Of makes the record of an execution: of the last page about it, which was asked for what a record takes, of its steps
// and of its messages, as many as can still be read. What is missing of them the record says.
func Of(page contract.StepsPage, runID string, steps []domain.StepExecution, messages []domain.Entry) (Record, error) {
	told := page.Ended
	if told == nil || page.Outcome == nil {
		return Record{}, domain.Errorf(domain.Internal, "record: the workflow does not tell how execution %d ended; are all workers of the same version?", page.Number)
	}
	state, err := domain.DecodeAgentState(told.State)
	if err != nil {
		return Record{}, domain.Errorf(domain.Internal, "record: the state of execution %d: %s", page.Number, err)
	}
	execution, _ := state.Execution()
	completed, _ := execution.CompletedAt()
	reason, _ := state.StopReason()
	r := Record{
		ExecutionRecord: domain.ExecutionRecord{
			ExecutionID: execution.ID(), AgentID: state.AgentID(), Number: state.ExecutionCount(),
			StartedAt: execution.StartedAt(), CompletedAt: completed, Status: state.Status(), StopReason: reason,
			FinalState: state.WithStepsFolded(0).WithMessageStore(domain.MessageStore{}), Steps: slices.Clip(steps), Usage: execution.Usage(),
		},
		Name: told.Name, FirstRunID: told.FirstRunID, RunID: runID, Outcome: *page.Outcome,
		End: contract.End{Answer: page.Answer, SaidLast: page.SaidLast, Error: page.Error, Signal: page.Signal}, Messages: messages, From: told.From, To: told.Log.Length,
		HeldTo: told.HeldTo,
	}
	if origin, ok := execution.Origin(); ok {
		r.Origin = &origin
	}
	r.Missing = r.lacks()
	return r, r.check()
}

// lacks names the steps and messages that the record counts and does not hold.
func (r Record) lacks() []string {
	return slices.Concat(
		missing("steps", 1, r.FinalState.StepCount(), numbers(r.Steps, func(s domain.StepExecution) int { return s.Step.Number })),
		missing("messages", r.From, r.To-1, numbers(r.Messages, func(e domain.Entry) int { return e.Index })),
	)
}

func numbers[T any](all []T, number func(T) int) []int {
	list := make([]int, len(all))
	for i, one := range all {
		list[i] = number(one)
	}
	return list
}

// missing names the numbers from first to last that are not held, which are in order.
func missing(what string, first, last int, held []int) (gaps []string) {
	next := first
	gap := func(to int) {
		if to > next {
			gaps = append(gaps, fmt.Sprintf("%s %d to %d", what, next, to-1))
		}
	}
	for _, n := range held {
		gap(n)
		next = n + 1
	}
	gap(last + 1)
	return gaps
}

// check refuses what is no record of an execution that has ended.
func (r Record) check() error {
	wrong := func(field, format string, args ...any) error {
		return domain.Errorf(domain.Invalid, "%s: %s", field, fmt.Sprintf(format, args...))
	}
	switch {
	case r.AgentID.IsZero():
		return wrong("agent_id", "is missing")
	case r.ExecutionID.IsZero():
		return wrong("execution_id", "is missing")
	case r.Number < 1 || r.Number > domain.MaxCount:
		return wrong("number", "is %d; executions are counted from 1", r.Number)
	case r.FirstRunID == "":
		return wrong("first_run_id", "is missing")
	case r.ExecutionID != r.AgentID.Execution(r.FirstRunID, r.Number):
		return wrong("execution_id", "is %s, which is not that of execution %d of the session that run %q began", r.ExecutionID, r.Number, domain.Shorten(r.FirstRunID, 64))
	case !r.Status.Terminal():
		return wrong("status", "is %s; only what has ended is recorded", r.Status)
	case r.FinalState.AgentID() != r.AgentID:
		return wrong("final_state.agent_id", "is %s, and that of the record %s", r.FinalState.AgentID(), r.AgentID)
	case r.Outcome.ExecutionID != r.ExecutionID:
		return wrong("outcome.execution_id", "is %s, and that of the record %s", r.Outcome.ExecutionID, r.ExecutionID)
	case r.Outcome.AgentID != r.AgentID:
		return wrong("outcome.agent_id", "is %s, and that of the record %s", r.Outcome.AgentID, r.AgentID)
	case r.Outcome.Number != r.Number:
		return wrong("outcome.execution_number", "is %d, and that of the record %d", r.Outcome.Number, r.Number)
	case r.Outcome.Steps != r.FinalState.StepCount():
		return wrong("outcome.step_count", "is %d, and that of final_state %d", r.Outcome.Steps, r.FinalState.StepCount())
	case r.From < 0:
		return wrong("messages_from", "is %d; it may not be negative", r.From)
	case r.To < r.From || r.To > domain.MaxCount:
		return wrong("messages_to", "is %d; it is the place after the last message, and messages_from is %d", r.To, r.From)
	}
	if err := r.Outcome.Check(); err != nil {
		return wrong("outcome", "%s", err)
	}
	if err := r.Usage.Check(); err != nil {
		return wrong("usage", "%s", err)
	}
	if err := r.HeldTo.Check(); err != nil {
		return wrong("held_to", "%s", err)
	}
	if r.Name != "" {
		id, err := domain.AgentIDOf(r.Name)
		if err != nil {
			return wrong("name", "%s", err)
		}
		if id != r.AgentID {
			return wrong("name", "%q is not that of agent %s", r.Name, r.AgentID)
		}
	}
	for i, step := range r.Steps {
		if n := step.Step.Number; n < 1 || n > r.Outcome.Steps || i > 0 && n <= r.Steps[i-1].Step.Number {
			return wrong(fmt.Sprintf("steps[%d].number", i), "is %d; steps are in order, each once, from 1 to %d", n, r.Outcome.Steps)
		}
		// Of ids follow others, such as those of sub-agents, which may be deleted with the agent: none may be another's.
		id := r.ExecutionID.Step(step.Step.Number)
		if step.Step.ID != id {
			return wrong(fmt.Sprintf("steps[%d].step_id", i), "is %s, which is not that of step %d of the execution", step.Step.ID, step.Step.Number)
		}
		for n, x := range step.Step.ToolExecutions {
			if x.ID != id.Tool(n) {
				return wrong(fmt.Sprintf("steps[%d].tool_executions[%d].tool_execution_id", i, n), "is %s, which is not that of call %d of step %d of the execution", x.ID, n+1, step.Step.Number)
			}
		}
	}
	for i, e := range r.Messages {
		if e.Index < r.From || e.Index >= r.To || i > 0 && e.Index <= r.Messages[i-1].Index {
			return wrong(fmt.Sprintf("messages[%d].index", i), "is %d; messages are in order, each once, from %d on and before %d", e.Index, r.From, r.To)
		}
	}
	if lacks := r.lacks(); !slices.Equal(r.Missing, lacks) {
		return wrong("missing", "says %q, and by its counts the record lacks %q; export it again", r.Missing, lacks)
	}
	return nil
}

// ErrNone is the error of a record that a store does not have.
var ErrNone = errors.New("there is no such record")
