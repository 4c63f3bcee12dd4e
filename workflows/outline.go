package workflows

import "everstep/domain"

// An outline is what a compaction has to know of a message, also of one that
// has left memory. What it decides must not depend on where a run began.
type outline struct {
	index  int
	tokens int64
	outlineFlags
}

type outlineFlags struct {
	// result is of a tool, assistant of the model, with calls or without.
	result, assistant, calls bool
	// trace and shown are as compilers see it.
	trace, shown bool
}

// Flags of a recorded outline: its lowest bits. They are carried from run to
// run and must never change.
const (
	outlineResult = 1 << iota
	outlineAssistant
	outlineCalls
	outlineTrace
	outlineShown
	outlineBits = 5
)

// outlineOf is an entry's.
func (s *session) outlineOf(e *domain.Entry) outline {
	return outline{
		index: e.Index, tokens: domain.EstimateTokens(e.Message), outlineFlags: outlineFlags{
			result: e.Message.Role == domain.RoleTool, assistant: e.Message.Role == domain.RoleAssistant,
			calls: len(e.Message.ToolCalls) > 0, trace: domain.TagOf(e.Message).Trace,
			shown: e.Shown(s.resolved.Definition.Compiler, s.state.Chain()),
		},
	}
}

// recorded is the outline as one number.
func (o outline) recorded() int64 {
	flags := int64(0)
	for bit, set := range []bool{o.result, o.assistant, o.calls, o.trace, o.shown} {
		if set {
			flags |= 1 << bit
		}
	}
	return o.tokens<<outlineBits | flags
}

func outlineFrom(index int, recorded int64) outline {
	return outline{
		index: index, tokens: recorded >> outlineBits, outlineFlags: outlineFlags{
			result: recorded&outlineResult != 0, assistant: recorded&outlineAssistant != 0, calls: recorded&outlineCalls != 0,
			trace: recorded&outlineTrace != 0, shown: recorded&outlineShown != 0,
		},
	}
}

// outlines are those of the messages from an index on, as far as they are known.
func (s *session) outlines(from int) []outline {
	var all []outline
	for i, recorded := range s.sketch {
		if index := s.known() + i; index >= from {
			all = append(all, outlineFrom(index, recorded))
		}
	}
	entries := s.log.From(from)
	for i := range entries {
		all = append(all, s.outlineOf(&entries[i]))
	}
	return all
}

// known is the index of the first message that there is an outline of.
func (s *session) known() int { return s.log.Base() - len(s.sketch) }

// sketched are the outlines that the next run needs of messages before its base.
func (s *session) sketched(base int) []int64 {
	if s.resolved == nil || !s.compacts() {
		return nil
	}
	var sketch []int64
	for _, o := range s.outlines(max(s.edits.Hidden, s.known())) {
		if o.index < base {
			sketch = append(sketch, o.recorded())
		}
	}
	return sketch
}

// forgetSketch hides the traces of executions that are over, as their compiler
// does.
func (s *session) forgetSketch() {
	for i, recorded := range s.sketch {
		if recorded&outlineTrace != 0 {
			s.sketch[i] = recorded &^ outlineShown
		}
	}
}
