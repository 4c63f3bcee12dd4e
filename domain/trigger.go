package domain

import "everstep/domain/enum"

// A Trigger is a point of the loop at which hooks run.
type Trigger string

const (
	// TriggerBeforeExecution: the execution has begun and no step has.
	TriggerBeforeExecution Trigger = "before_execution"
	// TriggerBeforeStep: a step is about to begin, unless something stops it.
	TriggerBeforeStep Trigger = "before_step"
	// TriggerBeforeInference: the model is about to be asked.
	TriggerBeforeInference Trigger = "before_inference"
	// TriggerAfterInference: the model has answered, and the answer has not joined yet.
	TriggerAfterInference Trigger = "after_inference"
	// TriggerBeforeToolUse: a tool call is about to be made.
	TriggerBeforeToolUse Trigger = "before_tool_use"
	// TriggerAfterToolUse: all calls of the step have ended; once for each, in call order.
	TriggerAfterToolUse Trigger = "after_tool_use"
	// TriggerAfterStep: a step that began is over, one that was cut off included.
	TriggerAfterStep Trigger = "after_step"
	// TriggerOnError: an unrecoverable error ends the execution.
	TriggerOnError Trigger = "on_error"
	// TriggerOnStop: the loop is over, for whatever reason. Once an execution.
	TriggerOnStop Trigger = "on_stop"
	// TriggerAfterExecution: the last point; only the terminal status is missing.
	TriggerAfterExecution Trigger = "after_execution"
)

// UnmarshalText accepts the known triggers only, in the order of the loop.
func (t *Trigger) UnmarshalText(text []byte) error {
	return enum.Decode(t, text, "trigger",
		TriggerBeforeExecution, TriggerBeforeStep, TriggerBeforeInference, TriggerAfterInference,
		TriggerBeforeToolUse, TriggerAfterToolUse, TriggerAfterStep, TriggerOnError, TriggerOnStop, TriggerAfterExecution,
	)
}
