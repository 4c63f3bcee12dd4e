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

// Extends reports whether the state has all messages of an earlier one, as they
// were, and at most others behind them. Of each section it looks at both ends.
func (s AgentState) Extends(earlier AgentState) bool {
	for _, section := range earlier.context.store.sections {
		was, is := section.messages, s.context.store.Section(section.name)
		if len(is) < len(was) {
			return false
		}
		if n := len(was); n > 0 && (!is[0].Equal(was[0]) || !is[n-1].Equal(was[n-1])) {
			return false
		}
	}
	return true
}
