package domain

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// An AgentState is all that is known of an agent: who it is and what it knows, across its executions, and,
// from the beginning of one until the next begins, that execution. It is a value: every change returns
// another one. Times and ids are arguments. Begin with NewAgentState.
type AgentState struct{ w stateWire }

// NewAgentState returns an agent that has done nothing yet; parent is zero unless it is a sub-agent.
func NewAgentState(id, parent AgentID, now time.Time, config LLMConfig) AgentState {
	return AgentState{stateWire{
		SchemaVersion: SchemaVersion, AgentID: id, ParentAgentID: parent,
		CreatedAt: utc(now), UpdatedAt: utc(now), LLMConfig: config.kept(),
	}}
}

// AgentID identifies the agent for its whole life.
func (s AgentState) AgentID() AgentID { return s.w.AgentID }

// ParentAgentID identifies the agent whose sub-agent this one is, if any.
func (s AgentState) ParentAgentID() (AgentID, bool) {
	return s.w.ParentAgentID, !s.w.ParentAgentID.IsZero()
}

// CreatedAt is when the agent was made.
func (s AgentState) CreatedAt() time.Time { return s.w.CreatedAt }

// UpdatedAt is when the state last changed.
func (s AgentState) UpdatedAt() time.Time { return s.w.UpdatedAt }

// ExecutionCount is how many executions have begun.
func (s AgentState) ExecutionCount() int { return s.w.ExecutionCount }

// LLMConfig decides the request that is sent to a model. It never holds a key: the worker does.
func (s AgentState) LLMConfig() LLMConfig { return s.w.LLMConfig.kept() }

// WithLLMConfig returns the state with another model or other settings of it.
func (s AgentState) WithLLMConfig(c LLMConfig, now time.Time) AgentState {
	s.w.LLMConfig = c.kept()
	return s.updated(now)
}

// Context is what the agent knows across its executions.
func (s AgentState) Context() AgentContext { return s.w.Context }

// Messages are a copy of those of the default section.
func (s AgentState) Messages() []Message { return s.store().Section(SectionMessages) }

// Metadata returns a copy of the notes of the context.
func (s AgentState) Metadata() Metadata { return s.w.Context.w.Metadata.clone() }

// SystemPrompt is the operator's instruction.
func (s AgentState) SystemPrompt() string { return s.w.Context.w.SystemPrompt }

// ResponseFormat says what an answer must be.
func (s AgentState) ResponseFormat() ResponseFormat {
	format := s.w.Context.w.ResponseFormat
	format.Schema = bytes.Clone(format.Schema)
	return format
}

// WithSystemPrompt returns the state with another instruction.
func (s AgentState) WithSystemPrompt(text string, now time.Time) AgentState {
	s.w.Context.w.SystemPrompt = text
	return s.updated(now)
}

// WithUserMessage returns the state with a user's text added, tagged with the execution in progress, if any.
func (s AgentState) WithUserMessage(id MessageID, text string, now time.Time) AgentState {
	m := UserMessage(text)
	m.ID, m.CreatedAt = id, utc(now)
	if s.HasActiveExecution() {
		m = Tag{ExecutionID: s.execution().ID()}.Apply(m)
	}
	s, _ = s.WithMessages(SectionMessages, []Message{m}, now) // a text cannot fail
	return s
}

// WithMessages returns the state with messages at the end of a section; empty is the default one. They
// join as they are: tag them before, and add many at once. It fails where one holds what is not JSON.
func (s AgentState) WithMessages(section string, messages []Message, now time.Time) (AgentState, error) {
	store, err := s.store().With(section, messages...)
	if err != nil {
		return s, invalid(err)
	}
	s.w.Context.w.MessageStore = store
	return s.updated(now), nil
}

// WithMetadata returns the state with a note in its context; nil takes the key away. It fails on what is no JSON.
func (s AgentState) WithMetadata(key string, value json.RawMessage, now time.Time) (AgentState, error) {
	metadata := Metadata{}
	maps.Copy(metadata, s.w.Context.w.Metadata)
	if metadata[key] = value; value == nil {
		delete(metadata, key)
	}
	kept, err := metadata.kept()
	if err != nil {
		return s, invalid(in("metadata", err))
	}
	s.w.Context.w.Metadata = kept
	return s.updated(now), nil
}

// WithResponseFormat returns the state with another form of answers. It fails where the form makes no sense.
func (s AgentState) WithResponseFormat(f ResponseFormat, now time.Time) (AgentState, error) {
	kept, err := f.kept()
	if err != nil {
		return s, invalid(err)
	}
	s.w.Context.w.ResponseFormat = kept
	return s.updated(now), nil
}

func (s AgentState) store() MessageStore { return s.w.Context.w.MessageStore }

func (s AgentState) updated(now time.Time) AgentState {
	s.w.UpdatedAt = utc(now)
	return s
}

// execution is the one in progress or the one that ended last; else its zero value, which has used nothing.
func (s AgentState) execution() ExecutionState {
	if s.w.Execution == nil {
		return ExecutionState{}
	}
	return *s.w.Execution
}

// changed returns the state with its execution changed, in a copy.
func (s AgentState) changed(now time.Time, change func(*executionWire)) AgentState {
	execution := *s.w.Execution
	change(&execution.w)
	s.w.Execution = &execution
	return s.updated(now)
}

// active fails unless an execution is in progress: nothing ever begins one quietly.
func (s AgentState) active(doing string) error {
	if s.HasActiveExecution() {
		return nil
	}
	return Errorf(Denied, "%s: no execution is in progress (status %s); begin one first", doing, s.Status())
}

// plus appends to a slice that is shared.
func plus[T any](shared []T, more ...T) []T { return append(slices.Clip(shared), more...) }

// An AgentContext is what an agent knows across its executions: messages, instruction, notes, form of answers.
type AgentContext struct{ w contextWire }

// MessageStore returns all messages, by section.
func (c AgentContext) MessageStore() MessageStore { return c.w.MessageStore }
