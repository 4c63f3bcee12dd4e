package domain

// StoreOf returns a transcript's messages by section. They are those of the
// log, not copies.
func StoreOf(l Log) MessageStore {
	var store MessageStore
	for _, e := range l.Entries() {
		name := sectionName(e.Section)
		i := store.index(name)
		if i < 0 {
			i = len(store.sections)
			store.sections = append(store.sections, section{name: name})
		}
		store.sections[i].messages = append(store.sections[i].messages, e.Message)
	}
	return store
}

// WithMessageStore returns the state with other messages in its context. A
// workflow keeps the transcript beside the state and joins the two where
// somebody looks. Nothing happened to the agent, so UpdatedAt stays.
func (s AgentState) WithMessageStore(store MessageStore) AgentState {
	s.context.store = store
	return s
}

// AddedSince lists the messages that the state has and an earlier state, of
// which it was made, has not. Their Index means nothing.
func (s AgentState) AddedSince(earlier AgentState) []Entry {
	var added []Entry
	for _, section := range s.context.store.sections {
		before := len(earlier.context.store.Section(section.name))
		for _, m := range section.messages[min(before, len(section.messages)):] {
			added = append(added, Entry{Section: section.name, Message: m})
		}
	}
	return added
}
