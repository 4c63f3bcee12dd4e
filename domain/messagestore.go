package domain

import (
	"cmp"
	"slices"
)

// The sections that have a meaning of their own.
const (
	// SectionMessages is the default section: the conversation.
	SectionMessages = "messages"
	// SectionSummary holds what stands for messages that are no longer shown.
	SectionSummary = "summary"
	// SectionBuffer holds messages on their way into the summary.
	SectionBuffer = "buffer"
)

// A MessageStore keeps messages in named sections, in order of their creation. It is a value: adding copies
// the section, so add many messages at once. The zero value is empty.
type MessageStore struct{ sections []section }

type section struct {
	Name     string    `json:"name"`
	Messages []Message `json:"messages"`
}

// Sections lists the names, in order of creation.
func (s MessageStore) Sections() []string {
	names := make([]string, len(s.sections))
	for i, section := range s.sections {
		names[i] = section.Name
	}
	return names
}

// Section returns a copy of the messages of a section; empty is the default one.
func (s MessageStore) Section(name string) []Message { return Clone(s.held(name)) }

func (s MessageStore) held(name string) []Message {
	if i := s.index(sectionName(name)); i >= 0 {
		return s.sections[i].Messages
	}
	return nil
}

// With returns the store with messages at the end of a section, new or not. It fails on what is not JSON.
func (s MessageStore) With(name string, messages ...Message) (MessageStore, error) {
	kept, err := keep(messages)
	if err != nil {
		return s, in("messages", err)
	}
	name = sectionName(name)
	sections := slices.Clone(s.sections)
	i := s.index(name)
	if i < 0 {
		return MessageStore{append(sections, section{name, orEmpty(kept)})}, nil
	}
	sections[i].Messages = plus(sections[i].Messages, kept...)
	return MessageStore{sections}, nil
}

func (s MessageStore) filtered(keep func(Message) bool) MessageStore {
	sections := slices.Clone(s.sections)
	for i := range sections {
		kept := slices.Clone(sections[i].Messages)
		sections[i].Messages = slices.DeleteFunc(kept, func(m Message) bool { return !keep(m) })
	}
	return MessageStore{sections}
}

// taken returns the store with the user messages that wait at its end tagged as those of the execution.
func (s MessageStore) taken(id ExecutionID) MessageStore {
	i := s.index(SectionMessages)
	if i < 0 {
		return s
	}
	sections := slices.Clone(s.sections)
	messages := slices.Clone(sections[i].Messages)
	for k, m := range slices.Backward(messages) {
		tag := TagOf(m)
		if m.Role != RoleUser || !tag.ExecutionID.IsZero() {
			break
		}
		tag.ExecutionID = id
		messages[k] = tag.Apply(m)
	}
	sections[i].Messages = messages
	return MessageStore{sections}
}

func (s MessageStore) index(name string) int {
	return slices.IndexFunc(s.sections, func(section section) bool { return section.Name == name })
}

func sectionName(name string) string { return cmp.Or(name, SectionMessages) }

// StoreOf returns messages of a transcript by section, not copied.
func StoreOf(entries []Entry) MessageStore {
	var store MessageStore
	for _, e := range entries {
		name := sectionName(e.Section)
		i := store.index(name)
		if i < 0 {
			i = len(store.sections)
			store.sections = append(store.sections, section{Name: name})
		}
		store.sections[i].Messages = append(store.sections[i].Messages, e.Message)
	}
	return store
}

// WithMessageStore returns the state with the messages that a workflow keeps beside it, for whoever looks.
func (s AgentState) WithMessageStore(store MessageStore) AgentState {
	s.MessageStore = store
	return s
}

// AddedSince lists the messages that an earlier state has not. Their Index means nothing.
func (s AgentState) AddedSince(earlier AgentState) []Entry {
	var added []Entry
	for _, section := range s.MessageStore.sections {
		before := len(earlier.MessageStore.held(section.Name))
		for _, m := range section.Messages[min(before, len(section.Messages)):] {
			added = append(added, Entry{Section: section.Name, Message: m})
		}
	}
	return added
}

// Extends reports whether the state has all messages of an earlier one: of each section it looks at both ends.
func (s AgentState) Extends(earlier AgentState) bool {
	for _, section := range earlier.MessageStore.sections {
		was, is := section.Messages, s.MessageStore.held(section.Name)
		if len(is) < len(was) {
			return false
		}
		if n := len(was); n > 0 && (!is[0].Equal(was[0]) || !is[n-1].Equal(was[n-1])) {
			return false
		}
	}
	return true
}
