package workflows

import "everstep/domain"

// shownTokens estimates what an entry takes as it is shown.
func (s *session) shownTokens(e *domain.Entry) int64 {
	if e.Message.Role == domain.RoleTool && e.Index < s.edits.Cleared {
		return noteTokens
	}
	return domain.EstimateTokens(e.Message)
}

// hidden makes the summary that has just joined the transcript stand for all
// before an index.
func (s *session) hidden(to, buffered int) {
	before := s.rawInput()
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
