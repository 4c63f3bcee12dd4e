package conversation

import (
	"cmp"

	"everstep/domain"
	"everstep/domain/contract"
)

// noteTokens are those of the note in place of a cleared result.
const noteTokens = 12

// Crowded reports whether the next inference nears the window, so that the
// conversation has to become shorter, where it may. force: it has to anyway.
func (c Conversation) Crowded(r *contract.Resolved, force bool) bool {
	if !r.Compacts() {
		return false
	}
	window := c.Window(r)
	if window == 0 {
		return force
	}
	// Kept free for the answer is what is known of its length, else a guess, but no more than a quarter of the window.
	answer := min(cmp.Or(r.AnswerBound(), 4096), window/4)
	return force || c.Input(r) > min(c.share(r.Compaction.TriggerPercent, r), window-answer)
}

// Roomy reports whether clearing results made the conversation short enough.
func (c Conversation) Roomy(r *contract.Resolved) bool {
	return c.Input(r) <= c.share((r.Compaction.TriggerPercent+r.Compaction.TargetPercent)/2, r)
}

// WithRefused returns the conversation as one that a provider finds too long, whose model has the window that was named;
// zero: none was.
func (c Conversation) WithRefused(r *contract.Resolved, named int64) Conversation {
	c.window = max(c.Input(r)*80/100, 1) // of what was refused so much is taken for the window
	if named > 0 {
		c.window = min(c.window, named)
	}
	return c
}

// WithResultsCleared returns the conversation with old tool results shown by a
// note in their place. The newest ones stay, as far as they fit half of what a
// compaction leaves; those that the model has not seen yet always do.
func (c Conversation) WithResultsCleared(r *contract.Resolved) Conversation {
	keep := c.own(c.share(r.Compaction.TargetPercent, r) / 2)
	unseen, _ := c.unread()
	from := max(c.edits.Cleared, c.edits.Hidden)
	kept, count := int64(0), int64(0)
	for i := c.Len() - 1; i >= c.from(from); i-- {
		m := c.summary(i)
		if !m.is(flagResult) || !m.is(flagShown) {
			continue
		}
		if kept+m.tokens() > keep && i < unseen {
			return c.clearedUpTo(i+1, kept, count, r)
		}
		kept, count = kept+m.tokens(), count+1
	}
	if c.known() > from {
		// Of what came before nothing is known but the sum.
		return c.clearedUpTo(c.known(), kept, count, r)
	}
	return c
}

// clearedUpTo clears the results before an index; count results of so many
// tokens are left.
func (c Conversation) clearedUpTo(index int, kept, count int64, r *contract.Resolved) Conversation {
	cleared := c.Results - count
	if index <= c.edits.Cleared || cleared <= 0 {
		return c
	}
	before := c.rawInput(r)
	c.edits.Cleared = index
	c.Traces -= max(c.ResultTokens-kept-cleared*noteTokens, 0)
	if c.Traces < 0 {
		// A compiler that shows all has them among what every execution sees.
		c.Visible, c.Traces = max(c.Visible+c.Traces, 0), 0
	}
	c.Results, c.ResultTokens = count, kept
	return c.shrunk(before, r)
}

// unread is the index of the first message that the model has yet to answer,
// its own calls with their results included, and what they all take.
func (c *Conversation) unread() (index int, tokens int64) {
	index = c.Len()
	for i := c.Len() - 1; i >= c.from(c.edits.Hidden); i-- {
		m := c.summary(i)
		if c.edits.TookBack(i) {
			continue
		}
		if m.is(flagAssistant) && !m.is(flagCalls) || c.isSummaryInForce(m) {
			break
		}
		index, tokens = i, tokens+c.tokensShown(m)
		if m.is(flagAssistant) {
			break
		}
	}
	return index, tokens
}

// A SummaryPlan is which part of the conversation a summary is to stand for.
type SummaryPlan struct {
	to        int
	maxTokens int64
	// window is the provider's, of which excess is not counted in estimates;
	// zero is unknown.
	window, excess int64
	halved         int
}

// PlanSummary says what to sum up, and whether that is worth its price.
func (c Conversation) PlanSummary(r *contract.Resolved) (SummaryPlan, bool) {
	plan := SummaryPlan{to: c.boundary(r), maxTokens: c.summaryBound(r), window: c.Window(r), excess: c.excess}
	return plan, c.tokensBefore(plan.to) >= plan.maxTokens/2
}

// Request asks for the summary.
func (p SummaryPlan) Request() domain.SummaryRequest {
	request := domain.SummaryRequest{To: p.to, MaxTokens: p.maxTokens}
	if p.window > 0 {
		request.Window = max(p.window-p.excess, 1)
	}
	return request
}

// Halved is the plan with half as much to read, for a provider that finds it too
// long; false where that was tried often enough.
func (p SummaryPlan) Halved() (SummaryPlan, bool) {
	if p.window == 0 || p.halved == 4 { // a summary is asked for no more often
		return p, false
	}
	p.window, p.halved = p.window/2, p.halved+1
	return p, true
}

// WithSummary returns the conversation in which its newest message, the summary
// that was planned, stands for all that it sums up.
func (c Conversation) WithSummary(plan SummaryPlan, r *contract.Resolved) Conversation {
	before, to := c.rawInput(r), plan.to
	// The one before may be recent enough to be kept, and is shown no more.
	c.messageSummaries = without(c.messageSummaries, c.edits.Summary-1-c.known())
	c.edits.Hidden, c.edits.Buffered, c.edits.Summary = to, c.Len()-1, c.Len()
	c.edits.Cleared = max(c.edits.Cleared, to)
	return c.recounted().shrunk(before, r)
}

// boundary is the index before which all is summed up: what comes after fits
// what a compaction leaves beside the summary. It parts no call from its
// result, and what the model has yet to answer stays if the window can hold it.
func (c *Conversation) boundary(r *contract.Resolved) int {
	keep := c.own(c.share(r.Compaction.TargetPercent, r)-c.summaryBound(r)) - fixedTokens(r)
	unseen, tokens := c.unread()
	if room := c.own(c.Window(r)-c.summaryBound(r)) - fixedTokens(r); c.Window(r) > 0 && tokens > room {
		unseen = c.Len()
	}
	to, kept := c.Len(), int64(0)
	for i := c.Len() - 1; i >= c.from(c.edits.Hidden); i-- {
		m := c.summary(i)
		if c.isSummaryInForce(m) || !m.is(flagShown) {
			continue
		}
		if kept += c.tokensShown(m); kept > keep && i < unseen {
			break
		}
		if !m.is(flagResult) {
			to = i
		}
	}
	return to
}

// tokensBefore estimates what a boundary would hide, an earlier summary aside.
func (c *Conversation) tokensBefore(to int) int64 {
	sum, held := int64(0), int64(0)
	for m, tokens := range c.shown(c.edits.Hidden) {
		if held += tokens; m.index < to && !c.isSummaryInForce(m) {
			sum += tokens
		}
	}
	if c.edits.Hidden < c.known() {
		// What nothing is known of is shown all the same, and can be hidden.
		sum += max(c.Visible+c.Traces-held, 0)
	}
	return sum
}

// summaryBound is how long a summary may get.
func (c *Conversation) summaryBound(r *contract.Resolved) int64 {
	bound := int64(4096)
	if window := c.Window(r); window > 0 {
		bound = max(min(bound, window/8), 128) // it takes at most an eighth of the window
	}
	return max(bound, r.MinOutputTokens)
}
