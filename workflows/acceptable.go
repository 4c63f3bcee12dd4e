package workflows

import (
	"encoding/json"

	"everstep/domain"
	"everstep/domain/hook"
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

// acceptable says why what a hook has made of the state cannot be kept.
func acceptable(given, made domain.AgentState) error {
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
	if format := made.ResponseFormat(); !sameFormat(format, given.ResponseFormat()) {
		if err := (domain.Definition{Model: made.LLMConfig(), Format: format}).Check(); err != nil {
			return err
		}
		return readable("response format", format, domain.MaxSystemPrompt)
	}
	return nil
}

// atHand says why what a hook has made of what is at hand cannot be kept.
func atHand(given, made any) error {
	switch made := made.(type) {
	case hook.Answer:
		given, _ := given.(hook.Answer)
		if made.Response != given.Response {
			if err := readable("response", made.Response, maxSignal); err != nil {
				return err
			}
		}
		if made.Message.Equal(given.Message) {
			return nil
		}
		return readable("answer", made.Message, domain.MaxMessage)
	case hook.Call:
		if given, ok := given.(hook.Call); ok && made.Call == given.Call {
			return nil
		}
		return readable("call", made.Call, domain.MaxMessage)
	case hook.Result:
		given, _ := given.(hook.Result)
		if made.Execution.Value == given.Execution.Value && sameError(made.Execution.Error, given.Execution.Error) {
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
