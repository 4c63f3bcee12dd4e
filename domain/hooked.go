package domain

import (
	"reflect"
)

// ForbiddenChange names the first field, by its key, in which a state differs from the one that a hook was given and which no
// hook may change; empty: none does. A hook may add messages and stop signals, ask to go on, and set metadata, system prompt,
// model, response format and budget.
func (s AgentState) ForbiddenChange(given AgentState) string {
	is, was := s, given
	if is.AgentID != was.AgentID {
		return "agent_id"
	}
	if !s.Extends(given) {
		return "messages"
	}
	is.UpdatedAt, is.LLMConfig, is.Context = was.UpdatedAt, was.LLMConfig, was.Context
	if !is.Execution.IsZero() && !was.Execution.IsZero() {
		if field := is.Execution.forbiddenChange(was.Execution); field != "" {
			return "execution." + field
		}
		is.Execution = was.Execution
	}
	return DifferentField(is, was)
}

func (e ExecutionState) forbiddenChange(given ExecutionState) string {
	is, was := &e.Continuation, given.Continuation
	kept := len(was.StopSignals)
	lost := len(is.StopSignals) < kept || kept > 0 && !reflect.DeepEqual(is.StopSignals[:kept], was.StopSignals)
	is.StopSignals, is.Requested = was.StopSignals, is.Requested && was.Requested
	e.Budget = given.Budget
	if field := DifferentField(e, given); field != "" || !lost {
		return field
	}
	return "continuation.stop_signals"
}

// DifferentField names the first exported field, by its key in JSON, in which two structs of a type differ; empty: none does.
func DifferentField[T any](a, b T) string {
	if keys := Differing(a, b); len(keys) > 0 {
		return keys[0]
	}
	return ""
}
