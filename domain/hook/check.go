package hook

import (
	"cmp"
	"encoding/json"
	"reflect"

	"everstep/domain"
)

// What a hook makes is recorded with the state, carried to the next run and
// read by clients: what none of them could read, or take, fails the hook.

const (
	maxSignal = 16 << 10
	maxModel  = 64 << 10
)

// CheckChange refuses a state that is no later one of the same execution at the
// same point.
func CheckChange(given, made domain.AgentState) error {
	before, _ := given.Execution()
	after, _ := made.Execution()
	current, _ := given.CurrentStep()
	now, _ := made.CurrentStep()
	return cmp.Or(
		refused(made.AgentID() != given.AgentID() || after.ID() != before.ID(),
			"it returned the state of another agent or execution; return the context that was given, changed"),
		refused(made.ExecutionCount() != given.ExecutionCount() || after.Status() != before.Status(),
			"it began or ended the execution; use Stop or Continue"),
		refused(!made.Extends(given), "it took messages away or changed them; a hook may only add some"),
		refused(len(made.StopSignals()) < len(given.StopSignals()),
			"it took a stop signal away; use Continue, which overrides those that may be"),
		refused(!made.Trusted().Equal(given.Trusted()) || !made.SessionTrusted().Equal(given.SessionTrusted()),
			"it changed trusted values, which only whoever starts the agent can give"),
		refused(!reflect.DeepEqual(made.StandingApprovals(), given.StandingApprovals()),
			"it changed standing approvals, which only a person can give or revoke"),
		refused(after.Counts() != before.Counts(), "it changed what the execution has used; the loop counts that"),
		refused(after.StepCount() != before.StepCount() || now.ID != current.ID, "it began or completed a step; the loop does that"),
	)
}

// refused is an error with a text where something is wrong.
func refused(wrong bool, format string, args ...any) error {
	if !wrong {
		return nil
	}
	return domain.Errorf(domain.Invalid, format, args...)
}

// CheckState says why what a hook has made of the state cannot be kept.
func CheckState(given, made domain.AgentState) error {
	for _, e := range made.AddedSince(given) {
		if m := e.Message; m.Role == domain.RoleTool || m.ToolResult != nil || len(m.ToolCalls) > 0 {
			return domain.Errorf(domain.Invalid, "its message is a tool's or asks for tools; only the model does")
		}
		if err := readable(true, "message", e.Message, domain.MaxMessage); err != nil {
			return err
		}
	}
	for _, signal := range made.StopSignals()[len(given.StopSignals()):] {
		if err := readable(true, "stop signal", signal, maxSignal); err != nil {
			return err
		}
	}
	was, _ := given.Execution()
	is, _ := made.Execution()
	before, _ := was.Err()
	own, failed := is.Err()
	prompt, model, format := made.SystemPrompt(), made.LLMConfig(), made.ResponseFormat()
	other, formed := !model.Equal(given.LLMConfig()), !format.Equal(given.ResponseFormat())
	var unfit error
	if formed {
		unfit = domain.Definition{Model: model, Format: format}.Check()
	} else if other {
		unfit = domain.Definition{Model: model}.Check()
	}
	return cmp.Or(
		readable(failed && own != before, "error", own, maxSignal),
		readable(len(made.Metadata()) > 0, "metadata", made.Metadata(), domain.MaxMetadata),
		readable(prompt != given.SystemPrompt(), "system prompt", prompt, domain.MaxSystemPrompt),
		unfit,
		readable(other, "model", model, maxModel),
		readable(formed, "response format", format, domain.MaxSystemPrompt),
	)
}

// CheckAt says why what a hook has made of what is at hand cannot be kept.
func CheckAt(given, made any) error {
	switch made := made.(type) {
	case Answer:
		given, _ := given.(Answer)
		return cmp.Or(
			readable(made.Response != given.Response, "response", made.Response, maxSignal),
			readable(!made.Message.Equal(given.Message), "answer", made.Message, domain.MaxMessage),
		)
	case Call:
		given, _ := given.(Call)
		return readable(made.Call != given.Call, "call", made.Call, domain.MaxMessage)
	case Result:
		given, _ := given.(Result)
		return readable(!made.Execution.SameOutcome(given.Execution), "result", made.Execution, domain.MaxMessage)
	}
	return nil
}

// readable fails unless a value that is new is of a size, and is read back as
// what it was written as.
func readable[T any](isNew bool, what string, value T, limit int) error {
	if !isNew {
		return nil
	}
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
