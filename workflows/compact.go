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
	if failureOf(err).Code != domain.CodeContextOverflow || step.compacted || !s.compacts() || s.stop.now() {
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
// ones stay, as far as they fit half of what a compaction leaves.
func (s *session) clearResults() {
	keep := s.own(s.share(s.resolved.Compaction.TargetPercent) / 2)
	entries := s.log.From(s.edits.Cleared)
	kept, count := int64(0), int64(0)
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Message.Role != domain.RoleTool {
			continue
		}
		tokens := domain.EstimateTokens(entries[i].Message)
		if kept+tokens > keep {
			s.clearedUpTo(entries[i].Index+1, kept, count)
			return
		}
		kept, count = kept+tokens, count+1
	}
	s.clearedUpTo(max(s.edits.Cleared, s.log.Base()), kept, count)
}

// clearedUpTo clears the results before an index; count results of so many
// tokens are left.
func (s *session) clearedUpTo(index int, kept, count int64) {
	cleared := s.guarded.Results - count
	if index <= s.edits.Cleared || cleared <= 0 {
		return
	}
	s.edits.Cleared = index
	s.tally.traces -= max(s.guarded.ResultTokens-kept-cleared*noteTokens, 0)
	s.tally.traces = max(s.tally.traces, 0)
	s.guarded.Results, s.guarded.ResultTokens = count, kept
}

// boundary is the index before which all is summed up: what comes after fits
// what a compaction leaves beside the summary. It parts no call from its
// result, and a prompt that nobody has answered stays.
func (s *session) boundary() int {
	keep := s.own(s.share(s.resolved.Compaction.TargetPercent)-s.summaryBound()) - s.fixedTokens()
	chain, compiler := s.state.Chain(), s.resolved.Definition.Compiler
	to, kept := s.log.Len(), int64(0)
	entries := s.log.From(s.edits.Hidden)
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		if e.Index == s.edits.Summary-1 || !e.Shown(compiler, chain) {
			continue
		}
		prompt := e.Message.Role == domain.RoleUser && i == len(entries)-1
		if kept += s.shownTokens(e); kept > keep && !prompt {
			break
		}
		if e.Message.Role != domain.RoleTool {
			to = e.Index
		}
	}
	return to
}

// tokensBefore estimates what would be hidden by a boundary, an earlier summary
// aside. Only then is a summary worth its price.
func (s *session) tokensBefore(to int) int64 {
	chain, compiler := s.state.Chain(), s.resolved.Definition.Compiler
	sum := int64(0)
	entries := s.log.From(s.edits.Hidden)
	for i := range entries {
		if e := &entries[i]; e.Index < to && e.Index != s.edits.Summary-1 && e.Shown(compiler, chain) {
			sum += s.shownTokens(e)
		}
	}
	return sum
}

// shownTokens estimates what an entry takes as it is shown.
func (s *session) shownTokens(e *domain.Entry) int64 {
	if e.Message.Role == domain.RoleTool && e.Index < s.edits.Cleared {
		return noteTokens
	}
	return domain.EstimateTokens(e.Message)
}

// summaryBound is how long a summary may get.
func (s *session) summaryBound() int64 {
	bound := int64(summaryRoom)
	if window := s.window(); window > 0 {
		bound = max(min(bound, window/summaryShare), minSummary)
	}
	return max(bound, s.resolved.MinOutputTokens)
}

// hidden makes the summary that has just joined the transcript stand for all
// before an index.
func (s *session) hidden(to, buffered int) {
	s.edits.Hidden, s.edits.Buffered, s.edits.Summary = to, buffered, s.log.Len()
	s.edits.Cleared = max(s.edits.Cleared, to)
	chain, compiler := s.state.Chain(), s.resolved.Definition.Compiler
	s.tally.visible, s.tally.traces = 0, 0
	s.guarded.Results, s.guarded.ResultTokens = 0, 0
	entries := s.log.From(to)
	for i := range entries {
		e := &entries[i]
		if e.Index != s.edits.Summary-1 && !e.Shown(compiler, chain) {
			continue
		}
		tokens := s.shownTokens(e)
		// The summary outlives its execution.
		if e.Index != s.edits.Summary-1 && domain.TagOf(e.Message).Trace {
			s.tally.traces += tokens
		} else {
			s.tally.visible += tokens
		}
		if e.Message.Role == domain.RoleTool && e.Index >= s.edits.Cleared {
			s.guarded.Results++
			s.guarded.ResultTokens += tokens
		}
	}
}

// sections says how long each section is.
func (s *session) sections() []domain.SectionLength {
	start := max(s.edits.Buffered, s.edits.Hidden)
	return []domain.SectionLength{
		{Name: domain.SectionSummary, Messages: 1},
		{Name: domain.SectionBuffer, Messages: start - s.edits.Hidden},
		{Name: domain.SectionMessages, Messages: s.log.Len() - start - 1},
	}
}
