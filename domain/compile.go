package domain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// CompileEdited returns the messages that a compiler shows to the model. sections are for SelectedSections;
// chain is the execution and those it goes on from, whose traces CurrentTrace keeps.
//
// As long as the edits stay the same, what WholeConversation shows of a longer transcript begins with what it shows of a
// shorter one: providers' prompt caches are found by that.
//
// A call and its results stay or go together, where the assistant message does; a result without its call
// is left out. Time and memory grow with the number of entries, which are the transcript's suffix from
// wherever the edits hide nothing more.
func CompileEdited(c Compiler, sections []string, entries []Entry, chain []ExecutionID, edits Edits) []Message {
	entries = edits.Apply(entries)
	order := shownSections(c, sections, entries)
	ranks := make([]int, len(entries))
	calls := callIndex{}
	for i := range entries {
		rank := hidden
		if place := calls.place(i, &entries[i].Message); place == i && entries[i].Shown(c, chain) {
			rank = slices.Index(order, c.shownIn(entries[i].Section))
		} else if place != i && place != hidden {
			rank = ranks[place]
		}
		ranks[i] = rank
	}
	shown := make([]Message, 0, len(entries))
	for rank := range order {
		for i := range entries {
			if ranks[i] == rank {
				shown = append(shown, entries[i].Message)
			}
		}
	}
	return shown
}

// Compile returns the messages that the model was sent, byte for byte, by one of our compilers, from the whole
// transcript. sections and chain are as for CompileEdited.
func (i StepInput) Compile(sections []string, entries []Entry, chain []ExecutionID) []Message {
	return CompileEdited(i.Compiler, sections, entries[:min(i.Messages, len(entries))], chain, i.Edits)
}

// hidden is the rank, and the place, of what is not shown; slices.Index returns it too.
const hidden = -1

// shownIn is the section among whose messages one of a section is shown. The whole conversation is in the order in which
// it was said: a section that came after all others would end each request with what the next one has further on.
func (c Compiler) shownIn(section string) string {
	section = sectionName(section)
	if c.OrDefault() == WholeConversation && section != SectionSummary && section != SectionBuffer {
		return SectionMessages
	}
	return section
}

// shownSections lists the sections that are shown, in the order of inference.
func shownSections(c Compiler, selected []string, entries []Entry) []string {
	if c.OrDefault() == WholeConversation {
		return []string{SectionSummary, SectionBuffer, SectionMessages}
	}
	if c == SelectedSections {
		names := make([]string, len(selected))
		for i, name := range selected {
			names[i] = sectionName(name)
		}
		return names
	}
	var names []string
	for i := range entries {
		if name := sectionName(entries[i].Section); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	last := []string{SectionMessages, SectionBuffer, SectionSummary} // the others are at -1
	slices.SortStableFunc(names, func(a, b string) int { return slices.Index(last, b) - slices.Index(last, a) })
	return names
}

// A callIndex has the index of the newest message so far that made the call of an id: ids repeat.
type callIndex map[string]int

// place is the index of the message by which it is decided where one is shown: of a result that which made its call, of any
// other itself. It is hidden for a result without its call. Ask for each message once, in their order.
func (x callIndex) place(i int, m *Message) int {
	place := i
	if m.ToolResult != nil {
		var made bool
		if place, made = x[m.ToolResult.CallID]; !made {
			place = hidden
		}
	}
	for _, call := range m.ToolCalls {
		x[call.ID] = i
	}
	return place
}

// A Compiler chooses what of the transcript the model sees; it never prunes it. The zero value is
// WholeConversation. A worker can have others, by name.
type Compiler string

const (
	// WholeConversation shows all that was said on the session's present path, whatever way executions ended.
	WholeConversation Compiler = "whole_conversation"
	// CurrentTrace shows the conversation, but of traces (what the agent did on its way to its
	// answers) only those of this execution and of those it goes on from.
	CurrentTrace Compiler = "current_trace"
	// SelectedSections shows the sections that the definition lists, in its order.
	SelectedSections Compiler = "selected_sections"
)

// Compilers lists every compiler.
func Compilers() []Compiler { return []Compiler{WholeConversation, CurrentTrace, SelectedSections} }

// OrDefault is the compiler, where the zero value is by its name.
func (c Compiler) OrDefault() Compiler { return cmp.Or(c, WholeConversation) }

// ShowsTraces reports whether the traces of earlier executions are shown too.
func (c Compiler) ShowsTraces() bool { return c != CurrentTrace }

// Builtin reports whether the compiler is one of ours; others are a worker's.
func (c Compiler) Builtin() bool { return c == "" || slices.Contains(Compilers(), c) }

// lowerNames is what names of compilers and of trusted values are written with.
const lowerNames = "abcdefghijklmnopqrstuvwxyz0123456789_"

// MaxCompilerName is the longest name of a compiler, in bytes.
const MaxCompilerName = 64

// UnmarshalText accepts any name of lower-case letters, digits and underscores: the worker knows which exist.
func (c *Compiler) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = WholeConversation
		return nil
	}
	if len(text) > MaxCompilerName {
		return fmt.Errorf("compiler: the name has %d bytes; at most %d are allowed", len(text), MaxCompilerName)
	}
	if strings.Trim(string(text), lowerNames) != "" {
		return fmt.Errorf("compiler: %q is no name of one; use lower-case letters, digits and '_'", string(text))
	}
	*c = Compiler(text)
	return nil
}

// Shown reports whether a compiler shows the entry in a chain of executions, edits aside.
func (e *Entry) Shown(c Compiler, chain []ExecutionID) bool {
	tags := e.tags()
	return !tags.silent && (c.ShowsTraces() || !tags.trace || slices.Contains(chain, tags.execution))
}

// Tokens estimates what the entry takes where it is shown.
func (e *Entry) Tokens() int64 {
	switch tags := e.tags(); {
	case tags.silent:
		return 0
	case tags.cutOff:
		return EstimateTokens(e.Message.asCutOff())
	}
	return EstimateTokens(e.Message)
}

// Trace reports whether the message is trace.
func (e *Entry) Trace() bool { return e.tags().trace }

// CutOffNote is the last line, for the model, of what was cut off: the text of an answer that a stop, a limit, its length
// or a filter has ended. The transcript has the text without it.
const CutOffNote = "[This answer was cut off here.]"

// asCutOff returns a message that was cut off as it is shown: its text, with the note. What a provider would want back of
// its reasoning is good only when whole, so none is.
func (m Message) asCutOff() Message {
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p Part) bool { return p.Type == PartReasoning })
	last := len(m.Parts) - 1
	if last < 0 || m.Parts[last].Type != PartText {
		m.Parts = append(m.Parts, Part{Type: PartText, Text: CutOffNote})
		return m
	}
	m.Parts[last].Text = strings.TrimRight(m.Parts[last].Text, " \n") + "\n\n" + CutOffNote
	return m
}

// silent reports whether nothing of a model's message would be left to send: it has no calls, no text, and no reasoning
// that a provider wants back. Providers refuse messages without content.
func (m Message) silent(cutOff bool) bool {
	if m.Role != RoleAssistant || len(m.ToolCalls) > 0 {
		return false
	}
	return !slices.ContainsFunc(m.Parts, func(p Part) bool {
		switch p.Type {
		case PartText:
			return strings.TrimSpace(p.Text) != ""
		case PartReasoning:
			return !cutOff && (p.Signature != "" || len(p.Opaque) > 0)
		case PartImage, PartFile, PartAudio:
		}
		return true
	})
}
