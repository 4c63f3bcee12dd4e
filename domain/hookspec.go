package domain

import "time"

// A HookSpec is what an execution records of a hook that it uses: enough to
// tell whether another worker has the same.
type HookSpec struct {
	Name    string  `json:"name"`
	Version int     `json:"version"`
	Trigger Trigger `json:"trigger"`
	// Priority orders the hooks of a trigger: higher runs first.
	Priority int `json:"priority,omitzero"`
	// IO means that the hook is an activity: it may wait and touch the world.
	IO bool `json:"io,omitzero"`
	// Timeout bounds one attempt of an activity; zero is DefaultHookTimeout.
	Timeout time.Duration `json:"timeout,omitzero"`
	// Attempts bounds the tries of an activity; zero is one.
	Attempts int `json:"attempts,omitzero"`
}

// Rewriter returns the name of the first of some hooks that may rewrite the
// model's answers, empty where none may. What the model says is not shown before
// such a hook has seen it.
func Rewriter(hooks []HookSpec) string {
	for _, h := range hooks {
		if h.Trigger == TriggerAfterInference {
			return h.Name
		}
	}
	return ""
}

// A HookRequest asks a hook that is an activity. What is at hand depends on
// the trigger, the rest is absent.
type HookRequest struct {
	Hook        HookSpec    `json:"hook"`
	AgentID     AgentID     `json:"agent_id"`
	ExecutionID ExecutionID `json:"execution_id"`
	Number      int         `json:"execution_number"`
	// Step is the step in progress; zero between steps.
	Step int `json:"step,omitzero"`
	// Metadata are the notes of the agent's context.
	Metadata Metadata `json:"metadata,omitempty"`
	// Answer and Response are set after an inference.
	Answer   *Message  `json:"answer,omitempty"`
	Response *Response `json:"response,omitempty"`
	// Call is set before a tool use, Result after one. Models repeat the ids
	// of their calls: ToolExecutionID is the one to know a call by.
	Call            *ToolCall       `json:"call,omitempty"`
	ToolExecutionID ToolExecutionID `json:"tool_execution_id,omitzero"`
	Result          *ToolExecution  `json:"result,omitempty"`
	// Signal is the stop signal that counts, where there is one.
	Signal *StopSignal `json:"signal,omitempty"`
	// Error is set where an error ends the execution.
	Error *Error `json:"error,omitempty"`
	// Steps and Usage are the execution's so far.
	Steps int   `json:"step_count"`
	Usage Usage `json:"usage"`
}

// A HookReply is what a hook that is an activity wants done. The zero value
// changes nothing.
type HookReply struct {
	// Block forbids the tool call; it is what the model gets to read.
	Block string `json:"block,omitzero"`
	// Call replaces the tool call, Content the tool's result, Answer the
	// model's message.
	Call    *ToolCall `json:"call,omitempty"`
	Content *string   `json:"content,omitempty"`
	Answer  *Message  `json:"answer,omitempty"`
	// Stop asks the loop to stop; Continue asks it to go on.
	Stop     *StopSignal `json:"stop,omitempty"`
	Continue bool        `json:"continue,omitzero"`
	// Say are messages that join the conversation, for the model to read.
	Say []Message `json:"say,omitempty"`
	// Note are changes of the metadata: null takes a key away.
	Note Metadata `json:"note,omitempty"`
}
