package domain

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"everstep/domain/enum"
)

// An Event is something that happened in an execution. It holds ids, numbers and reasons, and nothing of what users, models or
// tools said. As JSON it is one flat object: its type under "type", the fields of its header, and those of its data.
type Event struct {
	Type EventType `json:"type"`
	EventHeader
	// Data is what events of the type have beside, a value of the type that EventType names; nil: nothing.
	Data any `json:"-"`
}

// An eventHead is an event as encoding/json writes and reads it: without its data.
type eventHead Event

// An EventHeader is what every event has.
type EventHeader struct {
	// Sequence counts the events of an execution from 1.
	Sequence      int64       `json:"sequence"`
	Time          time.Time   `json:"time"`
	AgentID       AgentID     `json:"agent_id"`
	ParentAgentID AgentID     `json:"parent_agent_id,omitzero"`
	ExecutionID   ExecutionID `json:"execution_id"`
	// StepID and Step are absent between steps.
	StepID StepID `json:"step_id,omitzero"`
	Step   int    `json:"step,omitzero"`
}

// An EventType names a kind of event. Each constant names the type of the event's data.
type EventType string

// The types of events, in the order of an execution.
const (
	// EventExecutionStarted: an execution began; going on after a crash or in a new run is none. AgentExecutionStarted.
	EventExecutionStarted EventType = "AgentExecutionStarted"
	// EventMessageWaiting: a message came while the execution was in progress, and has to wait. An EventMessageReceived or
	// EventMessageUnsent tells what became of it; in the execution that it begins, where it is left for that. MessageWaiting.
	EventMessageWaiting EventType = "MessageWaiting"
	// EventMessageReceived: a message that had to wait was read: it joined the conversation before the next step, or began the
	// execution. MessageReceived.
	EventMessageReceived EventType = "MessageReceived"
	// EventMessageUnsent: a message that waited was taken back. MessageUnsent.
	EventMessageUnsent EventType = "MessageUnsent"
	// EventPaused: nothing new starts until an EventResumed. It has no data.
	EventPaused EventType = "AgentExecutionPaused"
	// EventResumed: a pause is over. It has no data.
	EventResumed EventType = "AgentExecutionResumed"
	// EventHookCalled: a hook that is an activity was called. The others have no event: they take no time. HookEvent.
	EventHookCalled EventType = "HookCalled"
	// EventHookFailed: a hook failed, which ends the execution. HookEvent.
	EventHookFailed EventType = "HookFailed"
	// EventStepStarted: a step began, and nothing stopped it before. It has no data.
	EventStepStarted EventType = "AgentStepStarted"
	// EventInferenceRequested: the model is asked. An EventInferenceReceived closes it. InferenceRequestStarted.
	EventInferenceRequested EventType = "InferenceRequestStarted"
	// EventInferenceReceived: the model answered, or surely will not. InferenceResponseReceived.
	EventInferenceReceived EventType = "InferenceResponseReceived"
	// EventToolCallStarted: a tool call began. An EventToolCallCompleted closes each. EventCall.
	EventToolCallStarted EventType = "ToolCallStarted"
	// EventToolCallWaiting: a call that was made waits, and is made or asked about again: at a time that its tool has named, or
	// while its other side goes on with it. ToolCallWaiting.
	EventToolCallWaiting EventType = "ToolCallWaiting"
	// EventToolCallRetried: a call failed and is made again. ToolCallRetried.
	EventToolCallRetried EventType = "ToolCallRetried"
	// EventToolCallCompleted: a tool call that began has ended. ToolCallCompleted.
	EventToolCallCompleted EventType = "ToolCallCompleted"
	// EventToolCallBlocked: a call was not begun. ToolCallBlocked.
	EventToolCallBlocked EventType = "ToolCallBlocked"
	// EventWaitOpened: a tool call waits for a person. That of a question comes after the call's EventToolCallStarted, that of an
	// unknown outcome before its EventToolCallCompleted. WaitOpened.
	EventWaitOpened EventType = "WaitOpened"
	// EventWaitClosed: the wait is over: by somebody's answer, or because its time was. A stop ends a wait without this event. A
	// call that a standing approval lets run, or of which its tool's Verify knows the outcome, did not wait. An outcome may be
	// that of a call of an earlier step or execution. WaitClosed.
	EventWaitClosed EventType = "WaitClosed"
	// EventStepCompleted: a step ended. AgentStepCompleted.
	EventStepCompleted EventType = "AgentStepCompleted"
	// EventTokenUsageReported: what the execution has used so far. It comes after each step. TokenUsageReported.
	EventTokenUsageReported EventType = "TokenUsageReported"
	// EventContinuationEvaluated: whether the loop goes on; between steps only where it stops. ContinuationEvaluated.
	EventContinuationEvaluated EventType = "ContinuationEvaluated"
	// EventStopSignalReceived: something asked to stop. StopEvent.
	EventStopSignalReceived EventType = "StopSignalReceived"
	// EventSubagentSpawning: a child execution is about to begin. SubagentSpawning.
	EventSubagentSpawning EventType = "SubagentSpawning"
	// EventSubagentGranted: a child execution that has asked for more of the budget is answered. SubagentGranted.
	EventSubagentGranted EventType = "SubagentGranted"
	// EventSubagentCompleted: a child execution has ended. SubagentCompleted.
	EventSubagentCompleted EventType = "SubagentCompleted"
	// EventMCPSessionOpened: the agent has a session with a stateful MCP server, on one worker. MCPSessionEvent.
	EventMCPSessionOpened EventType = "MCPSessionOpened"
	// EventMCPSessionLost: the session with a server is gone. MCPSessionEvent.
	EventMCPSessionLost EventType = "MCPSessionLost"
	// EventHandedOver: another agent answers from the next step on. ConversationHandedOver.
	EventHandedOver EventType = "ConversationHandedOver"
	// EventExecutionStopped: the loop is over, with the reason that counts. It comes once. StopEvent.
	EventExecutionStopped EventType = "AgentExecutionStopped"
	// EventExecutionCompleted: the execution has ended, completed or stopped. ExecutionEnded.
	EventExecutionCompleted EventType = "AgentExecutionCompleted"
	// EventExecutionFailed: the execution has ended because of an error. ExecutionEnded.
	EventExecutionFailed EventType = "AgentExecutionFailed"
)

// An eventKind is a type of event with the type of its data.
type eventKind struct {
	name EventType
	// read decodes the data; nil: events of the type have none.
	read func(fields []byte) (any, error)
}

// eventKinds is the table of the types of events, in the order of an execution.
func eventKinds() []eventKind {
	return []eventKind{
		{EventExecutionStarted, eventData[AgentExecutionStarted]},
		{EventMessageWaiting, eventData[MessageWaiting]},
		{EventMessageReceived, eventData[MessageReceived]},
		{EventMessageUnsent, eventData[MessageUnsent]},
		{EventPaused, nil},
		{EventResumed, nil},
		{EventHookCalled, eventData[HookEvent]},
		{EventHookFailed, eventData[HookEvent]},
		{EventStepStarted, nil},
		{EventInferenceRequested, eventData[InferenceRequestStarted]},
		{EventInferenceReceived, eventData[InferenceResponseReceived]},
		{EventToolCallStarted, eventData[EventCall]},
		{EventToolCallWaiting, eventData[ToolCallWaiting]},
		{EventToolCallRetried, eventData[ToolCallRetried]},
		{EventToolCallCompleted, eventData[ToolCallCompleted]},
		{EventToolCallBlocked, eventData[ToolCallBlocked]},
		{EventWaitOpened, eventData[WaitOpened]},
		{EventWaitClosed, eventData[WaitClosed]},
		{EventStepCompleted, eventData[AgentStepCompleted]},
		{EventTokenUsageReported, eventData[TokenUsageReported]},
		{EventContinuationEvaluated, eventData[ContinuationEvaluated]},
		{EventStopSignalReceived, eventData[StopEvent]},
		{EventSubagentSpawning, eventData[SubagentSpawning]},
		{EventSubagentGranted, eventData[SubagentGranted]},
		{EventSubagentCompleted, eventData[SubagentCompleted]},
		{EventMCPSessionOpened, eventData[MCPSessionEvent]},
		{EventMCPSessionLost, eventData[MCPSessionEvent]},
		{EventHandedOver, eventData[ConversationHandedOver]},
		{EventExecutionStopped, eventData[StopEvent]},
		{EventExecutionCompleted, eventData[ExecutionEnded]},
		{EventExecutionFailed, eventData[ExecutionEnded]},
	}
}

func eventData[T any](fields []byte) (any, error) {
	var data T
	err := DecodeInto(fields, &data)
	return data, err
}

// EventTypes lists every type.
func EventTypes() []EventType {
	kinds := eventKinds()
	types := make([]EventType, len(kinds))
	for i, kind := range kinds {
		types[i] = kind.name
	}
	return types
}

// UnmarshalText accepts the known types only.
func (t *EventType) UnmarshalText(text []byte) error {
	return enum.Decode(t, text, "event type", EventTypes()...)
}

// MarshalJSON writes the event as one flat object.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.Type == "" {
		return nil, Errorf(Internal, "event: has no type; give one of %s and so on", EventExecutionStarted)
	}
	object, err := json.Marshal(eventHead(e))
	if err != nil || e.Data == nil {
		return object, err
	}
	data, err := json.Marshal(e.Data)
	if err != nil || len(data) == len("{}") {
		return object, err
	}
	return slices.Concat(object[:len(object)-1], []byte{','}, data[1:]), nil
}

// Size is about how many bytes the event takes when encoded: its header is as long in all, its data is not.
func (e Event) Size() int {
	const header = 330
	data, _ := json.Marshal(e.Data) // what cannot be encoded is refused where the event is
	return header + len(data)
}

// UnmarshalJSON reads any type of event. Fields of no event are passed over.
func (e *Event) UnmarshalJSON(object []byte) (err error) {
	var head eventHead
	if err := DecodeInto(object, &head); err != nil {
		return err
	}
	kinds := eventKinds()
	at := slices.IndexFunc(kinds, func(kind eventKind) bool { return kind.name == head.Type })
	if at < 0 {
		return Invalidf("event: has no type")
	}
	if read := kinds[at].read; read != nil {
		if head.Data, err = read(object); err != nil {
			return err
		}
	}
	*e = Event(head)
	return nil
}

// An AgentExecutionStarted is how an execution began.
type AgentExecutionStarted struct {
	Number int `json:"execution_number"`
	// Origin is the execution that this one continues.
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
	return Texts(s, func(text string, _ bool) string { return Shorten(strings.ToValidUTF8(text, "\uFFFD"), 128) })
}

// A MessageWaiting is a message that has to wait.
type MessageWaiting struct {
	MessageID MessageID `json:"message_id"`
	Bytes     int       `json:"bytes"`
	// Queued says that it waits to begin an execution of its own, and not for the next step.
	Queued bool `json:"queued,omitzero"`
	// By is who has sent it.
	By Program `json:"sent_by,omitzero"`
}

// A MessageReceived is a message that was read after it had to wait.
type MessageReceived struct {
	MessageID MessageID `json:"message_id"`
	// Began says that it began the execution.
	Began bool `json:"began,omitzero"`
	// Bytes is its length, and Milliseconds how long it has waited.
	Bytes        int   `json:"bytes"`
	Milliseconds int64 `json:"waited_ms"`
	// By is who has sent it.
	By Program `json:"sent_by,omitzero"`
}

// A MessageUnsent is a message that was taken back.
type MessageUnsent struct {
	MessageID MessageID `json:"message_id"`
}

// A HookEvent is a hook that was called, or has failed.
type HookEvent struct {
	Hook    string  `json:"hook"`
	Trigger Trigger `json:"trigger"`
	// Kind and Code say what failed.
	Kind Kind `json:"error_kind,omitzero"`
	Code Code `json:"error_code,omitzero"`
}

// An InferenceRequestStarted is a request to the model.
type InferenceRequestStarted struct {
	Model string `json:"model"`
	// Attempts counts the tries of this inference that were made before.
	Attempts int `json:"attempts,omitzero"`
	// Summary means that it sums up a part of the conversation.
	Summary bool `json:"summary,omitzero"`
}

// An InferenceResponseReceived is how an inference ended.
type InferenceResponseReceived struct {
	FinishReason FinishReason `json:"finish_reason,omitzero"`
	Usage        Usage        `json:"usage"`
	ToolCalls    int          `json:"tool_calls,omitzero"`
	// Kind and Code say what failed; both are empty where an answer came.
	Kind Kind `json:"error_kind,omitzero"`
	Code Code `json:"error_code,omitzero"`
}

// An EventCall is the call that an event is about. The data of other events of calls embed it.
type EventCall struct {
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	Tool            string          `json:"tool"`
}

// Call returns the call.
func (c EventCall) Call() EventCall { return c }

// A ToolCallWaiting is a call that waits for a time or for its other side.
type ToolCallWaiting struct {
	EventCall
	// Until is the time; zero: the other side goes on, and Status is what it said of that, where it said anything.
	Until  time.Time `json:"until,omitzero"`
	Status string    `json:"status,omitzero"`
}

// A ToolCallRetried is a call that is made again.
type ToolCallRetried struct {
	EventCall
	// Attempt is the coming one, and Kind and Code say why the one before failed.
	Attempt int  `json:"attempt"`
	Kind    Kind `json:"error_kind"`
	Code    Code `json:"error_code,omitzero"`
}

// A ToolCallCompleted is how a call ended: Kind and Code are empty where it did not fail.
type ToolCallCompleted struct {
	EventCall
	Milliseconds int64 `json:"duration_ms"`
	Kind         Kind  `json:"error_kind,omitzero"`
	Code         Code  `json:"error_code,omitzero"`
}

// A ToolCallBlocked is a call that was not begun: Code is blocked where a hook forbade it.
type ToolCallBlocked struct {
	EventCall
	Code Code `json:"error_code"`
	// Source is the hook that forbade it.
	Source string `json:"source,omitzero"`
}

// A WaitOpened is a call that waits for a person.
type WaitOpened struct {
	EventCall
	Kind WaitKind `json:"kind"`
	// Digest names the exact arguments of the call, and ExpiresAt is zero where the wait has no end.
	Digest    Digest    `json:"digest"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// A WaitClosed is what became of a wait.
type WaitClosed struct {
	EventCall
	Kind    WaitKind `json:"kind"`
	Digest  Digest   `json:"digest,omitzero"`
	Verdict Verdict  `json:"verdict"`
	By      string   `json:"by,omitzero"`
	// Standing is the standing approval by which the call runs, or that was given with the answer.
	Standing ToolExecutionID `json:"standing_approval,omitzero"`
	// Edited is the digest of what runs instead, where the person has changed the arguments.
	Edited Digest `json:"edited,omitzero"`
}

// An AgentStepCompleted is how a step ended.
type AgentStepCompleted struct {
	StepType     StepType     `json:"step_type"`
	Usage        Usage        `json:"usage"`
	CostNanoUSD  int64        `json:"cost_nano_usd,omitzero"`
	FinishReason FinishReason `json:"finish_reason,omitzero"`
	Milliseconds int64        `json:"duration_ms"`
	ToolCalls    int          `json:"tool_calls"`
	Errors       int          `json:"errors"`
}

// A TokenUsageReported is what the execution has used so far, and what the step has of that.
type TokenUsageReported struct {
	Usage           Usage `json:"usage"`
	CostNanoUSD     int64 `json:"cost_nano_usd,omitzero"`
	StepUsage       Usage `json:"step_usage,omitzero"`
	StepCostNanoUSD int64 `json:"step_cost_nano_usd,omitzero"`
}

// A ContinuationEvaluated is the decision whether the loop goes on.
type ContinuationEvaluated struct {
	Stops bool `json:"stops"`
	// Reason is that of the signal that counts, where there is one.
	Reason StopReason `json:"stop_reason,omitzero"`
	// Overridden counts the signals that a request to continue has overridden.
	Overridden int `json:"overridden,omitzero"`
}

// A StopEvent is a signal to stop: one that was received, or the one that counts.
type StopEvent struct {
	Reason StopReason `json:"stop_reason"`
	Source string     `json:"source,omitzero"`
}

// A SubagentSpawning is a child execution that is about to begin.
type SubagentSpawning struct {
	Subagent string  `json:"subagent"`
	ChildID  AgentID `json:"child_agent_id"`
	// ToolExecutionID is the call, and Grant is what the child may use of the budget.
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	Grant           ExecutionBudget `json:"grant,omitzero"`
}

// Call returns the call that starts the child.
func (s SubagentSpawning) Call() EventCall { return EventCall{ToolExecutionID: s.ToolExecutionID} }

// A SubagentGranted is the answer to a child execution that has asked for more of the budget.
type SubagentGranted struct {
	Subagent string  `json:"subagent"`
	ChildID  AgentID `json:"child_agent_id"`
	// More is how much more of the limit it may use, in the limit's unit; zero: it was refused. Need is what it has asked for
	// at least, and Grant what it may use in all.
	Limit Limit           `json:"limit"`
	More  int64           `json:"more"`
	Need  int64           `json:"need"`
	Grant ExecutionBudget `json:"grant"`
}

// A SubagentCompleted is how a child execution ended.
type SubagentCompleted struct {
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

// An MCPSessionEvent is a session with a stateful MCP server, on a worker. Of one that is gone, Since is when it was opened and
// Why why it is gone.
type MCPSessionEvent struct {
	Server string    `json:"server"`
	Worker string    `json:"worker,omitzero"`
	Since  time.Time `json:"since,omitzero"`
	Why    string    `json:"why,omitzero"`
}

// A ConversationHandedOver is who answers from the next step on.
type ConversationHandedOver struct {
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	// Agent is the one that does, by the name that the one before has for it.
	Agent string `json:"agent"`
}

// An ExecutionEnded is how an execution ended.
type ExecutionEnded struct {
	// Status is absent of one that failed: Kind and Code say of that what failed, and Source where.
	Status      ExecutionStatus `json:"status,omitzero"`
	StopReason  StopReason      `json:"stop_reason"`
	Kind        Kind            `json:"error_kind,omitzero"`
	Code        Code            `json:"error_code,omitzero"`
	Source      string          `json:"source,omitzero"`
	Steps       int             `json:"step_count"`
	Usage       Usage           `json:"usage"`
	CostNanoUSD int64           `json:"cost_nano_usd,omitzero"`
}
