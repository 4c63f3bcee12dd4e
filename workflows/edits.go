package workflows

import "everstep/domain"

// shownTokens estimates what a message takes as it is shown.
func (s *session) shownTokens(o outline) int64 {
	if o.result && o.index < s.edits.Cleared {
		return noteTokens
	}
	return o.tokens
}

// hidden makes the summary that has just joined the transcript stand for all
// before an index.
func (s *session) hidden(to, buffered int) {
	before := s.rawInput()
	s.edits.Hidden, s.edits.Buffered, s.edits.Summary = to, buffered, s.log.Len()
	s.edits.Cleared = max(s.edits.Cleared, to)
	s.tally.visible, s.tally.traces = 0, 0
	s.guarded.Results, s.guarded.ResultTokens = 0, 0
	for _, o := range s.outlines(to) {
		summary := o.index == s.edits.Summary-1
		if !summary && !o.shown {
			continue
		}
		tokens := s.shownTokens(o)
		// The summary outlives its execution.
		if o.trace && !summary {
			s.tally.traces += tokens
		} else {
			s.tally.visible += tokens
		}
		if o.result && o.index >= s.edits.Cleared {
			s.guarded.Results++
			s.guarded.ResultTokens += tokens
		}
	}
	s.shrunk(before)
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
