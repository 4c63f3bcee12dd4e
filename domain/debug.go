package domain

import (
	"fmt"
	"time"
)

// A DebugView sums up a state for people and logs, without a message of the conversation.
type DebugView struct {
	Status         ExecutionStatus `json:"status"`
	ExecutionCount int             `json:"execution_count"`
	HasExecution   bool            `json:"has_execution"`
	ExecutionID    ExecutionID     `json:"execution_id,omitzero"`
	Steps          int             `json:"steps"`
	// Continuation says in words whether the loop goes on, and why.
	Continuation string   `json:"continuation"`
	HasErrors    bool     `json:"has_errors"`
	Errors       []string `json:"errors"`
	Usage
	BudgetLeft ExecutionBudget `json:"budget_left"`
}

// Debug sums up the state as it is now.
func (s AgentState) Debug(now time.Time) DebugView {
	left, _ := s.BudgetLeft(now)
	view := DebugView{
		Status: s.Status(), ExecutionCount: s.ExecutionCount, HasExecution: !s.Execution.IsZero(), ExecutionID: s.Execution.ID,
		Steps: s.StepCount(), Continuation: s.inWords(), HasErrors: s.HasErrors(), Errors: []string{},
		Usage: s.Usage(), BudgetLeft: left,
	}
	for _, err := range s.Errors() {
		text := string(err.Kind)
		if err.Code != "" {
			text += " " + string(err.Code)
		}
		view.Errors = append(view.Errors, text+": "+err.Message)
	}
	return view
}

// inWords says whether the loop goes on, by the rule of ShouldStop.
func (s AgentState) inWords() string {
	signal, _ := s.StopSignal()
	switch {
	case s.Execution.IsZero():
		return "stops: there is no execution"
	case s.Status().Terminal():
		return fmt.Sprintf("ended: %s", signal.Reason)
	case s.Execution.Continuation.Stops() && signal.Source != "":
		return fmt.Sprintf("stops: %s, by %s", signal.Reason, signal.Source)
	case s.Execution.Continuation.Stops():
		return fmt.Sprintf("stops: %s", signal.Reason)
	case s.Execution.Continuation.Requested:
		return "goes on: something asked for it"
	case !s.ShouldStop():
		return "goes on: the step asked for tools"
	case s.Execution.currentOrLast() == nil:
		return "stops: no step has begun"
	}
	return "stops: the step asked for no tools"
}
