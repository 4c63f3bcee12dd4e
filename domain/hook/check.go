package hook

import (
	"encoding/json"

	"everstep/domain"
)

// What a hook makes is recorded with the state, carried to the next run and
// read by clients: what none of them could read, or take, fails the hook.

const (
	// maxMetadata bounds the notes of a context, which every request of a hook
	// that is an activity carries.
	maxMetadata = 64 << 10
	// maxSignal bounds a stop's notes.
	maxSignal = 16 << 10
	// maxModel bounds a model's configuration.
	maxModel = 64 << 10
)

// CheckChange refuses a state that is no later one of the same execution at the
// same point.
func CheckChange(given, made domain.AgentState) error {
	before, _ := given.Execution()
	after, _ := made.Execution()
	current, _ := given.CurrentStep()
	now, _ := made.CurrentStep()
	switch {
	case made.AgentID() != given.AgentID() || after.ID() != before.ID():
		return domain.Errorf(domain.Invalid, "it returned the state of another agent or execution; return the context that was given, changed")
	case made.ExecutionCount() != given.ExecutionCount() || after.Status() != before.Status():
		return domain.Errorf(domain.Invalid, "it began or ended the execution; use Stop or Continue")
	case !made.Extends(given):
		return domain.Errorf(domain.Invalid, "it took messages away or changed them; a hook may only add some")
	case len(made.StopSignals()) < len(given.StopSignals()):
		return domain.Errorf(domain.Invalid, "it took a stop signal away; use Continue, which overrides those that may be")
	case after.Counts() != before.Counts():
		return domain.Errorf(domain.Invalid, "it changed what the execution has used; the loop counts that")
	case after.StepCount() != before.StepCount() || now.ID != current.ID:
		return domain.Errorf(domain.Invalid, "it began or completed a step; the loop does that")
	}
	return nil
}

// CheckState says why what a hook has made of the state cannot be kept.
func CheckState(given, made domain.AgentState) error {
	for _, e := range made.AddedSince(given) {
		if m := e.Message; m.Role == domain.RoleTool || m.ToolResult != nil || len(m.ToolCalls) > 0 {
			return domain.Errorf(domain.Invalid, "its message is a tool's or asks for tools; only the model does")
		}
		if err := readable("message", e.Message, domain.MaxMessage); err != nil {
			return err
		}
	}
	for _, signal := range made.StopSignals()[len(given.StopSignals()):] {
		if err := readable("stop signal", signal, maxSignal); err != nil {
			return err
		}
	}
	was, _ := given.Execution()
	is, _ := made.Execution()
	if own, failed := is.Err(); failed {
		if before, _ := was.Err(); own != before {
			if err := readable("error", own, maxSignal); err != nil {
				return err
			}
		}
	}
	if metadata := made.Metadata(); len(metadata) > 0 {
		if err := readable("metadata", metadata, maxMetadata); err != nil {
			return err
		}
	}
	if prompt := made.SystemPrompt(); prompt != given.SystemPrompt() {
		if err := readable("system prompt", prompt, domain.MaxSystemPrompt); err != nil {
			return err
		}
	}
	if model := made.LLMConfig(); !model.Equal(given.LLMConfig()) {
		if err := (domain.Definition{Model: model}).Check(); err != nil {
			return err
		}
		if err := readable("model", model, maxModel); err != nil {
			return err
		}
	}
	if format := made.ResponseFormat(); !format.Equal(given.ResponseFormat()) {
		if err := (domain.Definition{Model: made.LLMConfig(), Format: format}).Check(); err != nil {
			return err
		}
		return readable("response format", format, domain.MaxSystemPrompt)
	}
	return nil
}

// CheckAt says why what a hook has made of what is at hand cannot be kept.
func CheckAt(given, made any) error {
	switch made := made.(type) {
	case Answer:
		given, _ := given.(Answer)
		if made.Response != given.Response {
			if err := readable("response", made.Response, maxSignal); err != nil {
				return err
			}
		}
		if made.Message.Equal(given.Message) {
			return nil
		}
		return readable("answer", made.Message, domain.MaxMessage)
	case Call:
		if given, ok := given.(Call); ok && made.Call == given.Call {
			return nil
		}
		return readable("call", made.Call, domain.MaxMessage)
	case Result:
		given, _ := given.(Result)
		if made.Execution.SameOutcome(given.Execution) {
			return nil
		}
		return readable("result", made.Execution, domain.MaxMessage)
	}
	return nil
}

// readable fails unless a value is of a size, and is read back as what it was
// written as.
func readable[T any](what string, value T, limit int) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return domain.Errorf(domain.Invalid, "its %s cannot be recorded: %v", what, err)
	}
	if len(encoded) > limit {
		return domain.Errorf(domain.TooLarge, "its %s takes %d bytes; at most %d are kept", what, len(encoded), limit)
	}
	if _, err := domain.Decode[T](encoded); err != nil {
		return domain.Errorf(domain.Invalid, "its %s cannot be read back: %v", what, err)
	}
	return nil
}
