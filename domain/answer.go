package domain

import "strings"

// This file is the answer of the execution on the agent's state. An earlier
// execution's answer is never reported for a later one.

// candidate is the step that the answer is looked for in: the one in progress
// once the model has answered, else the last completed one.
func (s AgentState) candidate() (AgentStep, bool) {
	if c, ok := s.CurrentStep(); ok && c.Response != nil {
		return c, true
	}
	return s.LastStep()
}

// HasFinalResponse reports whether the newest step is a final response with a text that is not blank.
func (s AgentState) HasFinalResponse() bool {
	_, ok := s.FinalResponse()
	return ok
}

// FinalResponse returns the messages of the answer, where there is one.
func (s AgentState) FinalResponse() ([]Message, bool) {
	step, ok := s.candidate()
	if !ok || step.Type() != StepFinalResponse || strings.TrimSpace(step.Text()) == "" {
		return nil, false
	}
	return step.Output, true
}

// CurrentResponse returns the final response, else what the newest step put
// out, if the model wrote anything in it.
func (s AgentState) CurrentResponse() ([]Message, bool) {
	step, ok := s.candidate()
	if !ok || strings.TrimSpace(step.Text()) == "" {
		return nil, false
	}
	return step.Output, true
}

// Answer is the text of the current response; empty where there is none.
func (s AgentState) Answer() string {
	messages, _ := s.CurrentResponse()
	return AnswerText(messages)
}
