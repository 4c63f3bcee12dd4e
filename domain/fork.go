package domain

import "time"

// Forked returns the state of another agent, which has done nothing yet and whose first execution goes on from an origin
// in this one: its context without messages, which a log has, and its calls of unknown outcome, so that no call of the
// same effect begins until they are settled. It has neither trusted values nor standing approvals: those were given to
// the other agent. Calls whose outcome is known are the other's effects, and it may make them again.
func (s AgentState) Forked(id AgentID, origin Origin, now time.Time) AgentState {
	forked := NewAgentState(id, AgentID{}, now, s.LLMConfig)
	forked.Context = s.Context
	forked.Context.MessageStore = MessageStore{}
	forked.Origin = &origin
	for _, call := range withoutTold(s.UnknownCalls) {
		if call.AgentID.IsZero() {
			call.AgentID = s.AgentID
		}
		forked.UnknownCalls = append(forked.UnknownCalls, call.kept())
	}
	return forked
}
