package domain

import (
	"strings"
	"time"

	"everstep/domain/enum"
)

// An AgentExecutionStarted says that an execution began; going on after a crash or in a new run is none.
type AgentExecutionStarted struct {
	EventHeader
	Number int `json:"execution_number"`
	// Origin is the execution that this one goes on from.
	Origin ExecutionID `json:"origin,omitzero"`
	// By says who began it.
	By Starter `json:"started_by,omitzero"`
	// GivenMessages counts what was said before the prompt, and GivenMetadata are the names of the notes that it began with,
	// parted by commas.
	GivenMessages int    `json:"given_messages,omitzero"`
	GivenMetadata string `json:"given_metadata,omitzero"`
}

// A Program is one that uses a client of Everstep, by its own word. The zero value is another, such as a tool of
// Temporal's.
type Program struct {
	// Client is the program's name, and Identity which process of whose machine it is.
	Client   string `json:"client,omitzero"`
	Identity string `json:"identity,omitzero"`
}

// A Starter says who began an execution: a program, or by the server's word a schedule or another workflow.
type Starter struct {
	Program
	// Schedule is the id of a schedule of Temporal's, and Parent that of the workflow that has it as its child.
	Schedule string `json:"schedule,omitzero"`
	Parent   string `json:"parent,omitzero"`
}

// Bounded returns the starter with names that may be recorded and shown.
func (s Starter) Bounded() Starter {
	for _, name := range []*string{&s.Client, &s.Identity, &s.Schedule, &s.Parent} {
		*name = Shorten(strings.ToValidUTF8(*name, "\uFFFD"), 128)
	}
	return s
}

// A MessageReceived says that a message which had to wait was read: it joined the conversation before the next step, or
// began the execution.
type MessageReceived struct {
	EventHeader
	MessageID MessageID `json:"message_id"`
	// Began says that it began the execution.
	Began bool `json:"began,omitzero"`
	// Bytes is its length, and Milliseconds how long it has waited.
	Bytes        int   `json:"bytes"`
	Milliseconds int64 `json:"waited_ms"`
	// By is who has sent it.
	By Program `json:"sent_by,omitzero"`
}

// A MessageWaiting says that a message came while the execution was in progress, and has to wait. A MessageReceived or a
// MessageUnsent says what became of it; in the execution that it begins, where it is left for that.
type MessageWaiting struct {
	EventHeader
	MessageID MessageID `json:"message_id"`
	Bytes     int       `json:"bytes"`
	// Queued says that it waits to begin an execution of its own, and not for the next step.
	Queued bool `json:"queued,omitzero"`
	// By is who has sent it.
	By Program `json:"sent_by,omitzero"`
}

// A MessageUnsent says that a message that waited was taken back.
type MessageUnsent struct {
	EventHeader
	MessageID MessageID `json:"message_id"`
}

// An AgentExecutionPaused says that nothing new starts until an AgentExecutionResumed.
type AgentExecutionPaused struct{ EventHeader }

// An AgentExecutionResumed says that a pause is over.
type AgentExecutionResumed struct{ EventHeader }

// A HookCalled says that a hook that is an activity was called. Of the others there is none: they take no time.
type HookCalled struct {
	EventHeader
	Hook    string  `json:"hook"`
	Trigger Trigger `json:"trigger"`
}

// A HookFailed says that a hook failed, which ends the execution.
type HookFailed struct {
	EventHeader
	Hook    string  `json:"hook"`
	Trigger Trigger `json:"trigger"`
	Kind    Kind    `json:"error_kind"`
	Code    Code    `json:"error_code,omitzero"`
}

// An AgentStepStarted says that a step began, and nothing stopped it before.
type AgentStepStarted struct{ EventHeader }

// An InferenceRequestStarted says that the model is asked. An InferenceResponseReceived closes it.
type InferenceRequestStarted struct {
	EventHeader
	Model string `json:"model"`
	// Attempts counts the tries of this inference that were made before.
	Attempts int `json:"attempts,omitzero"`
	// Summary means that it sums up a part of the conversation.
	Summary bool `json:"summary,omitzero"`
}

// An InferenceResponseReceived says that the model answered, or surely will not.
type InferenceResponseReceived struct {
	EventHeader
	FinishReason FinishReason `json:"finish_reason,omitzero"`
	Usage        Usage        `json:"usage"`
	ToolCalls    int          `json:"tool_calls,omitzero"`
	// Kind and Code say what failed; both are empty where an answer came.
	Kind Kind `json:"error_kind,omitzero"`
	Code Code `json:"error_code,omitzero"`
}

// A ToolCallStarted says that a tool call began. Each is closed by a ToolCallCompleted.
type ToolCallStarted struct {
	EventHeader
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	Tool            string          `json:"tool"`
}

// A ToolCallWaiting says that a call that was made waits, and is made or asked about again: until a time that its tool has
// named, or while its other side goes on with it.
type ToolCallWaiting struct {
	EventHeader
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	Tool            string          `json:"tool"`
	// Until is the time; zero: the other side goes on, and Status is what it said of that, where it said anything.
	Until  time.Time `json:"until,omitzero"`
	Status string    `json:"status,omitzero"`
}

// A ToolCallRetried says that a call failed and is made again.
type ToolCallRetried struct {
	EventHeader
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	Tool            string          `json:"tool"`
	// Attempt is the coming one, and Kind and Code say why the one before failed.
	Attempt int  `json:"attempt"`
	Kind    Kind `json:"error_kind"`
	Code    Code `json:"error_code,omitzero"`
}

// A ToolCallCompleted says that a tool call that began has ended.
type ToolCallCompleted struct {
	EventHeader
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	Tool            string          `json:"tool"`
	Milliseconds    int64           `json:"duration_ms"`
	Kind            Kind            `json:"error_kind,omitzero"`
	Code            Code            `json:"error_code,omitzero"`
}

// A ToolCallBlocked says that a call was not begun: Code is blocked where a hook forbade it.
type ToolCallBlocked struct {
	EventHeader
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	Tool            string          `json:"tool"`
	Code            Code            `json:"error_code"`
	// Source is the hook that forbade it.
	Source string `json:"source,omitzero"`
}

// A ToolApprovalRequested says that a tool call waits for a person's word.
type ToolApprovalRequested struct {
	EventHeader
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	Tool            string          `json:"tool"`
	// Digest names the exact arguments, and ExpiresAt is zero where the wait has no end.
	Digest    Digest    `json:"digest"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// A ToolApprovalDecided says that the wait is over: by somebody's word, or because the time was. Of a call that a standing
// approval lets run there was no wait.
type ToolApprovalDecided struct {
	EventHeader
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	Tool            string          `json:"tool"`
	Digest          Digest          `json:"digest"`
	Decision        Decision        `json:"decision"`
	By              string          `json:"by,omitzero"`
	// Standing is the standing approval by which it runs, or that was given with the word.
	Standing ToolExecutionID `json:"standing_approval,omitzero"`
	// Edited is the digest of what runs instead, where the person has changed the arguments.
	Edited Digest `json:"edited,omitzero"`
}

// A UserQuestionAsked says that a tool call waits for a person's answer. It comes after the call's ToolCallStarted.
type UserQuestionAsked struct {
	EventHeader
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	Tool            string          `json:"tool"`
	// Digest names the exact arguments of the call, and ExpiresAt is zero where the wait has no end.
	Digest    Digest    `json:"digest"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// A UserQuestionAnswered says that the wait is over: by somebody's answer, or because its time was. A stop ends it without.
type UserQuestionAnswered struct {
	EventHeader
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	Tool            string          `json:"tool"`
	Digest          Digest          `json:"digest"`
	Outcome         AnswerOutcome   `json:"outcome"`
	By              string          `json:"by,omitzero"`
}

// A ToolOutcomeUnknown says that nobody knows whether a tool call took effect. It comes before the call's
// ToolCallCompleted.
type ToolOutcomeUnknown struct {
	EventHeader
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	Tool            string          `json:"tool"`
}

// A ToolOutcomeSettled says that somebody has said what such a call really did: in an earlier step or execution,
// it may be.
type ToolOutcomeSettled struct {
	EventHeader
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	Tool            string          `json:"tool"`
	Verdict         Verdict         `json:"verdict"`
	By              Program         `json:"by,omitzero"`
}

// An AgentStepCompleted says that a step ended.
type AgentStepCompleted struct {
	EventHeader
	StepType     StepType     `json:"step_type"`
	Usage        Usage        `json:"usage"`
	CostNanoUSD  int64        `json:"cost_nano_usd,omitzero"`
	FinishReason FinishReason `json:"finish_reason,omitzero"`
	Milliseconds int64        `json:"duration_ms"`
	ToolCalls    int          `json:"tool_calls"`
	Errors       int          `json:"errors"`
}

// A TokenUsageReported says after each step what the execution has used so far, and what the step has of that.
type TokenUsageReported struct {
	EventHeader
	Usage           Usage `json:"usage"`
	CostNanoUSD     int64 `json:"cost_nano_usd,omitzero"`
	StepUsage       Usage `json:"step_usage,omitzero"`
	StepCostNanoUSD int64 `json:"step_cost_nano_usd,omitzero"`
}

// A ContinuationEvaluated says whether the loop goes on; between steps only where it stops.
type ContinuationEvaluated struct {
	EventHeader
	Stops bool `json:"stops"`
	// Reason is that of the signal that counts, where there is one.
	Reason StopReason `json:"stop_reason,omitzero"`
	// Overridden counts the signals that a request to continue has overridden.
	Overridden int `json:"overridden,omitzero"`
}

// A StopSignalReceived says that something asked to stop.
type StopSignalReceived struct {
	EventHeader
	Reason StopReason `json:"stop_reason"`
	Source string     `json:"source,omitzero"`
}

// A SubagentSpawning says that a child execution is about to begin.
type SubagentSpawning struct {
	EventHeader
	Subagent string  `json:"subagent"`
	ChildID  AgentID `json:"child_agent_id"`
	// ToolExecutionID is the call, and Grant is what the child may use of the budget.
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	Grant           ExecutionBudget `json:"grant,omitzero"`
}

// A SubagentGranted is the answer to a child execution that has asked for more of the budget.
type SubagentGranted struct {
	EventHeader
	Subagent string  `json:"subagent"`
	ChildID  AgentID `json:"child_agent_id"`
	// More is how much more of the limit it may use, in the limit's unit; zero: it was refused. Need is what it has asked for
	// at least, and Grant what it may use in all.
	Limit Limit           `json:"limit"`
	More  int64           `json:"more"`
	Need  int64           `json:"need"`
	Grant ExecutionBudget `json:"grant"`
}

// A SubagentCompleted says that a child execution has ended.
type SubagentCompleted struct {
	EventHeader
	Subagent   string          `json:"subagent"`
	ChildID    AgentID         `json:"child_agent_id"`
	Status     ExecutionStatus `json:"status"`
	StopReason StopReason      `json:"stop_reason,omitzero"`
	Kind       Kind            `json:"error_kind,omitzero"`
	Code       Code            `json:"error_code,omitzero"`
	// Usage and CostNanoUSD are what it counts in the budget, with all below it: of one that was lost all that it was granted.
	Usage       Usage `json:"usage"`
	CostNanoUSD int64 `json:"cost_nano_usd,omitzero"`
	// Steps are its own completed ones.
	Steps int `json:"step_count,omitzero"`
	// Lost says that its workflow has ended without an outcome, and Unstarted that it never began.
	Lost      bool `json:"lost,omitzero"`
	Unstarted bool `json:"unstarted,omitzero"`
	// Beyond is a limit of which it has spent more than it was granted, as it says itself: the first of the table. All that it
	// has spent counts.
	Beyond Limit `json:"beyond,omitzero"`
}

// An MCPSessionOpened says that the agent has a session with a stateful MCP server, on one worker.
type MCPSessionOpened struct {
	EventHeader
	Server string `json:"server"`
	Worker string `json:"worker,omitzero"`
}

// An MCPSessionLost says that the session with a server is gone, and why.
type MCPSessionLost struct {
	EventHeader
	Server string `json:"server"`
	Why    string `json:"why"`
}

// A ConversationHandedOver says that another agent answers from the next step on.
type ConversationHandedOver struct {
	EventHeader
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	// Agent is the one that does, by the name that the one before has for it.
	Agent string `json:"agent"`
}

// An AgentExecutionStopped says, once, that the loop is over, with the reason that counts.
type AgentExecutionStopped struct {
	EventHeader
	Reason StopReason `json:"stop_reason"`
	Source string     `json:"source,omitzero"`
}

// An AgentExecutionCompleted says that the execution has ended, completed or stopped.
type AgentExecutionCompleted struct {
	EventHeader
	Status      ExecutionStatus `json:"status"`
	StopReason  StopReason      `json:"stop_reason"`
	Steps       int             `json:"step_count"`
	Usage       Usage           `json:"usage"`
	CostNanoUSD int64           `json:"cost_nano_usd,omitzero"`
}

// An AgentExecutionFailed says that the execution has ended because of an error.
type AgentExecutionFailed struct {
	EventHeader
	StopReason  StopReason `json:"stop_reason"`
	Kind        Kind       `json:"error_kind"`
	Code        Code       `json:"error_code,omitzero"`
	Source      string     `json:"source,omitzero"`
	Steps       int        `json:"step_count"`
	Usage       Usage      `json:"usage"`
	CostNanoUSD int64      `json:"cost_nano_usd,omitzero"`
}

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
