package domain

import (
	"fmt"
	"slices"

	"everstep/domain/enum"
)

// Edits are what hides or replaces parts of a transcript, which never changes, from the model.
// All bounds are indexes of the transcript; Cleared and Hidden only ever grow, but for a rewind, which has them again as
// they were at its step.
type Edits struct {
	// Cleared: results of tools before this index are shown by a note.
	Cleared int `json:"cleared,omitzero"`
	// Hidden: the summary stands for messages before this index. It never parts a call from its result.
	Hidden int `json:"hidden,omitzero"`
	// Summary is the index of the summary, which is shown first, plus one; zero: none.
	Summary int `json:"summary,omitzero"`
	// Buffered: messages from Hidden up to here were recent when the summary was made.
	Buffered int `json:"buffered,omitzero"`
	// TakenBack are the messages that are not on the session's present path: rewinds and clears went on from before them. They
	// are in order, apart from each other, and must not be changed.
	TakenBack []Span `json:"taken_back,omitempty"`
}

// A Span is a range of messages that were taken back: From up to but not including To.
type Span struct {
	From int `json:"from"`
	To   int `json:"to"`
	// By is the number of the execution that goes on without them. It may not have begun yet.
	By int `json:"by_execution,omitzero"`
	// AfterStep is the last step that stays of the execution whose messages they are the last of; zero: none does.
	AfterStep int `json:"after_step,omitzero"`
	// Cleared says that a clear has taken them back: a rewind to before all messages.
	Cleared bool `json:"cleared,omitzero"`
}

// A Mark says why the model is not shown a message. A rewind or a clear changes it, and so does a compaction.
type Mark string

const (
	// MarkCleared: a clear has taken it back.
	MarkCleared Mark = "cleared"
	// MarkTakenBack: a rewind has.
	MarkTakenBack Mark = "taken_back"
	// MarkSummarised: the summary in force stands for it.
	MarkSummarised Mark = "summarised"
	// MarkSilent: it has nothing that a provider takes.
	MarkSilent Mark = "silent"
)

// UnmarshalText accepts the known marks only.
func (m *Mark) UnmarshalText(text []byte) error {
	return enum.Decode(m, text, "mark", MarkCleared, MarkTakenBack, MarkSummarised, MarkSilent)
}

// OffPath reports whether a message with this mark is no part of the session's present path, so that no other agent gets it.
func (m Mark) OffPath() bool { return m == MarkCleared || m == MarkTakenBack }

// Mark says why the next request does not hold an entry of the transcript; empty: it does, unless the definition's compiler
// leaves it out. It is the one answer to that: what compilers choose from, what is handed out and what people see as marked
// follow from it. A result is marked as its call is, which edits never part it from.
func (e Edits) Mark(entry *Entry) Mark {
	span, back := e.SpanOf(entry.Index)
	switch {
	case back && span.Cleared:
		return MarkCleared
	case back:
		return MarkTakenBack
	case entry.tags().silent:
		return MarkSilent
	case e.isSummary(entry):
		return ""
	case entry.Index < e.Hidden, sectionName(entry.Section) == SectionSummary && entry.Index < e.Summary:
		return MarkSummarised
	}
	return ""
}

// SpanOf finds the span that has taken a message back.
func (e Edits) SpanOf(index int) (Span, bool) {
	for _, s := range e.TakenBack {
		if s.From <= index && index < s.To {
			return s, true
		}
	}
	return Span{}, false
}

// TookBack reports whether a rewind or a clear has taken a message back.
func (e Edits) TookBack(index int) bool {
	_, back := e.SpanOf(index)
	return back
}

// Tail is the span that has taken back the last of the messages from an index up to another. It has taken all of them back where
// it begins no later than they do.
func (e Edits) Tail(from, to int) (span Span, back bool) {
	if from < to {
		span, back = e.SpanOf(to - 1)
	}
	return span, back
}

// GoesOnFrom reports whether the end of the newest execution, of which the messages are from one up to another, is where what
// comes next begins. rewound is the end to which a rewind has led the session since; nil: none has.
func (e Edits) GoesOnFrom(newest ExecutionID, steps, from, to int, rewound *Origin) bool {
	_, back := e.Tail(from, to)
	return !back && (rewound == nil || rewound.ExecutionID == newest && rewound.Step == steps)
}

// OnPath returns those of some entries that are on the session's present path.
func (e Edits) OnPath(entries []Entry) []Entry {
	if len(e.TakenBack) == 0 {
		return entries
	}
	return slices.DeleteFunc(slices.Clone(entries), func(entry Entry) bool { return e.Mark(&entry).OffPath() })
}

// CountCleared counts the messages that a clear has taken back.
func (e Edits) CountCleared() (n int) {
	for _, s := range e.TakenBack {
		if s.Cleared {
			n += s.To - s.From
		}
	}
	return n
}

// MaxTakenBack is how many spans may be taken back: each inference names them.
const MaxTakenBack = 256

// IsZero reports whether nothing is edited.
func (e Edits) IsZero() bool { return e.equal(Edits{}) }

// WithTakenBack returns the edits, which are of as many messages as come before a span, with the span taken back beside. It
// joins the one that ends where it begins, so that whoever rewinds again and again to the same place has one.
func (e Edits) WithTakenBack(span Span) Edits {
	switch n := len(e.TakenBack); {
	case span.From >= span.To:
	case n > 0 && e.TakenBack[n-1].To == span.From && e.TakenBack[n-1].Cleared == span.Cleared:
		e.TakenBack = slices.Clone(e.TakenBack)
		e.TakenBack[n-1].To, e.TakenBack[n-1].By = span.To, span.By
	default:
		e.TakenBack = plus(e.TakenBack, span)
	}
	return e
}

// AllCleared reports whether a clear is the last that became of so many messages: the next execution begins with none.
func (e Edits) AllCleared(length int) bool {
	span, ok := e.SpanOf(length - 1)
	return ok && span.Cleared
}

func (e Edits) equal(other Edits) bool {
	bounds := e.Cleared == other.Cleared && e.Hidden == other.Hidden && e.Summary == other.Summary && e.Buffered == other.Buffered
	return bounds && slices.Equal(e.TakenBack, other.TakenBack)
}

// First is the index of the first message of which the edits leave anything.
func (e Edits) First() int {
	if e.Summary > 0 {
		return min(e.Hidden, e.Summary-1)
	}
	return e.Hidden
}

// Check says which edit cannot be one of a transcript of so many messages.
func (e Edits) Check(length int) error {
	for _, bound := range []struct {
		field string
		value int
	}{{"cleared", e.Cleared}, {"hidden", e.Hidden}, {"summary", e.Summary}, {"buffered", e.Buffered}} {
		if bound.value < 0 || bound.value > length {
			return Invalidf("edits.%s: is %d; the transcript has %d messages, so give 0 to %d", bound.field, bound.value, length, length)
		}
	}
	if e.Buffered > 0 && e.Buffered < e.Hidden {
		return Invalidf("edits.buffered: is %d, before hidden, which is %d; the buffer begins where the hidden messages end", e.Buffered, e.Hidden)
	}
	if n := len(e.TakenBack); n > MaxTakenBack {
		return TooLargef("edits.taken_back: has %d spans; at most %d are allowed", n, MaxTakenBack)
	}
	before := 0
	for i, s := range e.TakenBack {
		if s.From < before || s.To <= s.From || s.To > length {
			return Invalidf("edits.taken_back[%d]: is from %d to %d; spans are in order, apart, and within the %d messages", i, s.From, s.To, length)
		}
		if s.By < 0 || s.By > MaxCount || s.AfterStep < 0 || s.AfterStep > MaxCount {
			return Invalidf("edits.taken_back[%d]: is by execution %d after step %d; give both from 0 to %d", i, s.By, s.AfterStep, MaxCount)
		}
		before = s.To
	}
	return nil
}

// Apply returns the entries that the edits leave, in the transcript's order, of which they are a suffix: what was cut off
// with a note of that, and without what says nothing or is a result without its call. No message that was given changes.
func (e Edits) Apply(entries []Entry) []Entry {
	left := make([]Entry, 0, len(entries))
	calls := callIndex{}
	for i, entry := range entries {
		place := calls.place(i, &entry.Message)
		if place == hidden {
			continue
		}
		section, shown := e.place(&entries[place])
		if !shown {
			continue
		}
		if entry.tags().cutOff {
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

// place is the section in which an entry is shown, if it is.
func (e Edits) place(entry *Entry) (section string, shown bool) {
	section = sectionName(entry.Section)
	switch {
	case e.Mark(entry) != "":
		return "", false
	case e.isSummary(entry):
		return SectionSummary, true
	case section != SectionSummary && entry.Index < e.Buffered:
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
