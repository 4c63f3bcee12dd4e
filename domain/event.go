package domain

import (
	"encoding/json"
	"everstep/domain/enum"
	"reflect"
	"time"
)

// An Event is something that happened in an execution. Each is a type of its own, which embeds an
// EventHeader, and holds ids, numbers and reasons, and nothing of what users, models or tools said.
type Event interface{ Head() EventHeader }

// An EventType names a kind of event; it is the event's Go type.
type EventType string

// EventTypeOf names the kind of an event.
func EventTypeOf(e Event) EventType { return EventType(reflect.TypeOf(e).Name()) }

// The types of events, in the order of an execution.
const (
	EventExecutionStarted      EventType = "AgentExecutionStarted"
	EventMessageWaiting        EventType = "MessageWaiting"
	EventMessageReceived       EventType = "MessageReceived"
	EventMessageUnsent         EventType = "MessageUnsent"
	EventPaused                EventType = "AgentExecutionPaused"
	EventResumed               EventType = "AgentExecutionResumed"
	EventHookCalled            EventType = "HookCalled"
	EventHookFailed            EventType = "HookFailed"
	EventStepStarted           EventType = "AgentStepStarted"
	EventInferenceRequested    EventType = "InferenceRequestStarted"
	EventInferenceReceived     EventType = "InferenceResponseReceived"
	EventToolCallStarted       EventType = "ToolCallStarted"
	EventToolCallWaiting       EventType = "ToolCallWaiting"
	EventToolCallRetried       EventType = "ToolCallRetried"
	EventToolCallCompleted     EventType = "ToolCallCompleted"
	EventToolCallBlocked       EventType = "ToolCallBlocked"
	EventApprovalRequested     EventType = "ToolApprovalRequested"
	EventApprovalDecided       EventType = "ToolApprovalDecided"
	EventQuestionAsked         EventType = "UserQuestionAsked"
	EventQuestionAnswered      EventType = "UserQuestionAnswered"
	EventToolOutcomeUnknown    EventType = "ToolOutcomeUnknown"
	EventToolOutcomeSettled    EventType = "ToolOutcomeSettled"
	EventStepCompleted         EventType = "AgentStepCompleted"
	EventTokenUsageReported    EventType = "TokenUsageReported"
	EventContinuationEvaluated EventType = "ContinuationEvaluated"
	EventStopSignalReceived    EventType = "StopSignalReceived"
	EventSubagentSpawning      EventType = "SubagentSpawning"
	EventSubagentGranted       EventType = "SubagentGranted"
	EventSubagentCompleted     EventType = "SubagentCompleted"
	EventMCPSessionOpened      EventType = "MCPSessionOpened"
	EventMCPSessionLost        EventType = "MCPSessionLost"
	EventHandedOver            EventType = "ConversationHandedOver"
	EventExecutionStopped      EventType = "AgentExecutionStopped"
	EventExecutionCompleted    EventType = "AgentExecutionCompleted"
	EventExecutionFailed       EventType = "AgentExecutionFailed"
)

// EventTypes lists every type.
func EventTypes() []EventType {
	types := make([]EventType, 0, len(events()))
	for _, none := range events() {
		types = append(types, EventTypeOf(none))
	}
	return types
}

// UnmarshalText accepts the known types only.
func (t *EventType) UnmarshalText(text []byte) error {
	return enum.Decode(t, text, "event type", EventTypes()...)
}

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

// Head returns the header.
func (h EventHeader) Head() EventHeader { return h }

// CheckCounts refuses an event of an execution, by its number, with what no execution can have spent.
func CheckCounts(e Event, execution int) error {
	var used, usedInStep Usage
	steps := 0
	switch e := e.(type) {
	case AgentExecutionStarted:
		if e.Number != execution {
			return Errorf(Invalid, "execution_number: is %d, and that of the execution %d", e.Number, execution)
		}
	case InferenceResponseReceived:
		used = e.Usage
	case AgentStepCompleted:
		used = e.Usage
	case TokenUsageReported:
		used, usedInStep = e.Usage, e.StepUsage
	case SubagentCompleted:
		used, steps = e.Usage, e.Steps
	case AgentExecutionCompleted:
		used, steps = e.Usage, e.Steps
	case AgentExecutionFailed:
		used, steps = e.Usage, e.Steps
	}
	if steps < 0 || steps > MaxCount {
		return Errorf(Invalid, "step_count: is %d; give one from 0 to %d", steps, MaxCount)
	}
	if err := usedInStep.Check(); err != nil {
		return Errorf(Invalid, "step_%s", err)
	}
	return used.Check()
}

// A RecordedEvent is an event as JSON: its fields, and its type under "type".
type RecordedEvent struct{ Event }

// MarshalJSON writes the event's fields beside its type.
func (r RecordedEvent) MarshalJSON() ([]byte, error) {
	if r.Event == nil {
		return nil, Errorf(Internal, "event: is none; give one of %s and so on", EventExecutionStarted)
	}
	fields, err := json.Marshal(r.Event)
	if err != nil {
		return nil, err
	}
	return append([]byte(`{"type":"`+EventTypeOf(r.Event)+`",`), fields[1:]...), nil
}

// UnmarshalJSON reads any type of event.
func (r *RecordedEvent) UnmarshalJSON(data []byte) error {
	var head struct {
		Type EventType `json:"type"`
	}
	if err := DecodeInto(data, &head); err != nil {
		return err
	}
	for _, none := range events() {
		if EventTypeOf(none) != head.Type {
			continue
		}
		event := reflect.New(reflect.TypeOf(none))
		if err := DecodeInto(data, event.Interface()); err != nil {
			return err
		}
		r.Event = event.Elem().Interface().(Event)
		return nil
	}
	return Errorf(Invalid, "event: has no type")
}

// events has the zero value of each type of event.
func events() []Event {
	return []Event{
		AgentExecutionStarted{}, MessageWaiting{}, MessageReceived{}, MessageUnsent{}, AgentExecutionPaused{}, AgentExecutionResumed{},
		HookCalled{}, HookFailed{}, AgentStepStarted{}, InferenceRequestStarted{}, InferenceResponseReceived{},
		ToolCallStarted{}, ToolCallWaiting{}, ToolCallRetried{}, ToolCallCompleted{}, ToolCallBlocked{},
		ToolApprovalRequested{}, ToolApprovalDecided{}, UserQuestionAsked{}, UserQuestionAnswered{}, ToolOutcomeUnknown{}, ToolOutcomeSettled{},
		AgentStepCompleted{}, TokenUsageReported{},
		ContinuationEvaluated{}, StopSignalReceived{}, SubagentSpawning{}, SubagentGranted{}, SubagentCompleted{}, MCPSessionOpened{}, MCPSessionLost{}, ConversationHandedOver{},
		AgentExecutionStopped{}, AgentExecutionCompleted{}, AgentExecutionFailed{},
	}
}
