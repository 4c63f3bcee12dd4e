package conversation

import (
	"cmp"
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Conversation is an agent's transcript with what the loop has to know of it.
// It is a value that alone writes its fields. Begin with New or FromCarry.
type Conversation struct {
	log   domain.Log
	edits domain.Edits
	// messageSummaries are recorded ones, of messages before the log's base that
	// may still be shown.
	messageSummaries []int64
	// newest is the role of the newest message when it left memory, if known.
	newest domain.Role
	// compiler and chain decide which traces the model is shown.
	compiler domain.Compiler
	chain    []domain.ExecutionID
	// inferences counts the completed ones.
	inferences int
	// Of the traces it counts those of this execution and its origins.
	shownTokens
	// window is the model's as its provider has taught it by refusals, if it has.
	window int64
	// excess is what the provider counted for the newest inference beyond estimates.
	excess int64
}

type shownTokens = contract.ShownTokens

// New returns the conversation in which nothing was said yet, of an agent whose
// compiler is given.
func New(compiler domain.Compiler) Conversation { return Conversation{compiler: compiler} }

// Log is the transcript, as far as it is in memory.
func (c Conversation) Log() domain.Log { return c.log }

// Len is the number of messages, those that have left memory included.
func (c Conversation) Len() int { return c.log.Len() }

// Edits are what hides or replaces parts of the transcript.
func (c Conversation) Edits() domain.Edits { return c.edits }

// Inferences counts the completed ones, over all executions.
func (c Conversation) Inferences() int { return c.inferences }

// Origins are the executions that the one in progress goes on from. The caller
// must not change them.
func (c Conversation) Origins() []domain.ExecutionID {
	if len(c.chain) < 2 {
		return nil
	}
	return slices.Clip(c.chain[1:])
}

// Check says which edit cannot be one of this transcript.
func (c Conversation) Check() error { return c.edits.Check(c.Len()) }

// WithExecution returns the conversation in which the newest of a chain of
// executions begins, r being what was resolved until now, if anything. Unless it
// goes on from the one before, their traces go, where the compiler hides them.
func (c Conversation) WithExecution(chain []domain.ExecutionID, goesOn bool, r *contract.Resolved) Conversation {
	c.chain = chain
	if goesOn {
		return c
	}
	before := c
	if c.compiler.ShowsTraces() {
		c.Visible += c.Traces
	} else {
		c.Results, c.ResultTokens = 0, 0
		c.messageSummaries = withoutTraces(c.messageSummaries)
		for i := c.from(max(c.edits.Cleared, c.edits.Hidden)); i < c.Len(); i++ {
			if m := c.summary(i); m.is(flagResult) && !m.is(flagTrace) { // it was given
				c.Results, c.ResultTokens = c.Results+1, c.ResultTokens+m.tokens()
			}
		}
	}
	c.Traces = 0
	if r == nil {
		return c
	}
	return c.shrunk(before.rawInput(r), r)
}

// Append returns the conversation with one more message, tagged as it joins.
// The empty section is the default one.
func (c Conversation) Append(section string, tagged domain.Message, digest domain.Digest) Conversation {
	c.log = c.log.Append(section, tagged, digest)
	added, _ := c.log.At(c.Len() - 1)
	tokens := added.Tokens()
	if added.Trace() {
		c.Traces += tokens
	} else {
		c.Visible += tokens
	}
	if tagged.Role == domain.RoleTool {
		c.Results++
		c.ResultTokens += tokens
	}
	return c
}

// WithPrompt returns the conversation with the message that begins an execution.
func (c Conversation) WithPrompt(id domain.ExecutionID, prompt string, now time.Time) Conversation {
	return c.WithMessage(id, id.Prompt(), prompt, now)
}

// WithMessage returns the conversation with a message that has waited for the execution in progress. Its digest is of what the
// history holds: the id follows from it, the text is the client's own.
func (c Conversation) WithMessage(execution domain.ExecutionID, id domain.MessageID, text string, now time.Time) Conversation {
	m := domain.UserMessage(text)
	m.ID, m.CreatedAt = id, now
	return c.Append("", domain.Tag{ExecutionID: execution}.Apply(m), domain.DigestOfTexts(id.String(), text))
}

// WithGiven returns the conversation with what was given to an execution. What its compiler hides counts for nothing.
func (c Conversation) WithGiven(id domain.ExecutionID, given *domain.StartOptions, now time.Time) Conversation {
	if given == nil {
		return c
	}
	for _, e := range given.Messages {
		m, before := e.Message, c
		m.ID, m.CreatedAt = cmp.Or(m.ID, id.Message(c.Len())), cmp.Or(m.CreatedAt, now)
		c = c.Append(e.Section, m, e.Digest)
		if added, _ := c.log.At(before.log.Len()); !added.Shown(c.compiler, c.chain) {
			c.shownTokens = before.shownTokens
		}
	}
	return c
}

// ShownSince counts the messages from an index on that neither a rewind nor a clear has taken back, and no summary stands for.
func (c Conversation) ShownSince(index int) (n int) {
	for i := max(index, c.edits.Hidden); i < c.Len(); i++ {
		if !c.edits.TookBack(i) {
			n++
		}
	}
	return n
}

// Cleared reports whether a clear is the last that became of it.
func (c Conversation) Cleared() bool { return c.edits.AllCleared(c.Len()) }

// WithGoOn returns the conversation as it begins an execution that goes on from
// the one before. A model is never asked to answer its own words, so it is told
// to go on after them.
func (c Conversation) WithGoOn(id domain.ExecutionID, now time.Time) Conversation {
	if role := c.newestRole(); role != "" && role != domain.RoleAssistant {
		return c
	}
	m := domain.UserMessage("Go on where you stopped.")
	m.ID, m.CreatedAt = id.Prompt(), now
	return c.Append("", domain.Tag{ExecutionID: id, Trace: true}.Apply(m), domain.DigestOfTexts(m.ID.String()))
}

// newestRole is who said the last message; empty where nobody knows.
func (c *Conversation) newestRole() domain.Role {
	if last, ok := c.log.At(c.Len() - 1); ok {
		return last.Message.Role
	}
	return c.newest
}

// StepInput names what the next inference reads: a reference, never a copy.
func (c Conversation) StepInput() domain.StepInput {
	input := domain.StepInput{Compiler: c.compiler.OrDefault(), Messages: c.Len(), Digest: c.log.Chain(), Edits: c.edits}
	if c.edits.Summary > 0 {
		start := max(c.edits.Buffered, c.edits.Hidden)
		input.Sections = []domain.SectionLength{
			{Name: domain.SectionSummary, Messages: 1},
			{Name: domain.SectionBuffer, Messages: start - c.edits.Hidden},
			{Name: domain.SectionMessages, Messages: c.Len() - start - 1},
		}
	}
	return input
}

// Page is a part of the messages that are in memory, at least one where there
// are any. size is what the page has to hold beside them.
func (c Conversation) Page(request contract.MessagesRequest, size int) contract.MessagesPage {
	from := request.From
	if request.Chain != nil {
		if held, ok := c.log.ChainAt(from); !ok || held != *request.Chain {
			from = c.log.Base()
		}
	}
	from = min(max(from, c.log.Base()), c.Len())
	before, _ := c.log.ChainAt(from)
	page := contract.MessagesPage{From: from, Before: before, Base: c.log.Base(), Length: c.Len(), Entries: []domain.Entry{}}
	for _, e := range c.log.From(from) {
		size += e.Size()
		full := size > domain.MaxPage || request.Limit > 0 && len(page.Entries) >= request.Limit
		if len(page.Entries) > 0 && full {
			break
		}
		page.Entries = append(page.Entries, e)
	}
	return page
}
