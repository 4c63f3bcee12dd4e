package domain

import (
	"encoding/json"
	"time"
)

// This file is how a saved state looks. The keys are a protocol: adding is free,
// changing is a migration. The one private struct of each type is written and
// read in one piece, so that a long state is not scanned once for each level.

// SchemaVersion is written at the root of each saved state. It rises only where
// an older reader would misread a newer state, which a new key does not.
const SchemaVersion = 1

type stateWire struct {
	SchemaVersion  int            `json:"schema_version"`
	AgentID        AgentID        `json:"agent_id"`
	ParentAgentID  AgentID        `json:"parent_agent_id,omitzero"`
	CreatedAt      time.Time      `json:"created_at"`
	UpdatedAt      time.Time      `json:"updated_at"`
	ExecutionCount int            `json:"execution_count"`
	LLMConfig      LLMConfig      `json:"llm_config,omitzero"`
	Context        contextWire    `json:"context"`
	Origin         *Origin        `json:"origin,omitempty"`
	Execution      *executionWire `json:"execution,omitempty"`
}

type contextWire struct {
	MessageStore   storeWire      `json:"message_store"`
	Metadata       Metadata       `json:"metadata,omitempty"`
	SystemPrompt   string         `json:"system_prompt,omitzero"`
	ResponseFormat ResponseFormat `json:"response_format,omitzero"`
}

type storeWire struct {
	Sections []sectionWire `json:"sections"`
}

type sectionWire struct {
	Name     string    `json:"name"`
	Messages []Message `json:"messages"`
}

type executionWire struct {
	ExecutionID          ExecutionID     `json:"execution_id"`
	Status               ExecutionStatus `json:"status"`
	StartedAt            time.Time       `json:"started_at"`
	CompletedAt          time.Time       `json:"completed_at,omitzero"`
	Origin               *Origin         `json:"origin,omitempty"`
	Budget               ExecutionBudget `json:"budget,omitzero"`
	ToolCalls            int64           `json:"tool_calls,omitzero"`
	Waited               time.Duration   `json:"waited,omitzero"`
	WaitingSince         time.Time       `json:"waiting_since,omitzero"`
	Prior                Spent           `json:"prior,omitzero"`
	Folded               Folded          `json:"folded,omitzero"`
	StepExecutions       []stepWire      `json:"step_executions,omitempty"`
	CurrentStepStartedAt time.Time       `json:"current_step_started_at,omitzero"`
	CurrentStep          *stepWire       `json:"current_step,omitempty"`
	Continuation         Continuation    `json:"continuation,omitzero"`
	Error                *Error          `json:"error,omitempty"`
}

// stepWire is a step and, where it is completed, a step execution: one flat
// object, which is also what users read.
type stepWire struct {
	Number int    `json:"number"`
	StepID StepID `json:"step_id"`
	// Type and FinishReason are written for readers and derived when read.
	Type           StepType        `json:"type,omitzero"`
	StartedAt      time.Time       `json:"started_at,omitzero"`
	CompletedAt    time.Time       `json:"completed_at,omitzero"`
	FinishReason   FinishReason    `json:"finish_reason,omitzero"`
	Model          string          `json:"model,omitzero"`
	Usage          Usage           `json:"usage"`
	CostNanoUSD    int64           `json:"cost_nano_usd,omitzero"`
	Tries          int             `json:"inference_tries,omitzero"`
	Lost           Usage           `json:"lost_usage,omitzero"`
	LostNanoUSD    int64           `json:"lost_nano_usd,omitzero"`
	Interrupted    bool            `json:"interrupted,omitzero"`
	ToolExecutions []ToolExecution `json:"tool_executions"`
	Errors         []Error         `json:"errors"`
	Input          StepInput       `json:"input,omitzero"`
	Output         []Message       `json:"output,omitempty"`
	Response       *Response       `json:"response,omitempty"`
	Continuation   Continuation    `json:"continuation,omitzero"`
}

// EncodeFull returns the state as JSON, its execution included.
func (s AgentState) EncodeFull() ([]byte, error) { return json.Marshal(s.wire()) }

// EncodeSession returns the state as JSON without its execution.
func (s AgentState) EncodeSession() ([]byte, error) {
	s.execution = nil
	return json.Marshal(s.wire())
}

// DecodeAgentState reads either form. What is unknown or malformed is an error
// that names the field; unknown keys are ignored.
func DecodeAgentState(data []byte) (AgentState, error) { return Decode[AgentState](data) }

// MarshalJSON writes the full form.
func (s AgentState) MarshalJSON() ([]byte, error) { return s.EncodeFull() }

// UnmarshalJSON reads either form.
func (s *AgentState) UnmarshalJSON(data []byte) error { return decodeWire(data, stateOf, s) }

// MarshalJSON writes the form that the state's context has.
func (c AgentContext) MarshalJSON() ([]byte, error) { return json.Marshal(c.wire()) }

// UnmarshalJSON reads it.
func (c *AgentContext) UnmarshalJSON(data []byte) error { return decodeWire(data, contextOf, c) }

// MarshalJSON writes the sections in order of creation.
func (s MessageStore) MarshalJSON() ([]byte, error) { return json.Marshal(s.wire()) }

// UnmarshalJSON reads them. A name that comes twice is an error.
func (s *MessageStore) UnmarshalJSON(data []byte) error { return decodeWire(data, storeOf, s) }

// MarshalJSON writes the form that the state's execution has.
func (e ExecutionState) MarshalJSON() ([]byte, error) { return json.Marshal(e.wire()) }

// UnmarshalJSON reads it.
func (e *ExecutionState) UnmarshalJSON(data []byte) error {
	return decodeWire(data, executionOfWire, e)
}

// MarshalJSON writes one flat object: the step's keys and the times.
func (s StepExecution) MarshalJSON() ([]byte, error) { return json.Marshal(s.wire()) }

// UnmarshalJSON reads it.
func (s *StepExecution) UnmarshalJSON(data []byte) error { return decodeWire(data, stepExecutionOf, s) }

// MarshalJSON writes the step, with its type and finish reason for readers.
func (s AgentStep) MarshalJSON() ([]byte, error) { return json.Marshal(s.wire()) }

// UnmarshalJSON reads it.
func (s *AgentStep) UnmarshalJSON(data []byte) error { return decodeWire(data, stepOf, s) }

// decodeWire reads a wire struct and turns it into a value. The target changes
// only where all went well.
func decodeWire[W, T any](data []byte, of func(W) (T, error), target *T) error {
	var wire W
	if err := DecodeInto(data, &wire); err != nil {
		return err
	}
	value, err := of(wire)
	if err != nil {
		return err
	}
	*target = value
	return nil
}
