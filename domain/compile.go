package domain

import (
	"fmt"
	"slices"
)

// CompileEdited returns the messages that a compiler shows to the model. sections are for SelectedSections;
// chain is the execution and those it goes on from, whose traces CurrentTrace keeps.
//
// A call and its results stay or go together, where the assistant message does; a result without its call
// is left out. Time and memory grow with the number of entries, which are the transcript's suffix from
// wherever the edits hide nothing more.
func CompileEdited(c Compiler, sections []string, entries []Entry, chain []ExecutionID, edits Edits) []Message {
	entries = edits.Apply(entries)
	order := shownSections(c, sections, entries)
	ranks := make([]int32, len(entries))
	counts := make([]int, len(order)+1)
	calls := callIndex{entries: entries, latest: -1}
	for i := range entries {
		m, tags := &entries[i].Message, entries[i].tags()
		switch {
		case m.ToolResult != nil:
			ranks[i] = hidden
			if call := calls.find(i, m.ToolResult.CallID); call >= 0 {
				ranks[i] = ranks[call]
			}
		case c != AllSections && c != SelectedSections && tags.trace && !slices.Contains(chain, tags.execution):
			ranks[i] = hidden
		default:
			ranks[i] = int32(slices.Index(order, sectionName(entries[i].Section))) //nolint:gosec // a handful of sections
		}
		if entries[i].calls() {
			calls.add(i)
		}
		if ranks[i] != hidden {
			counts[ranks[i]+1]++
		}
	}
	for k := 1; k < len(counts); k++ {
		counts[k] += counts[k-1]
	}
	shown := make([]Message, counts[len(order)])
	for i, rank := range ranks {
		if rank != hidden {
			shown[counts[rank]] = entries[i].Message
			counts[rank]++
		}
	}
	return shown
}

// Compile returns the messages that the model was sent, byte for byte, by one of our compilers, from the whole
// transcript. sections and chain are as for CompileEdited.
func (i StepInput) Compile(sections []string, entries []Entry, chain []ExecutionID) []Message {
	return CompileEdited(i.Compiler, sections, entries[:min(i.Messages, len(entries))], chain, i.Edits)
}

// hidden is the rank of what is not shown; slices.Index returns it too.
const hidden = -1

// shownSections lists the sections that are shown, in the order of inference.
func shownSections(c Compiler, selected []string, entries []Entry) []string {
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
	return inferenceOrder(names)
}

// A callIndex finds the nearest message before a result that made its call, since call ids repeat. Nearly
// always that is the latest with calls; only a transcript in another order costs a map.
type callIndex struct {
	entries []Entry
	latest  int
	// next is the call whose result is due where results are in call order.
	next int
	byID map[string]int
}

func (x *callIndex) add(i int) {
	x.latest, x.next = i, 0
	if x.byID != nil {
		x.remember(i)
	}
}

func (x *callIndex) remember(i int) {
	for _, call := range x.entries[i].Message.ToolCalls {
		x.byID[call.ID] = i
	}
}

// find returns the index of the message that made the call which the entry at i answers, or -1.
func (x *callIndex) find(i int, callID string) int {
	if x.latest >= 0 {
		calls := x.entries[x.latest].Message.ToolCalls
		if x.next < len(calls) && calls[x.next].ID == callID {
			x.next++
			return x.latest
		}
		if slices.ContainsFunc(calls, func(call ToolCall) bool { return call.ID == callID }) {
			return x.latest
		}
	}
	if x.byID == nil {
		x.byID = make(map[string]int)
		for k := range x.entries[:i] {
			if x.entries[k].calls() {
				x.remember(k)
			}
		}
	}
	if call, ok := x.byID[callID]; ok {
		return call
	}
	return -1
}

// A Compiler chooses what of the transcript the model sees; it never prunes it. The zero value is
// CurrentTrace. A worker can have others, by name.
type Compiler string

const (
	// CurrentTrace shows the conversation, but of traces (what the agent did on its way to its
	// answers) only those of this execution and of those it goes on from.
	CurrentTrace Compiler = "current_trace"
	// AllSections shows everything.
	AllSections Compiler = "all_sections"
	// SelectedSections shows the sections that the definition lists, in its order.
	SelectedSections Compiler = "selected_sections"
)

// Compilers lists every compiler.
func Compilers() []Compiler { return []Compiler{CurrentTrace, AllSections, SelectedSections} }

// ShowsTraces reports whether the traces of earlier executions are shown too.
func (c Compiler) ShowsTraces() bool { return c != CurrentTrace && c != "" }

// Builtin reports whether the compiler is one of ours; others are a worker's.
func (c Compiler) Builtin() bool { return c == "" || slices.Contains(Compilers(), c) }

// MaxCompilerName is the longest name of a compiler, in bytes.
const MaxCompilerName = 64

// UnmarshalText accepts any name of lower-case letters, digits and underscores: the worker knows which exist.
func (c *Compiler) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = CurrentTrace
		return nil
	}
	if len(text) > MaxCompilerName {
		return fmt.Errorf("compiler: the name has %d bytes; at most %d are allowed", len(text), MaxCompilerName)
	}
	for _, r := range string(text) {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return fmt.Errorf("compiler: %q is no name of one; use lower-case letters, digits and '_'", string(text))
		}
	}
	*c = Compiler(text)
	return nil
}

// Shown reports whether a compiler shows the entry in a chain of executions, edits aside.
func (e *Entry) Shown(c Compiler, chain []ExecutionID) bool {
	if c.ShowsTraces() {
		return true
	}
	tags := e.tags()
	return !tags.trace || slices.Contains(chain, tags.execution)
}

func (e *Entry) calls() bool { return e.Message.Role == RoleAssistant && len(e.Message.ToolCalls) > 0 }

// Trace reports whether the message is trace.
func (e *Entry) Trace() bool { return e.tags().trace }
