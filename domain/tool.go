package domain

// A ToolRequest asks for one tool call. Its identity is the step and the
// position, never the provider's call id.
type ToolRequest struct {
	ExecutionID ExecutionID `json:"execution_id"`
	Step        int         `json:"step"`
	// Position counts the step's calls from 0.
	Position int    `json:"position"`
	CallID   string `json:"call_id,omitzero"`
	Name     string `json:"name"`
	// Effect is the resolved tool's: what the workflow relies on.
	Effect Effect `json:"effect"`
	// Arguments is the exact text that the model sent, unless Reference says
	// where it stands.
	Arguments string `json:"arguments,omitzero"`
	// Reference is set for long arguments.
	Reference *ArgumentsRef `json:"arguments_ref,omitempty"`
}

// ID is the tool execution's id: the key of keyed tools.
func (r ToolRequest) ID() ToolExecutionID { return r.ExecutionID.Step(r.Step).Tool(r.Position) }

// An ArgumentsRef names the arguments of a call inside the transcript.
type ArgumentsRef struct {
	// Message is the index of the message that holds the call.
	Message int `json:"message"`
	// Digest is of the arguments' text.
	Digest Digest `json:"digest"`
}

// A ToolReply is what came of a tool call. A tool that fails is data for the
// model and not a failure of the activity.
type ToolReply struct {
	// Content is what the model gets to read.
	Content string `json:"content,omitzero"`
	// Digest is of the content.
	Digest Digest `json:"digest"`
	// Error says that the call failed, was not run, or that its outcome is unknown.
	Error *Error `json:"error,omitempty"`
	// Stop asks the loop to stop after this step.
	Stop *StopSignal `json:"stop,omitempty"`
	// NotStarted means that the call surely did not begin and may be made again.
	NotStarted bool `json:"not_started,omitzero"`
	// Attempts counts the tries, where there was more than one.
	Attempts int `json:"attempts,omitzero"`
}
