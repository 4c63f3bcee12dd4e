package domain

import (
	"slices"
	"time"
)

// An ExecutionRecord is a finished execution as it is kept, with the agent's state at its end.
type ExecutionRecord struct {
	ExecutionID ExecutionID `json:"execution_id"`
	AgentID     AgentID     `json:"agent_id"`
	// Number counts the agent's executions from 1.
	Number      int             `json:"number"`
	Origin      *Origin         `json:"origin,omitempty"`
	StartedAt   time.Time       `json:"started_at"`
	CompletedAt time.Time       `json:"completed_at"`
	Status      ExecutionStatus `json:"status"`
	StopReason  StopReason      `json:"stop_reason"`
	FinalState  AgentState      `json:"final_state"`
	// Steps are all steps, those too that the state has folded.
	Steps []StepExecution `json:"steps,omitempty"`
	// Usage is the sum over all steps.
	Usage Usage `json:"usage"`
}

// FinalStep stands for the end of an execution in FromExecutionRecord.
const FinalStep = -1

// FromExecutionRecord returns the agent's state as it was after a step, for an execution that goes on from
// there. Step 0 is before the first, without the prompt; FinalStep gives the final state as it is.
func FromExecutionRecord(record ExecutionRecord, step int, now time.Time) (AgentState, error) {
	s := record.FinalState
	s.Origin = &Origin{ExecutionID: record.ExecutionID, Step: len(record.Steps), Origin: record.Origin}
	if step == FinalStep {
		return s.updated(now), nil
	}
	if step < 0 || step > len(record.Steps) {
		return AgentState{}, Invalidf("step: is %d; give one from 0 to %d", step, len(record.Steps))
	}
	later := map[StepID]bool{}
	for _, s := range record.Steps[step:] {
		later[s.Step.ID] = true
	}
	s.MessageStore = s.MessageStore.filtered(func(m Message) bool {
		tag := TagOf(m)
		return tag.ExecutionID != record.ExecutionID || step > 0 && !later[tag.StepID]
	})
	s.Execution = ExecutionState{}
	s.Origin.Step = step
	return s.updated(now), nil
}

// An Origin is the step of an earlier execution after which one goes on. Step 0 is before the first.
type Origin struct {
	ExecutionID ExecutionID `json:"execution_id"`
	Step        int         `json:"step"`
	// AgentID is the agent's that it is of, where this execution was forked or rewound from it. One that goes on from
	// where another has ended has none.
	AgentID AgentID `json:"agent_id,omitzero"`
	// Origin is where that execution itself went on from.
	Origin *Origin `json:"origin,omitempty"`
}

// Check refuses a step, of it or of an origin before it, that no execution can come to.
func (o *Origin) Check() error {
	for ; o != nil; o = o.Origin {
		if o.Step < 0 || o.Step > MaxCount {
			return in("step", Invalidf("is %d; give one from 0 to %d", o.Step, MaxCount))
		}
	}
	return nil
}

func (o *Origin) chain(id ExecutionID) []ExecutionID {
	chain := []ExecutionID{id}
	for ; o != nil; o = o.Origin {
		chain = append(chain, o.ExecutionID)
	}
	return chain
}

// Branch is the origin of an execution that was forked or rewound; nil where it goes on from the end of another.
func (o Origin) Branch() *Origin {
	if o.AgentID.IsZero() {
		return nil
	}
	o.Origin = nil
	return &o
}

// Chain lists the execution and those that it went on from itself.
func (o Origin) Chain() []ExecutionID { return o.Origin.chain(o.ExecutionID) }

// AtStep returns the state as it was when the execution's k-th step had ended: in progress, without later
// steps and their messages. What no step remembers (metadata, prompt, budget) is as it is now. Zero is
// before the first. It fails where there is no such step, or it has left memory.
func (s AgentState) AtStep(k int, now time.Time) (AgentState, error) {
	if s.Execution.IsZero() {
		return s, Deniedf("step: there is no execution (status %s)", s.Status())
	}
	execution := s.Execution
	count, folded := s.StepCount(), int(execution.Folded.Steps)
	switch {
	case k < 0 || k > count:
		return s, Invalidf("step: is %d; give one from 0 to %d", k, count)
	case folded > 0 && k <= folded:
		return s, Invalidf("step: %d has left memory with the first %d; give one from %d to %d", k, folded, folded+1, count)
	}
	var continuation Continuation
	if k > 0 {
		continuation = execution.Steps[k-folded-1].Continuation
	}
	later := map[StepID]bool{}
	for step := range s.Execution.steps {
		later[step.ID] = step.Number > k
	}
	s.MessageStore = s.MessageStore.filtered(func(m Message) bool { return !later[TagOf(m).StepID] })
	e := execution.holding(execution.Folded, nilIfEmpty(slices.Clip(execution.Steps[:k-folded])))
	e.CurrentStep, e.CurrentStepStartedAt = nil, time.Time{}
	e.Status, e.CompletedAt, e.Continuation = StatusInProgress, time.Time{}, continuation
	if e.Error != nil && !slices.ContainsFunc(continuation.StopSignals, func(s StopSignal) bool {
		return s.Reason == ErrorForbade && s.Message == e.Error.Message && s.Source == e.Error.Source
	}) {
		e.Error = nil // it came later
	}
	s.Execution = e
	return s.updated(now), nil
}

// HistoryTool is the name of the tool with which an agent reads its own past executions.
const HistoryTool = "execution_history"

// EarlierExecutions are what an execution may read of the earlier ones of its agent: those of its own session, and those that it goes
// on from. Whoever had the same id or name before acted for somebody else.
type EarlierExecutions struct {
	// FirstRunID names the session: its executions' ids follow from it.
	FirstRunID string `json:"first_run_id"`
	// Origins are the executions that this one goes on from, which another workflow may have run.
	Origins []ExecutionID `json:"origins,omitempty"`
	// TakenBack are the messages that rewinds and clears have taken back: of their text nothing may be read.
	TakenBack []Span `json:"taken_back,omitempty"`
}

// Holds reports whether an execution of an agent is one of these.
func (p EarlierExecutions) Holds(agent AgentID, execution ExecutionID, number int) bool {
	return agent.Execution(p.FirstRunID, number) == execution || slices.Contains(p.Origins, execution)
}

// Forked returns the state of another agent, which has done nothing yet and whose first execution goes on from an origin
// in this one: its context without messages, which a log has, and its calls of unknown outcome, so that no call of the
// same effect begins until they are resolved. It has neither trusted values nor standing approvals: those were given to
// the other agent. Calls whose outcome is known are the other's effects, and it may make them again.
func (s AgentState) Forked(id AgentID, origin Origin, now time.Time) AgentState {
	forked := NewAgentState(id, AgentID{}, now, s.LLMConfig)
	forked.Context = s.Context
	forked.Context.MessageStore = MessageStore{}
	forked.Origin = &origin
	for _, call := range withoutTold(s.UnknownOutcomes) {
		if call.EffectOf.IsZero() {
			call.EffectOf = s.AgentID
		}
		forked.UnknownOutcomes = append(forked.UnknownOutcomes, call.kept())
	}
	return forked
}
