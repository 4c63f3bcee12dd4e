package workflows

import (
	"cmp"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
)

// adoptDefinition begins an execution with the definition that has waited for it.
func (s *session) adoptDefinition() {
	next := s.config.Next
	s.config.beginExecution()
	if next == nil {
		return
	}
	if next.Asks("model") {
		s.agent.useModel(next.Definition.Model)
	}
	if next.Asks(contract.FieldSessionBudget) {
		s.limitSession(next.Definition.SessionBudget)
	}
	s.agent.instruct(next.Definition)
}

func (s *session) checkUpdate(request contract.UpdateRequest) error {
	switch {
	case s.in.Name == "":
		return domain.Errorf(domain.Denied, "update: the agent has no name, so no execution follows; start another with --id NAME")
	case s.mail.Closed():
		return domain.Errorf(domain.Denied, "update: the session is closed")
	}
	for _, key := range request.Fields {
		if !slices.Contains(domain.DefinitionKeys(), key) {
			return domain.Errorf(domain.Invalid, "fields: a definition has no %q", domain.Shorten(key, 64))
		}
	}
	next := s.updated(request)
	_, malformed := s.agent.state.WithResponseFormat(next.Definition.Format, s.agent.now())
	listed := contract.Resolved{} // as long as the next one is with the tools that the session has now
	if s.config.Resolved != nil {
		listed = *s.config.Resolved
	}
	listed.Definition = next.Definition
	return cmp.Or(s.config.upcoming().Definition.CheckUpdated(next.Definition), malformed, next.Definition.Budget.CheckDeadline(s.agent.now()),
		contract.CheckSaid(request.By, request.Reason), domain.CheckFits("definition, with its tools", listed, domain.MaxResolved),
		s.checkHandedOn("update", "send it when those messages are read, or give a shorter definition", &next))
}

// update takes what was checked. Two that come before an execution begins are one.
func (s *session) update(request contract.UpdateRequest) contract.Change {
	next := s.updated(request)
	change := s.upcomingChange(next)
	if len(change.Fields) > 0 || s.config.Next != nil {
		s.config.wait(next)
	}
	return change
}

// updated is what waits for the next execution, once a request was taken. Parts of the model are of the one that the session uses.
func (s *session) updated(request contract.UpdateRequest) contract.Config {
	over := s.config.upcoming().Definition
	if request.Asks("model") {
		over = s.upcomingDefinition()
	}
	return request.Over(over, s.config.Next, s.agent.now())
}
