package domain

import (
	"encoding/json"
	"maps"
)

// An AgentContext is what an agent knows across its executions: its messages,
// its instruction, its notes, and the form that its answers take. The
// instruction and the form go with each request and are never messages. The
// zero value is empty.
type AgentContext struct {
	store        MessageStore
	systemPrompt string
	metadata     Metadata
	format       ResponseFormat
}

// MessageStore returns all messages, by section.
func (c AgentContext) MessageStore() MessageStore { return c.store }

// SystemPrompt is the operator's instruction.
func (c AgentContext) SystemPrompt() string { return c.systemPrompt }

// Metadata returns a copy of the notes.
func (c AgentContext) Metadata() Metadata { return maps.Clone(c.metadata) }

// ResponseFormat says what an answer must be.
func (c AgentContext) ResponseFormat() ResponseFormat { return c.format }

// WithMessages returns the context with messages at the end of a section; see
// MessageStore.With.
func (c AgentContext) WithMessages(section string, messages ...Message) (AgentContext, error) {
	store, err := c.store.With(section, messages...)
	c.store = store
	return c, err
}

// WithSystemPrompt returns the context with another instruction.
func (c AgentContext) WithSystemPrompt(text string) AgentContext {
	c.systemPrompt = text
	return c
}

// WithMetadata returns the context with a note. A nil value takes the key away.
// It fails where the value is not JSON.
func (c AgentContext) WithMetadata(key string, value json.RawMessage) (AgentContext, error) {
	metadata := make(Metadata, len(c.metadata)+1)
	maps.Copy(metadata, c.metadata)
	if value == nil {
		delete(metadata, key)
	} else {
		written, err := canonical(value)
		if err != nil {
			return c, in("metadata", in(key, err))
		}
		metadata[key] = written
	}
	c.metadata = metadata
	if len(metadata) == 0 {
		c.metadata = nil
	}
	return c, nil
}

// WithResponseFormat returns the context with another form of answers. It fails
// where the type is unknown, or the schema is missing or not JSON.
func (c AgentContext) WithResponseFormat(f ResponseFormat) (AgentContext, error) {
	if f.Type != "" {
		if err := new(FormatType).UnmarshalText([]byte(f.Type)); err != nil {
			return c, in("response_format", in("type", err))
		}
	}
	if err := new(OutputMode).UnmarshalText([]byte(f.Mode)); err != nil {
		return c, in("response_format", in("mode", err))
	}
	if f.Type == FormatSchema && (f.Name == "" || len(f.Schema) == 0) {
		return c, in("response_format", Errorf(Invalid, "json_schema needs a name and a schema"))
	}
	if len(f.Schema) == 0 {
		f.Schema = nil
	} else {
		schema, err := canonical(f.Schema)
		if err != nil {
			return c, in("response_format", in("schema", err))
		}
		f.Schema = schema
	}
	c.format = f
	return c, nil
}
