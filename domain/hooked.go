package domain

import (
	"reflect"
	"strings"
)

// ForbiddenChange names the first field, by its key, in which a state differs from the one that a hook was given and which no
// hook may change; empty: none does. A hook may add messages and stop signals, ask to go on, and set metadata, system prompt,
// model, response format and budget.
func (s AgentState) ForbiddenChange(given AgentState) string {
	is, was := s.w, given.w
	if is.AgentID != was.AgentID {
		return "agent_id"
	}
	if !s.Extends(given) {
		return "messages"
	}
	is.UpdatedAt, is.LLMConfig, is.Context = was.UpdatedAt, was.LLMConfig, was.Context
	if is.Execution != nil && was.Execution != nil {
		if field := is.Execution.w.forbiddenChange(was.Execution.w); field != "" {
			return "execution." + field
		}
		is.Execution = was.Execution
	}
	return DifferentField(is, was)
}

func (w executionWire) forbiddenChange(given executionWire) string {
	is, was := &w.Continuation, given.Continuation
	kept := len(was.StopSignals)
	lost := len(is.StopSignals) < kept || kept > 0 && !reflect.DeepEqual(is.StopSignals[:kept], was.StopSignals)
	is.StopSignals, is.Requested = was.StopSignals, is.Requested && was.Requested
	w.Budget = given.Budget
	if field := DifferentField(w, given); field != "" || !lost {
		return field
	}
	return "continuation.stop_signals"
}

// DifferentField names the first exported field, by its key in JSON, in which two structs of a type differ; empty: none does.
func DifferentField[T any](a, b T) string {
	return differentField(reflect.ValueOf(a), reflect.ValueOf(b))
}

func differentField(a, b reflect.Value) string {
	for i := range a.NumField() {
		field := a.Type().Field(i)
		if !field.IsExported() || reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			continue
		}
		if field.Anonymous {
			return differentField(a.Field(i), b.Field(i))
		}
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		return key
	}
	return ""
}
