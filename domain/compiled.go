package domain

import "slices"

// A Compiled is what [WholeConversation] shows a model of a transcript. Kept from one inference to the next, it costs what was said
// between them, however long the transcript is. The zero value has shown nothing.
type Compiled struct {
	// model names whom it is for, and edits are those of the transcript: of another model, or with others, all is compiled anew.
	model string
	edits Edits
	// first is the index of the first entry that was compiled, and upTo names the transcript as it was then.
	first    int
	upTo     LogRef
	messages []Message
	tokens   int64
}

// Messages are those that are shown. They must not be changed: a longer transcript begins with the same.
func (c Compiled) Messages() []Message { return slices.Clip(c.messages) }

// Tokens estimates what they take.
func (c Compiled) Tokens() int64 { return c.tokens }

// Size is about how many bytes it takes beside the transcript, whose texts it shares.
func (c Compiled) Size() int { return 136 * len(c.messages) }

// Extend returns what is shown of entries as [CompileEdited] chooses and a filter leaves it, which looks at each message for itself.
// What comes after what c has is all that is looked at, where c is of the same entries up to there. Then c may not be extended
// again: the room behind its messages is taken.
func (c Compiled) Extend(model string, entries []Entry, edits Edits, filter func([]Message) []Message) Compiled {
	added, ok := c.since(model, entries, edits)
	if !ok {
		c, added = Compiled{model: model, edits: edits}, entries
	}
	if len(added) == 0 {
		return c
	}
	shown := filter(CompileEdited(WholeConversation, nil, added, nil, edits))
	for _, m := range shown {
		c.tokens += EstimateTokens(m)
	}
	last := entries[len(entries)-1]
	c.messages, c.first, c.upTo = append(c.messages, shown...), entries[0].Index, LogRef{last.Index + 1, last.Chain}
	return c
}

// since are the entries after those that were compiled. It reports false where these are not the first of the entries, and where
// what comes after them is not shown after them, or not without them: a result goes with its call.
func (c Compiled) since(model string, entries []Entry, edits Edits) ([]Entry, bool) {
	done := c.upTo.Length - c.first
	if done <= 0 || done > len(entries) || model != c.model || !edits.equal(c.edits) ||
		entries[0].Index != c.first || entries[done-1].Index != c.upTo.Length-1 || entries[done-1].Chain != c.upTo.Digest {
		return nil, false
	}
	added := entries[done:]
	calls := callIndex{}
	for i := range added {
		place := calls.place(i, &added[i].Message)
		if place == hidden {
			return nil, false
		}
		if section, shown := edits.place(&added[place]); shown && WholeConversation.shownIn(section) != SectionMessages {
			return nil, false
		}
	}
	return added, true
}
