package domain

import (
	"fmt"
	"iter"
	"slices"
)

// Edits are what hides or replaces parts of a transcript, which never changes, from the model.
// All bounds are indexes of the transcript; Cleared, Emptied and Hidden only ever grow, but for a rewind, which has them again as
// they were at its step.
type Edits struct {
	// Cleared: results of tools before this index are shown by a note.
	Cleared int `json:"cleared,omitzero"`
	// Emptied: a person had the conversation begin anew here; the agent reads nothing from before, by no tool either.
	Emptied int `json:"emptied,omitzero"`
	// Hidden: the summary stands for messages before this index. It never parts a call from its result.
	Hidden int `json:"hidden,omitzero"`
	// Summary is the index of the summary, which is shown first, plus one; zero: none.
	Summary int `json:"summary,omitzero"`
	// Buffered: messages from Hidden up to here were recent when the summary was made.
	Buffered int `json:"buffered,omitzero"`
	// TakenBack are the messages of which rewinds show nothing, in order, apart from each other. They must not be changed.
	TakenBack []Span `json:"taken_back,omitempty"`
}

// A Span is a range of messages: From up to but not including To.
type Span struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Holds reports whether a message is within the span.
func (s Span) Holds(index int) bool { return s.From <= index && index < s.To }

// MaxTakenBack is how many spans may be taken back: each inference names them.
const MaxTakenBack = 256

// IsZero reports whether nothing is edited.
func (e Edits) IsZero() bool { return e.Equal(Edits{}) }

// Equal reports whether two edits are the same.
func (e Edits) Equal(other Edits) bool {
	return e.Cleared == other.Cleared && e.Emptied == other.Emptied && e.Hidden == other.Hidden && e.Summary == other.Summary && e.Buffered == other.Buffered &&
		slices.Equal(e.TakenBack, other.TakenBack)
}

// WithTakenBack returns the edits, which are of as many messages as come before an index, where those from there up to
// another are taken back beside.
func (e Edits) WithTakenBack(from, to int) Edits {
	switch n := len(e.TakenBack); {
	case from >= to:
	case n > 0 && e.TakenBack[n-1].To == from:
		e.TakenBack = slices.Clone(e.TakenBack)
		e.TakenBack[n-1].To = to
	default:
		e.TakenBack = plus(e.TakenBack, Span{from, to})
	}
	return e
}

// TookBack reports whether a message was taken back.
func (e Edits) TookBack(index int) bool {
	return slices.ContainsFunc(e.TakenBack, func(s Span) bool { return s.Holds(index) })
}

// First is the index of the first message of which the edits leave anything.
func (e Edits) First() int {
	if e.Summary > 0 {
		return min(e.Hidden, e.Summary-1)
	}
	return e.Hidden
}

// kept returns the edits as a state keeps them.
func (e Edits) kept() Edits {
	e.TakenBack = nilIfEmpty(slices.Clone(e.TakenBack))
	return e
}

// Shown are the edits as far as they change what the model is shown.
func (e Edits) Shown() Edits {
	e.Emptied = 0
	return e
}

// Check says which edit cannot be one of a transcript of so many messages.
func (e Edits) Check(length int) error {
	for _, bound := range []struct {
		field string
		value int
	}{{"cleared", e.Cleared}, {"emptied", e.Emptied}, {"hidden", e.Hidden}, {"summary", e.Summary}, {"buffered", e.Buffered}} {
		if bound.value < 0 || bound.value > length {
			return Errorf(Invalid, "edits.%s: is %d; the transcript has %d messages, so give 0 to %d", bound.field, bound.value, length, length)
		}
	}
	if e.Buffered > 0 && e.Buffered < e.Hidden {
		return Errorf(Invalid, "edits.buffered: is %d, before hidden, which is %d; the buffer begins where the hidden messages end", e.Buffered, e.Hidden)
	}
	if n := len(e.TakenBack); n > MaxTakenBack {
		return Errorf(TooLarge, "edits.taken_back: has %d spans; at most %d are allowed", n, MaxTakenBack)
	}
	before := 0
	for i, s := range e.TakenBack {
		if s.From < before || s.To <= s.From || s.To > length {
			return Errorf(Invalid, "edits.taken_back[%d]: is from %d to %d; spans are in order, apart, and within the %d messages", i, s.From, s.To, length)
		}
		before = s.To
	}
	return nil
}

// Apply returns the entries that the edits leave, in the transcript's order, of which they are a suffix: what was cut off
// with a note of that, and without what says nothing. No message that was given changes; where all are left as they are
// the entries are returned themselves.
func (e Edits) Apply(entries []Entry) []Entry {
	if e.IsZero() && !slices.ContainsFunc(entries, func(entry Entry) bool { tags := entry.tags(); return tags.cutOff || tags.silent }) {
		return entries
	}
	left := make([]Entry, 0, len(entries))
	for i, section := range e.shown(entries) {
		entry := entries[i]
		tags := entry.tags()
		if tags.silent {
			continue
		}
		if tags.cutOff {
			entry.Message = entry.Message.asCutOff()
		}
		if section != sectionName(entry.Section) {
			entry.Section = section
		}
		if e.isSummary(&entry) {
			entry.tagged = new(tagged{}) // it stands for more than its execution's trace
		}
		if r := entry.Message.ToolResult; r != nil && entry.Index < e.Cleared {
			entry.Message.ToolResult, entry.Message.Parts = r.cleared(), nil
		}
		left = append(left, entry)
	}
	return left
}

// shown yields the positions of the entries that are left, and their sections. A result goes with its call.
func (e Edits) shown(entries []Entry) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		calls := callIndex{entries: entries, latest: -1}
		for i := range entries {
			m, place := &entries[i].Message, i
			if m.ToolResult != nil {
				place = calls.find(i, m.ToolResult.CallID)
			}
			if entries[i].calls() {
				calls.add(i)
			}
			if place < 0 {
				continue
			}
			if section, ok := e.place(&entries[place]); ok && !yield(i, section) {
				return
			}
		}
	}
}

// place is the section in which an entry is shown, if it is.
func (e Edits) place(entry *Entry) (section string, shown bool) {
	section = sectionName(entry.Section)
	switch {
	case e.isSummary(entry):
		return SectionSummary, true
	case entry.Index < e.Hidden, e.TookBack(entry.Index):
		return "", false
	case section == SectionSummary:
		return section, entry.Index >= e.Summary // the newest stands for those before it
	case entry.Index < e.Buffered:
		return SectionBuffer, true
	}
	return section, true
}

// isSummary reports whether an entry is the summary in force. A call or a result never is one.
func (e Edits) isSummary(entry *Entry) bool {
	return entry.Index == e.Summary-1 &&
		len(entry.Message.ToolCalls) == 0 && entry.Message.ToolResult == nil
}

// cleared returns the result with a note in place of its content, where that is shorter.
func (r *ToolResult) cleared() *ToolResult {
	note := fmt.Sprintf("[cleared: %d bytes]", len(r.Content))
	if len(note) >= len(r.Content) {
		return r
	}
	short := *r
	short.Content = note
	return &short
}
