package testsuite

import (
	"fmt"
	"slices"
	"strings"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/domain/contract"
)

// A Run is what came of an agent. Of several executions, the fields of its
// Execution are those of the newest.
type Run struct {
	Execution
	// Executions are all of them, the first one first.
	Executions []Execution
	// Messages is the transcript over all executions.
	Messages []domain.Message
	// Asked is what the model was shown, one call for each attempt: its system
	// prompt, messages, tools, and the bound of its answer.
	Asked []inference.Call
	// entries are Messages with their places.
	entries  []domain.Entry
	sections []string
	// Heard are the events as a listener of the worker gets them, of all
	// executions.
	Heard []domain.Event
}

// Shown is what the model was sent in a step, made again from the transcript by what the step noted.
func (r Run) Shown(step domain.AgentStep) []domain.Message {
	var chain []domain.ExecutionID
	for _, e := range slices.Backward(r.Executions) {
		begun := e.Events[0]
		started, _ := begun.Data.(domain.AgentExecutionStarted)
		has := slices.ContainsFunc(e.Steps, func(s domain.StepExecution) bool { return s.Step.ID == step.ID })
		if has || len(chain) > 0 && chain[len(chain)-1] == begun.ExecutionID {
			chain = append(chain[:max(len(chain)-1, 0)], begun.ExecutionID, started.Origin)
		}
	}
	return step.Input.Compile(r.sections, r.entries, chain)
}

// An Execution is what followed one message of the user.
type Execution struct {
	// Outcome has the status, the stop reason, the number of steps, the usage.
	Outcome contract.Outcome
	// Answer is the text that a user gets. It may be there where the execution
	// was stopped, too.
	Answer string
	// Error is why it failed; nil where it did not.
	Error *domain.Error
	Steps []domain.StepExecution
	// Events are all that happened, in order.
	Events []domain.Event
}

// EventTypes are the types of the execution's events, in order.
func (e Execution) EventTypes() []domain.EventType {
	types := make([]domain.EventType, len(e.Events))
	for i, event := range e.Events {
		types[i] = event.Type
	}
	return types
}

// Called are the names of the tools that really ran, or may have, in call order.
func (e Execution) Called() []string {
	var names []string
	for _, step := range e.Steps {
		for _, call := range step.Step.ExecutedToolCalls() {
			names = append(names, call.Name)
		}
	}
	return names
}

// ToolExecutions are all calls that the model asked for, those that did not run
// included, in call order.
func (e Execution) ToolExecutions() []domain.ToolExecution {
	var all []domain.ToolExecution
	for _, step := range e.Steps {
		all = append(all, step.Step.ToolExecutions...)
	}
	return all
}

// Transcript is the conversation as text, to be compared as a whole:
//
//	user: What is the weather in Oslo?
//	assistant: I'll look.
//	  weather {"city":"Oslo"}
//	weather: sunny
//	assistant: It is sunny.
//
// An error that a tool answered is marked: "weather failed: no such city".
func (r Run) Transcript() string {
	var b strings.Builder
	line := func(who, text string) {
		b.WriteString(strings.TrimRight(who+": "+strings.ReplaceAll(text, "\n", "\n  "), " ") + "\n")
	}
	for _, m := range r.Messages {
		switch result := m.ToolResult; {
		case result == nil:
			line(string(m.Role), m.Text())
		case result.IsError:
			line(result.Name+" failed", result.Content)
		default:
			line(result.Name, result.Content)
		}
		for _, call := range m.ToolCalls {
			fmt.Fprintf(&b, "  %s %s\n", call.Name, call.Arguments)
		}
	}
	return b.String()
}
