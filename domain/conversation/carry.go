package conversation

import (
	"everstep/domain"
	"everstep/domain/contract"
)

// FromCarry takes the conversation over that the run before has handed on. chain
// is that of the execution in progress, or of the one that ended last.
func FromCarry(carry contract.CarriedConversation, compiler domain.Compiler, chain []domain.ExecutionID) (Conversation, error) {
	log, err := domain.LogAt(carry.Base, carry.Chain).Join(carry.Entries...)
	if err != nil {
		return Conversation{}, err
	}
	return Conversation{
		log: log, edits: carry.Edits, messageSummaries: carry.TokenIndex, newest: carry.NewestRole, compiler: compiler, chain: chain,
		inferences: carry.Inferences, shownTokens: carry.ShownTokens, window: carry.Window, excess: carry.Excess,
	}, nil
}

// At returns the conversation of which a log has all messages until a point, as edits showed them to the newest of a
// chain of executions. So many inferences were completed by then. What a provider has taught of its model is not known.
func At(log domain.Log, edits domain.Edits, compiler domain.Compiler, chain []domain.ExecutionID, inferences int) Conversation {
	return Conversation{log: log, edits: edits, compiler: compiler, chain: chain, inferences: inferences}.recounted()
}

// recounted returns the conversation with what its messages in memory come to.
func (c Conversation) recounted() Conversation {
	c.shownTokens = shownTokens{}
	for m, tokens := range c.shown(c.edits.Hidden) {
		// The summary outlives its execution.
		if m.is(flagTrace) && !c.isSummaryInForce(m) {
			c.Traces += tokens
		} else {
			c.Visible += tokens
		}
		if m.is(flagResult) && m.index >= c.edits.Cleared {
			c.Results++
			c.ResultTokens += tokens
		}
	}
	return c
}

// WithBase returns the conversation that holds the given messages alone; of those
// before only the reference is known.
func (c Conversation) WithBase(before domain.LogRef, entries []domain.Entry) (Conversation, error) {
	log, err := domain.LogAt(before.Length, before.Digest).Join(entries...)
	if err != nil {
		return c, err
	}
	c.log, c.messageSummaries = log, nil
	return c, nil
}

// Needed is the index of the first message that the next run needs where those
// before an index are stored: earlier runs keep what a summary hides.
func (c Conversation) Needed(stored int) int { return max(stored, min(c.edits.Hidden, c.Len())) }

// SizeFrom is about how many bytes the messages from an index on take.
func (c Conversation) SizeFrom(index int) int {
	size := 0
	for _, e := range c.log.From(index) {
		size += e.Size()
	}
	return size
}

// Carry is what the next run needs of the conversation. It will hold the
// messages from an index on. r is the definition in force, if any.
func (c Conversation) Carry(from int, r *contract.Resolved) contract.CarriedConversation {
	carry := contract.CarriedConversation{
		Entries: c.log.From(from), Base: from, Edits: c.edits, NewestRole: c.newestRole(),
		Inferences: c.inferences, ShownTokens: c.shownTokens, Window: c.window, Excess: c.excess,
	}
	carry.Chain, _ = c.log.ChainAt(from)
	if r == nil || !r.Compacts() {
		return carry
	}
	// The newest, which take up to some 250 KB: of what is older the sum is known.
	for i := max(c.from(c.edits.Hidden), from-32<<10); i < from; i++ {
		carry.TokenIndex = append(carry.TokenIndex, c.summary(i).recorded)
	}
	return carry
}
