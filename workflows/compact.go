package workflows

import (
	"slices"

	"everstep/domain"
)

// compact makes the conversation shorter for the model where it nears the
// window: old tool results first, then a summary. It answers false where that
// ended the step.
func (s *session) compact(step *turn) bool {
	if !s.crowded() {
		return true
	}
	s.clearResults()
	if s.estimatedInput() <= s.share(s.roomy()) && !s.squeeze {
		return true
	}
	shrunk, ended := s.summarise(step)
	s.squeeze = s.squeeze && !shrunk && !ended
	return !ended
}

// overflowed takes a provider's word that the conversation is too long: it is
// made shorter, once a step. It answers false where that is not possible.
func (s *session) overflowed(step *turn, err error) bool {
	if failureOf(err).Code != domain.CodeContextOverflow || step.compacted || !s.compacts() || s.mail.CutOff() {
		return false
	}
	step.compacted = true
	s.guarded.Window = max(s.estimatedInput()*learned/100, 1)
	before := s.estimatedInput()
	s.clearResults()
	if s.estimatedInput() <= s.share(s.roomy()) {
		return true
	}
	shrunk, ended := s.summarise(step)
	step.ended = ended
	return shrunk || ended || s.estimatedInput() < before
}

const (
	// learned is the share of what was refused that is taken for the window.
	learned = 80
	// answerShare bounds what of the window is kept free for the answer, as a
	// divisor, and answerRoom where nobody knows how long answers get.
	answerShare = 4
	answerRoom  = 4096
	// A summary takes at most an eighth of the window, and summaryRoom.
	summaryShare = 8
	summaryRoom  = 4096
	minSummary   = 128
	// noteTokens is what the note in place of a cleared result takes.
	noteTokens = 12
)

// compacts reports whether the execution may be compacted at all. Where an agent
// selects its sections without those of a compaction, it would lose what they hold.
func (s *session) compacts() bool {
	c, d := s.resolved.Compaction, s.resolved.Definition
	if c == nil || c.Off {
		return false
	}
	return d.Compiler != domain.SelectedSections ||
		slices.Contains(d.Sections, domain.SectionSummary) && slices.Contains(d.Sections, domain.SectionBuffer)
}

// window is the model's, as far as it is known; zero is unknown.
func (s *session) window() int64 {
	window := s.resolved.ContextWindow
	if own := s.resolved.Definition.Model.ContextWindow; own > 0 {
		window = own
	}
	if taught := s.guarded.Window; taught > 0 && (window == 0 || taught < window) {
		window = taught
	}
	return window
}

// share is a percentage of the window.
func (s *session) share(percent int) int64 { return s.window() * int64(percent) / 100 }

// roomy is the share of the window below which clearing results is enough.
func (s *session) roomy() int {
	return (s.resolved.Compaction.TriggerPercent + s.resolved.Compaction.TargetPercent) / 2
}

// crowded reports whether the next inference nears the window.
func (s *session) crowded() bool {
	if !s.compacts() {
		return false
	}
	window := s.window()
	if window == 0 {
		return s.squeeze
	}
	answer := window / answerShare
	if bound := s.answerBound(); bound > 0 {
		answer = min(answer, bound)
	} else {
		answer = min(answer, answerRoom)
	}
	return s.squeeze || s.estimatedInput() > min(s.share(s.resolved.Compaction.TriggerPercent), window-answer)
}

// clearResults has old tool results shown by a note in their place. The newest
// ones stay, as far as they fit half of what a compaction leaves; those that
// the model has not seen yet always do.
func (s *session) clearResults() {
	keep := s.own(s.share(s.resolved.Compaction.TargetPercent) / 2)
	unseen, _ := s.unread()
	from := max(s.edits.Cleared, s.edits.Hidden)
	kept, count := int64(0), int64(0)
	for _, o := range slices.Backward(s.outlines(from)) {
		if !o.result || !o.shown {
			continue
		}
		if kept+o.tokens > keep && o.index < unseen {
			s.clearedUpTo(o.index+1, kept, count)
			return
		}
		kept, count = kept+o.tokens, count+1
	}
	if s.known() > from {
		// Of what came before nothing is known but the sum.
		s.clearedUpTo(s.known(), kept, count)
	}
}

// unread is the index of the first message that the model has yet to answer,
// its own calls with their results included, and what they all take.
func (s *session) unread() (index int, tokens int64) {
	index = s.log.Len()
	for _, o := range slices.Backward(s.outlines(s.edits.Hidden)) {
		if o.assistant && !o.calls || o.index == s.edits.Summary-1 {
			break
		}
		index, tokens = o.index, tokens+s.shownTokens(o)
		if o.assistant {
			break
		}
	}
	return index, tokens
}

// clearedUpTo clears the results before an index; count results of so many
// tokens are left.
func (s *session) clearedUpTo(index int, kept, count int64) {
	cleared := s.guarded.Results - count
	if index <= s.edits.Cleared || cleared <= 0 {
		return
	}
	before := s.rawInput()
	s.edits.Cleared = index
	s.tally.traces -= max(s.guarded.ResultTokens-kept-cleared*noteTokens, 0)
	if s.tally.traces < 0 {
		// A compiler that shows all has them among what every execution sees.
		s.tally.visible, s.tally.traces = max(s.tally.visible+s.tally.traces, 0), 0
	}
	s.guarded.Results, s.guarded.ResultTokens = count, kept
	s.shrunk(before)
}

// boundary is the index before which all is summed up: what comes after fits
// what a compaction leaves beside the summary. It parts no call from its
// result, and what the model has yet to answer stays if the window can hold it.
func (s *session) boundary() int {
	keep := s.own(s.share(s.resolved.Compaction.TargetPercent)-s.summaryBound()) - s.fixedTokens()
	unseen, tokens := s.unread()
	if room := s.own(s.window()-s.summaryBound()) - s.fixedTokens(); s.window() > 0 && tokens > room {
		unseen = s.log.Len()
	}
	to, kept := s.log.Len(), int64(0)
	for _, o := range slices.Backward(s.outlines(s.edits.Hidden)) {
		if o.index == s.edits.Summary-1 || !o.shown {
			continue
		}
		if kept += s.shownTokens(o); kept > keep && o.index < unseen {
			break
		}
		if !o.result {
			to = o.index
		}
	}
	return to
}

// tokensBefore estimates what would be hidden by a boundary, an earlier summary
// aside. Only then is a summary worth its price.
func (s *session) tokensBefore(to int) int64 {
	sum, held := int64(0), int64(0)
	for _, o := range s.outlines(s.edits.Hidden) {
		summary := o.index == s.edits.Summary-1
		if !summary && !o.shown {
			continue
		}
		tokens := s.shownTokens(o)
		if held += tokens; o.index < to && !summary {
			sum += tokens
		}
	}
	if s.edits.Hidden < s.known() {
		// What nothing is known of is shown all the same, and can be hidden.
		sum += max(s.tally.visible+s.tally.traces-held, 0)
	}
	return sum
}

// summaryBound is how long a summary may get.
func (s *session) summaryBound() int64 {
	bound := int64(summaryRoom)
	if window := s.window(); window > 0 {
		bound = max(min(bound, window/summaryShare), minSummary)
	}
	return max(bound, s.resolved.MinOutputTokens)
}
