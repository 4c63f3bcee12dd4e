package domain

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// An AgentState is all that is known of an agent: who it is and what it knows, across its executions, and,
// from the beginning of one until the next begins, that execution. It is a value: every change returns
// another one. Times and ids are arguments. Begin with NewAgentState.
type AgentState struct {
	SchemaVersion int `json:"schema_version"`
	// Build is that of the program which saved the state; empty: the state was not saved for people.
	Build string `json:"build,omitzero"`
	// AgentID identifies the agent for its whole life, ParentAgentID the one whose sub-agent it is, if any.
	AgentID       AgentID   `json:"agent_id"`
	ParentAgentID AgentID   `json:"parent_agent_id,omitzero"`
	CreatedAt     time.Time `json:"created_at"`
	// UpdatedAt is when the state last changed.
	UpdatedAt time.Time `json:"updated_at"`
	// ExecutionCount is how many executions have begun.
	ExecutionCount int `json:"execution_count"`
	// LLMConfig decides the request that is sent to a model. It never holds a key: the worker does.
	LLMConfig LLMConfig `json:"llm_config,omitzero"`
	Context   `json:"context"`
	// SessionTrusted are the trusted values that each execution of the session has; see Trusted.
	SessionTrusted Trusted `json:"trusted,omitempty"`
	// Origin is the step that the next execution continues; nil: it begins anew.
	Origin *Origin `json:"origin,omitempty"`
	// UnknownOutcomes are the agent's calls of unknown outcome, the oldest first. One that is resolved stays until the model
	// has been told and an execution after that one begins.
	UnknownOutcomes []Wait `json:"outcome_unknown,omitempty"`
	// StandingApprovals are the session's, the oldest first, those too that were revoked.
	StandingApprovals []StandingApproval `json:"standing_approvals,omitempty"`
	// SessionAccount is without the execution in progress, nil where the session has no budget; see Session.
	SessionAccount *Holder `json:"session_account,omitempty"`
	// Execution is the one in progress or the one that ended last. It is zero before the first.
	Execution ExecutionState `json:"execution,omitzero"`
}

// An AgentContext is what an agent knows across its executions: messages, notes, the operator's instruction, and what an
// answer must be.
type AgentContext struct {
	MessageStore   MessageStore   `json:"message_store"`
	Metadata       Metadata       `json:"metadata,omitempty"`
	SystemPrompt   string         `json:"system_prompt,omitzero"`
	ResponseFormat ResponseFormat `json:"response_format,omitzero"`
}

// Context names the context within an AgentState, whose own fields are read as the state's.
type Context = AgentContext

// NewAgentState returns an agent that has done nothing yet; parent is zero unless it is a sub-agent.
func NewAgentState(id, parent AgentID, now time.Time, config LLMConfig) AgentState {
	return AgentState{
		SchemaVersion: SchemaVersion, AgentID: id, ParentAgentID: parent,
		CreatedAt: now, UpdatedAt: now, LLMConfig: config.kept(),
	}
}

// Clone returns a state in whose values one may write, for whoever is free in what he does with it, as hooks are. Steps and
// messages are shared all the same.
func (s AgentState) Clone() AgentState {
	steps, current := s.Execution.Steps, s.Execution.CurrentStep
	s.Execution.Steps, s.Execution.CurrentStep = nil, nil
	s = Clone(s)
	s.Execution.Steps, s.Execution.CurrentStep = steps, current
	return s
}

// WithLLMConfig returns the state with another model or other settings of it.
func (s AgentState) WithLLMConfig(c LLMConfig, now time.Time) AgentState {
	s.LLMConfig = c.kept()
	return s.updated(now)
}

// Messages are a copy of those of the default section.
func (s AgentState) Messages() []Message { return s.MessageStore.Section(SectionMessages) }

// WithSystemPrompt returns the state with another instruction.
func (s AgentState) WithSystemPrompt(text string, now time.Time) AgentState {
	s.SystemPrompt = text
	return s.updated(now)
}

// WithUserMessage returns the state with a user's text added, tagged with the execution in progress, if any.
func (s AgentState) WithUserMessage(id MessageID, text string, now time.Time) AgentState {
	m := UserMessage(text)
	m.ID, m.CreatedAt = id, now
	if s.HasActiveExecution() {
		m = Tag{ExecutionID: s.Execution.ID}.Apply(m)
	}
	s, _ = s.WithMessages(SectionMessages, []Message{m}, now) // a text cannot fail
	return s
}

// WithMessages returns the state with messages at the end of a section; empty is the default one. They
// join as they are: tag them before, and add many at once. It fails where one holds what is not JSON.
func (s AgentState) WithMessages(section string, messages []Message, now time.Time) (AgentState, error) {
	store, err := s.MessageStore.With(section, messages...)
	if err != nil {
		return s, invalid(err)
	}
	s.MessageStore = store
	return s.updated(now), nil
}

// WithMetadata returns the state with a note in its context; nil takes the key away. It fails on what is no JSON.
func (s AgentState) WithMetadata(key string, value json.RawMessage, now time.Time) (AgentState, error) {
	metadata := Metadata{}
	maps.Copy(metadata, s.Metadata)
	if metadata[key] = value; value == nil {
		delete(metadata, key)
	}
	kept, err := keep(metadata)
	if err != nil {
		return s, invalid(in("metadata", err))
	}
	s.Metadata = kept
	return s.updated(now), nil
}

// WithResponseFormat returns the state with another form of answers. It fails where the form makes no sense.
func (s AgentState) WithResponseFormat(f ResponseFormat, now time.Time) (AgentState, error) {
	kept, err := keep(f)
	if err != nil {
		return s, invalid(in("response_format", err))
	}
	s.ResponseFormat = kept
	return s.updated(now), nil
}

func (s AgentState) updated(now time.Time) AgentState {
	s.UpdatedAt = now
	return s
}

// active fails unless an execution is in progress: nothing ever begins one quietly.
func (s AgentState) active(doing string) error {
	if s.HasActiveExecution() {
		return nil
	}
	return Deniedf("%s: no execution is in progress (status %s); begin one first", doing, s.Status())
}

// sortedKeys are those of a map, in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// plus appends to a slice that is shared.
func plus[T any](shared []T, more ...T) []T { return append(slices.Clip(shared), more...) }
