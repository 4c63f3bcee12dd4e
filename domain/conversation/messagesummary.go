package conversation

import (
	"slices"

	"everstep/domain"
)

// A messageSummary is what a compaction has to know of a message, also of one
// that has left memory.
type messageSummary struct {
	index  int
	tokens int64
	// result is of a tool, assistant of the model, with calls or without.
	result, assistant, calls bool
	// trace and shown are as compilers see it.
	trace, shown bool
}

// Flags of a recorded summary: its lowest bits. They are carried from run to run
// and must never change.
const (
	flagResult = 1 << iota
	flagAssistant
	flagCalls
	flagTrace
	flagShown
	flagBits = 5
)

// recorded is the summary as one number.
func (m messageSummary) recorded() int64 {
	flags := int64(0)
	for bit, set := range [flagBits]bool{m.result, m.assistant, m.calls, m.trace, m.shown} {
		if set {
			flags |= 1 << bit
		}
	}
	return m.tokens<<flagBits | flags
}

func summaryFrom(index int, recorded int64) messageSummary {
	return messageSummary{
		index: index, tokens: recorded >> flagBits,
		result: recorded&flagResult != 0, assistant: recorded&flagAssistant != 0, calls: recorded&flagCalls != 0,
		trace: recorded&flagTrace != 0, shown: recorded&flagShown != 0,
	}
}

// withoutTraces returns recorded summaries with those of traces hidden, as their
// compiler hides them when their execution is over.
func withoutTraces(recorded []int64) []int64 {
	recorded = slices.Clone(recorded)
	for i, r := range recorded {
		if r&flagTrace != 0 {
			recorded[i] = r &^ flagShown
		}
	}
	return recorded
}

// without returns recorded summaries with one of them hidden, where it is among
// them.
func without(recorded []int64, i int) []int64 {
	if i >= 0 && i < len(recorded) {
		recorded = slices.Clone(recorded)
		recorded[i] &^= flagShown
	}
	return recorded
}

// known is the index of the first message that there is a summary of.
func (c *Conversation) known() int { return c.log.Base() - len(c.messageSummaries) }

// from is where the summaries of messages from an index on begin, as far as
// they are known.
func (c *Conversation) from(index int) int { return max(index, c.known()) }

// summary is that of a message, which has to be a known one.
func (c *Conversation) summary(index int) messageSummary {
	if base := c.log.Base(); index < base {
		return summaryFrom(index, c.messageSummaries[index-c.known()])
	}
	e := &c.log.From(index)[0]
	return messageSummary{
		index: index, tokens: domain.EstimateTokens(e.Message),
		result: e.Message.Role == domain.RoleTool, assistant: e.Message.Role == domain.RoleAssistant,
		calls: len(e.Message.ToolCalls) > 0, trace: e.Trace(),
		shown: e.Shown(c.compiler, c.chain) && (c.countsReplaced || e.Section != domain.SectionSummary || index >= c.edits.Summary-1),
	}
}

// standsFirst reports whether a message is the summary of the conversation that
// is in force.
func (c *Conversation) standsFirst(m messageSummary) bool { return m.index == c.edits.Summary-1 }

// shownTokens estimates what a message takes as it is shown.
func (c *Conversation) shownTokens(m messageSummary) int64 {
	if m.result && m.index < c.edits.Cleared {
		return noteTokens
	}
	return m.tokens
}
