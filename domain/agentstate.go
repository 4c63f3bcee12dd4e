package domain

import (
	"encoding/json"
	"slices"
	"time"
)

// An AgentState is all that is known of an agent: who it is and what it knows,
// across its executions, and, from the beginning of one execution until the
// next begins, that execution. It is a value: every change returns another one
// and leaves its receiver as it was. Times and ids are arguments. The zero
// value belongs to no agent; begin with NewAgentState.
type AgentState struct {
	id             AgentID
	parent         AgentID
	createdAt      time.Time
	updatedAt      time.Time
	executionCount int
	config         LLMConfig
	context        AgentContext
	// origin is what the next execution goes on from.
	origin *Origin
	// execution is nil between executions. What it points to never changes.
	execution *ExecutionState
}

// NewAgentState returns the state of an agent that has done nothing yet. parent
// is zero unless it is a sub-agent.
func NewAgentState(id, parent AgentID, now time.Time, config LLMConfig) AgentState {
	return AgentState{id: id, parent: parent, createdAt: utc(now), updatedAt: utc(now), config: config.kept()}
}

// AgentID identifies the agent for its whole life.
func (s AgentState) AgentID() AgentID { return s.id }

// ParentAgentID identifies the agent whose sub-agent this one is, if any.
func (s AgentState) ParentAgentID() (AgentID, bool) { return s.parent, !s.parent.IsZero() }

// CreatedAt is when the agent was made.
func (s AgentState) CreatedAt() time.Time { return s.createdAt }

// UpdatedAt is when the state last changed.
func (s AgentState) UpdatedAt() time.Time { return s.updatedAt }

// ExecutionCount is how many executions have begun.
func (s AgentState) ExecutionCount() int { return s.executionCount }

// LLMConfig decides the requests to the model.
func (s AgentState) LLMConfig() LLMConfig { return s.config.kept() }

// WithLLMConfig returns the state with another model or other settings of it.
func (s AgentState) WithLLMConfig(c LLMConfig, now time.Time) AgentState {
	s.config = c.kept()
	return s.updated(now)
}

// Context is what the agent knows across its executions.
func (s AgentState) Context() AgentContext { return s.context }

// Messages are those of the default section. The caller must not change them.
func (s AgentState) Messages() []Message { return s.context.store.Section(SectionMessages) }

// Metadata returns a copy of the notes of the context.
func (s AgentState) Metadata() Metadata { return s.context.Metadata() }

// SystemPrompt is the operator's instruction.
func (s AgentState) SystemPrompt() string { return s.context.SystemPrompt() }

// ResponseFormat says what an answer must be.
func (s AgentState) ResponseFormat() ResponseFormat { return s.context.ResponseFormat() }

// WithSystemPrompt returns the state with another instruction.
func (s AgentState) WithSystemPrompt(text string, now time.Time) AgentState {
	s.context = s.context.WithSystemPrompt(text)
	return s.updated(now)
}

// WithUserMessage returns the state with a user's text at the end of the
// conversation, tagged with the execution in progress, if any.
func (s AgentState) WithUserMessage(id MessageID, text string, now time.Time) AgentState {
	m := UserMessage(text)
	m.ID, m.CreatedAt = id, utc(now)
	if s.HasActiveExecution() {
		m = Tag{ExecutionID: s.execution.id}.Apply(m)
	}
	s.context, _ = s.context.WithMessages(SectionMessages, m) // a text cannot fail
	return s.updated(now)
}

// WithMessages returns the state with messages at the end of a section; the
// empty name is the default section's. They join as they are: tag them before.
// Adding copies the section, so add many at once. It fails where a message
// holds what is not JSON.
func (s AgentState) WithMessages(section string, messages []Message, now time.Time) (AgentState, error) {
	context, err := s.context.WithMessages(section, messages...)
	return s.withContext(context, now, err)
}

// WithMetadata returns the state with a note in its context. A nil value takes
// the key away. It fails where the value is not JSON.
func (s AgentState) WithMetadata(key string, value json.RawMessage, now time.Time) (AgentState, error) {
	context, err := s.context.WithMetadata(key, value)
	return s.withContext(context, now, err)
}

// WithResponseFormat returns the state with another form of answers. It fails
// where the format makes no sense.
func (s AgentState) WithResponseFormat(f ResponseFormat, now time.Time) (AgentState, error) {
	context, err := s.context.WithResponseFormat(f)
	return s.withContext(context, now, err)
}

func (s AgentState) withContext(c AgentContext, now time.Time, err error) (AgentState, error) {
	if err != nil {
		return s, &Error{Kind: Invalid, Message: err.Error()}
	}
	s.context = c
	return s.updated(now), nil
}

func (s AgentState) updated(now time.Time) AgentState {
	s.updatedAt = utc(now)
	return s
}

// changed returns the state with its execution changed. The execution that the
// receiver points to stays as it was.
func (s AgentState) changed(now time.Time, change func(*ExecutionState)) AgentState {
	execution := *s.execution
	change(&execution)
	s.execution = &execution
	return s.updated(now)
}

// active fails unless an execution is in progress: nothing ever begins one
// quietly.
func (s AgentState) active(doing string) error {
	if s.HasActiveExecution() {
		return nil
	}
	return Errorf(Denied, "%s: no execution is in progress (status %s); begin one first", doing, s.Status())
}

// plus appends to a slice that is shared.
func plus[T any](shared []T, more ...T) []T { return append(slices.Clip(shared), more...) }
