package conversation

import (
	"iter"
	"slices"

	"everstep/domain"
)

// A messageSummary is what a compaction has to know of a message, also of one
// that has left memory: as it is recorded, flags in the lowest bits and above
// them the tokens.
type messageSummary struct {
	index    int
	recorded int64
}

// Flags of a summary. They are carried from run to run.
const (
	flagResult    = 1 << iota // of a tool
	flagAssistant             // of the model
	flagCalls                 // asks for tools
	flagTrace                 // as compilers see it, as is:
	flagShown
	flagBits = 5
)

func (m messageSummary) is(flag int64) bool { return m.recorded&flag != 0 }

func (m messageSummary) tokens() int64 { return m.recorded >> flagBits }

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
		return messageSummary{index, c.messageSummaries[index-c.known()]}
	}
	e := &c.log.From(index)[0]
	shown := e.Shown(c.compiler, c.chain) && !c.edits.TookBack(index) && (e.Section != domain.SectionSummary || index >= c.edits.Summary-1)
	m := messageSummary{index, e.Tokens() << flagBits}
	for bit, set := range [flagBits]bool{
		e.Message.Role == domain.RoleTool, e.Message.Role == domain.RoleAssistant, len(e.Message.ToolCalls) > 0, e.Trace(), shown,
	} {
		if set {
			m.recorded |= 1 << bit
		}
	}
	return m
}

// shown yields the summaries of messages from an index on that the model is
// shown, in the log's order, and what they take. The conversation's own summary is
// shown even where the execution that made it is over.
func (c *Conversation) shown(index int) iter.Seq2[messageSummary, int64] {
	return func(yield func(messageSummary, int64) bool) {
		for i := c.from(index); i < c.Len(); i++ {
			m := c.summary(i)
			if (c.isSummaryInForce(m) || m.is(flagShown)) && !yield(m, c.tokensShown(m)) {
				return
			}
		}
	}
}

// isSummaryInForce reports whether a message is the summary of the conversation that
// is in force.
func (c *Conversation) isSummaryInForce(m messageSummary) bool { return m.index == c.edits.Summary-1 }

// tokensShown estimates what a message takes as it is shown.
func (c *Conversation) tokensShown(m messageSummary) int64 {
	if m.is(flagResult) && m.index < c.edits.Cleared {
		return noteTokens
	}
	return m.tokens()
}
