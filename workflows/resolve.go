package workflows

import (
	"everstep/domain"
	"everstep/workflows/internal/mailbox"
)

// resolve asks a worker what the definition means, once a session and again
// where its model changes or a rate limit may have. Every execution's budget is
// looked at, resolved or not.
func (s *session) resolve(permit mailbox.Permit) {
	if s.stale() {
		s.list(permit)
	}
	if limit := s.budget().MaxCostNanoUSD; limit != nil && *limit > 0 && s.resolved != nil && s.resolved.Price == nil {
		s.fail(domain.Errorf(domain.Invalid, "max_cost: nobody knows what %s costs, so money cannot be limited; "+
			"give its price in the definition, with --price or in the worker's price file, or leave the limit out", s.state.LLMConfig()))
	}
}

// stale reports whether the definition has to be resolved: it was not, or for
// another model or response format, or what a worker said may be no longer true.
func (s *session) stale() bool {
	return s.outdated || s.changed()
}

// changed reports whether what is resolved is another definition, or nothing.
func (s *session) changed() bool {
	if s.resolved == nil {
		return true
	}
	of := s.resolved.Definition
	return !of.Model.Equal(s.state.LLMConfig()) || !of.Format.Equal(s.state.ResponseFormat())
}

// list makes the definition the one in force, with what a worker adds to it.
func (s *session) list(permit mailbox.Permit) {
	definition := s.in.Definition
	definition.Model = s.state.LLMConfig()
	definition.SystemPrompt, definition.Format = s.state.SystemPrompt(), s.state.ResponseFormat()
	s.note("resolving the definition")
	catalog, err := mailbox.Await(permit, s.activity(listing, "resolve", 0), domain.ListTools, domain.CatalogRequest{Definition: definition})
	if err != nil {
		if !s.mail.Stopped() {
			s.fail(failureOf(err))
		}
		return
	}
	if !s.changed() {
		// Only the limit may be another: tools and all else stay as they were.
		kept := *s.resolved
		kept.RateLimit = catalog.RateLimit
		s.resolved, s.outdated = &kept, false
		return
	}
	resolved := domain.Resolved{
		Definition: definition, Tools: catalog.Tools, Hooks: catalog.Hooks,
		Guards: catalog.Guards, Compaction: catalog.Compaction,
		Price: catalog.Price, ContextWindow: catalog.ContextWindow, MaxOutputTokens: catalog.MaxOutputTokens,
		OutputMode: catalog.OutputMode, Storage: catalog.Storage,
		MinOutputTokens: catalog.MinOutputTokens, RateLimit: catalog.RateLimit, Digest: catalog.Digest,
	}
	if err := domain.CheckFits("tools", resolved, domain.MaxResolved); err != nil {
		s.fail(domain.AsError(err))
		return
	}
	if s.resolved == nil || !s.resolved.Definition.Model.Equal(definition.Model) {
		s.conversation = s.conversation.WithOtherModel()
	}
	s.resolved, s.outdated = &resolved, false
	s.requireHooks()
}
