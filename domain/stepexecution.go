package domain

import "time"

// A StepExecution is a completed step: what happened, when, and what the
// continuation was then.
type StepExecution struct {
	Step AgentStep
	// StartedAt and CompletedAt span the inference and the tool calls.
	StartedAt   time.Time
	CompletedAt time.Time
	// Continuation is a copy, as it was when the step ended.
	Continuation Continuation
}

// Duration is how long the step took, tool calls included.
func (s StepExecution) Duration() time.Duration { return s.CompletedAt.Sub(s.StartedAt) }

// Usage is the step's.
func (s StepExecution) Usage() Usage { return s.Step.Usage }

// Size is about how many bytes the step takes when encoded.
func (s StepExecution) Size() int { return s.Step.Size() + s.Continuation.size() }
