package conversation

import (
	"everstep/domain"
	"everstep/domain/contract"
)

// CheckRewind refuses what no step of this conversation can have left. What has left memory is taken as it is told:
// kept reports whether all messages from an index on can still be read.
func (c Conversation) CheckRewind(r contract.RewindRequest, kept func(from int) bool) error {
	length, first := r.Log.Length, r.Edits.First()
	if length < 0 || length > c.Len() {
		return domain.Invalidf("log.length: is %d; the transcript has %d messages", length, c.Len())
	}
	if err := r.Edits.Check(length); err != nil {
		return err
	}
	if r.Inferences < 0 || r.Visible < 0 || r.Traces < 0 || r.Results < 0 || r.ResultTokens < 0 {
		return domain.Invalidf("inferences, visible, traces, results, result_tokens: may not be negative")
	}
	if chain, held := c.log.ChainAt(length); held && chain != r.Log.Digest {
		return domain.Invalidf("log.digest: is not that of the first %d messages; read the past anew", length)
	}
	if next, held := c.log.At(length); held && next.Message.ToolResult != nil {
		return domain.Invalidf("log.length: message %d is the result of a call before it; rewind to the end of a step", length)
	}
	if first < c.log.Base() && first < length && !kept(first) {
		return domain.CodedErrorf(domain.Denied, domain.CodeContextLost,
			"rewind: messages that the model was shown then have left memory, and no storage has them; rewind to a later step, or configure storage on the workers of the next agent")
	}
	if spans := r.Edits.WithTakenBack(domain.Span{From: length, To: c.Len()}).TakenBack; len(spans) > domain.MaxTakenBack {
		return domain.TooLargef("rewind: %d parts of the conversation were taken back already, and no more can be; fork the agent", domain.MaxTakenBack)
	}
	return nil
}

// WithRewound returns the conversation of which the model sees what it saw after a step, which was checked, and nothing of
// what was said since. The execution of a number goes on from there. The transcript stays.
func (c Conversation) WithRewound(r contract.RewindRequest, number int) Conversation {
	span := domain.Span{From: r.Log.Length, To: c.Len(), By: number, AfterStep: r.Origin.Step}
	c = c.back(r.Edits, span)
	c.chain, c.inferences = r.Origin.Chain(), r.Inferences
	if c.edits.First() >= c.log.Base() {
		return c.recounted()
	}
	c.shownTokens = r.ShownTokens
	return c
}

// WithCleared returns the conversation rewound to before all messages, those that were given too. The execution of a number
// goes on from there. It stays the same conversation: what was inferred in it counts.
func (c Conversation) WithCleared(number int) Conversation {
	return c.back(domain.Edits{}, domain.Span{To: c.Len(), By: number, Cleared: true}).recounted()
}

// back returns the conversation with the edits of an earlier time, and what was said since taken back.
func (c Conversation) back(edits domain.Edits, since domain.Span) Conversation {
	nothing := edits.First() >= since.From // had been said, or was still shown
	c.edits = edits.WithTakenBack(since)
	c.messageSummaries, c.newest, c.excess = nil, "", 0
	if nothing { // what was said has not to be kept in memory
		c.edits.Cleared, c.edits.Hidden = c.Len(), c.Len()
	}
	return c
}
