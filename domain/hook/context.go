package hook

import (
	"encoding/json"
	"time"

	"everstep/domain"
)

// A Context is what a hook gets and gives back, changed by its methods and fields.
// At is what is at hand at the trigger.
type Context[At any] struct {
	Trigger domain.Trigger
	// Now is the time of the workflow.
	Now time.Time
	// State is the agent's, with the messages that this run holds. A hook may
	// change its metadata, system prompt, response format, model and budget,
	// add messages, add signals and request to continue. All of it is kept.
	// Any other change, such as one of steps or identity, fails the hook.
	//
	// Of the completed steps it has the newest, domain.RecentSteps at most and all
	// but the last with long texts cut; Execution.Folded has the totals of those before them.
	// That is the same in every run. StepCount, Spent, Usage and ToolCounts are of
	// all steps.
	State domain.AgentState
	At    At

	stops []domain.StopSignal
	goOn  bool
}

// Nothing is at hand where a trigger is about the execution or the step alone.
type Nothing struct{}

// A Request is at hand before an inference.
type Request struct {
	// WithoutTools offers no tools to the model.
	WithoutTools bool
	// MaxOutputTokens, where not zero, bounds the answer further.
	MaxOutputTokens int64
}

// An Answer is at hand after an inference.
type Answer struct {
	// Message is the model's; a hook may replace it. It joins the conversation
	// after all hooks have seen it.
	Message domain.Message
	// Response is not a hook's to change.
	Response domain.Response
}

// A Call is at hand before a tool use.
type Call struct {
	// Position counts the step's calls from 0.
	Position int
	// Call may be replaced: what stands here after the last hook is run.
	Call domain.ToolCall
	// blocked is what the model is told in place of the result.
	blocked string
	forbid  bool
}

// Blocked returns what the model is told, where the call is forbidden.
func (c Call) Blocked() (message string, blocked bool) { return c.blocked, c.forbid }

// A Result is at hand after a tool use.
type Result struct {
	Position int
	// Execution is the call with what came of it. A hook may replace its Value
	// or its Error; the call itself has been made.
	Execution domain.ToolExecution
}

// A Failure is at hand where an error ends the execution.
type Failure struct{ Error domain.Error }

// The contexts of the triggers.
type (
	// Point is of before_execution, before_step, after_step, on_stop and
	// after_execution.
	Point = Context[Nothing]
	// Inference is of before_inference.
	Inference = Context[Request]
	// Reply is of after_inference.
	Reply = Context[Answer]
	// ToolUse is of before_tool_use.
	ToolUse = Context[Call]
	// ToolResult is of after_tool_use.
	ToolResult = Context[Result]
	// Error is of on_error.
	Error = Context[Failure]
)

// Stop returns the context with a request to stop: the step in progress is
// kept, and nothing more starts in it. The reason is stop_requested; see StopFor.
func (c Context[At]) Stop(message string) Context[At] {
	return c.StopFor(domain.StopRequested, message, nil)
}

// StopFor returns the context with a stop for a reason, with notes beside it.
func (c Context[At]) StopFor(reason domain.StopReason, message string, notes domain.Metadata) Context[At] {
	c.stops = append(c.stops[:len(c.stops):len(c.stops)], domain.StopSignal{Reason: reason, Message: message, Context: notes})
	return c
}

// Continue returns the context with a request to go on where the loop would
// stop. It has no effect beside an error, a limit or a user's stop.
func (c Context[At]) Continue() Context[At] {
	c.goOn = true
	return c
}

// Say returns the context with a message for the model. Inside a step it joins
// the conversation when the step's answer and results have.
func (c Context[At]) Say(role domain.Role, text string) Context[At] {
	m := domain.Message{Role: role, Parts: []domain.Part{{Type: domain.PartText, Text: text}}}
	if state, err := c.State.WithMessages(domain.SectionMessages, []domain.Message{m}, c.Now); err == nil {
		c.State = state // a text cannot fail
	}
	return c
}

// Note returns the context with a note in the agent's metadata; nil takes the
// key away. A value that is no JSON fails the hook.
func (c Context[At]) Note(key string, value any) (Context[At], error) {
	var raw json.RawMessage
	if value != nil {
		var err error
		if raw, err = json.Marshal(value); err != nil {
			return c, domain.Invalidf("note %s: %v", key, err)
		}
	}
	state, err := c.State.WithMetadata(key, raw, c.Now)
	if err != nil {
		return c, err
	}
	c.State = state
	return c, nil
}

// Block returns the call as a forbidden one; see the function Block.
func (c Call) Block(message string) Call {
	c.blocked, c.forbid = message, true
	return c
}

// Block returns the context of a call that is forbidden. The model gets to read
// the message in place of a result, and no later hook sees the call.
func Block(c ToolUse, message string) ToolUse {
	c.At = c.At.Block(message)
	return c
}

// Stops are those that a hook has asked for. It is for tests of hooks.
func (c Context[At]) Stops() []domain.StopSignal { return c.stops }

// Continues reports whether a hook asked to go on.
func (c Context[At]) Continues() bool { return c.goOn }
