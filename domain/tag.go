package domain

import (
	"encoding/json"
	"maps"

	"github.com/google/uuid"
)

// The metadata keys of a tag. They are recorded in every transcript.
const (
	keyAgentID         = "agent_id"
	keyExecutionID     = "execution_id"
	keyStepID          = "step_id"
	keyToolExecutionID = "tool_execution_id"
	keyIsTrace         = "is_trace"
	keyIsCutOff        = "is_cut_off"
)

// A Tag says which agent, execution, step and tool call a message came from, and whether it is trace: what
// an agent did on its way to an answer. It is written into the metadata when the message joins. A user's
// message carries its execution and nothing else.
type Tag struct {
	AgentID         AgentID
	ExecutionID     ExecutionID
	StepID          StepID
	ToolExecutionID ToolExecutionID
	Trace           bool
	// CutOff says that the message is what had come of an answer that was cut off.
	CutOff bool
}

// Apply returns a copy of the message with this tag in place of any other.
func (t Tag) Apply(m Message) Message {
	metadata := make(Metadata, len(m.Metadata)+6)
	maps.Copy(metadata, m.Metadata)
	metadata.setID(keyAgentID, t.AgentID.UUID)
	metadata.setID(keyExecutionID, t.ExecutionID.UUID)
	metadata.setID(keyStepID, t.StepID.UUID)
	metadata.setID(keyToolExecutionID, t.ToolExecutionID.UUID)
	metadata.setFlag(keyIsTrace, t.Trace)
	metadata.setFlag(keyIsCutOff, t.CutOff)
	if len(metadata) == 0 {
		metadata = nil
	}
	m.Metadata = metadata
	return m
}

// TagOf reads a message's tag. What is absent, or is no id, is zero.
func TagOf(m Message) Tag {
	return Tag{
		AgentID:         AgentID{m.Metadata.id(keyAgentID)},
		ExecutionID:     ExecutionID{m.Metadata.id(keyExecutionID)},
		StepID:          StepID{m.Metadata.id(keyStepID)},
		ToolExecutionID: ToolExecutionID{m.Metadata.id(keyToolExecutionID)},
		Trace:           isSet(m, keyIsTrace),
		CutOff:          isSet(m, keyIsCutOff),
	}
}

func isSet(m Message, flag string) bool { return string(m.Metadata[flag]) == "true" }

// setFlag has a key that is true, or none.
func (m Metadata) setFlag(key string, on bool) {
	delete(m, key)
	if on {
		m[key] = json.RawMessage("true")
	}
}

func (m Metadata) setID(key string, id uuid.UUID) {
	if id == uuid.Nil {
		delete(m, key)
		return
	}
	m[key] = json.RawMessage(`"` + id.String() + `"`)
}

// id reads an id in the one form in which Apply writes it.
func (m Metadata) id(key string) uuid.UUID {
	raw := m[key]
	if len(raw) != 38 || raw[0] != '"' || raw[37] != '"' {
		return uuid.Nil
	}
	id, err := uuid.ParseBytes(raw[1:37])
	if err != nil {
		return uuid.Nil
	}
	return id
}
