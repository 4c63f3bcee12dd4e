package workflows

import (
	"cmp"

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
		s.budget.limitSession(next.Definition.SessionBudget)
	}
	s.agent.instruct(next.Definition)
}

func (c *commands) checkUpdate(request contract.UpdateRequest) error {
	next := c.updated(request)
	_, malformed := c.agent.state.WithResponseFormat(next.Definition.Format, c.agent.now())
	listed := contract.Resolved{} // as long as the next one is with the tools that the session has now
	if c.config.Resolved != nil {
		listed = *c.config.Resolved
	}
	listed.Definition = next.Definition
	return cmp.Or(c.config.upcoming().Definition.CheckUpdated(next.Definition), malformed, next.Definition.Budget.CheckDeadline(c.agent.now()),
		domain.CheckFits("definition, with its tools", listed, domain.MaxResolved),
		c.run.checkHandedOn("update", "send it when those messages are read, or give a shorter definition", &next))
}

// update takes what was checked. Two that come before an execution begins are one.
func (c *commands) update(request contract.UpdateRequest) contract.Change {
	next := c.updated(request)
	change := c.config.upcomingChange(next)
	if len(change.Fields) > 0 || c.config.Next != nil {
		c.config.wait(next)
	}
	return change
}

// updated is what waits for the next execution, once a request was taken. Parts of the model are of the one that the session uses.
func (c *commands) updated(request contract.UpdateRequest) contract.Config {
	over := c.config.upcoming().Definition
	if request.Asks("model") {
		over = c.config.upcomingDefinition()
	}
	return request.Over(over, c.config.Next, c.agent.now())
}
