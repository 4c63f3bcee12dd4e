package workflows

import (
	"cmp"

	"everstep/domain"
	"everstep/domain/contract"
)

func (c *configuration) standingContext(tool string) domain.Digest {
	spec, _ := c.Resolved.Tool(tool)
	return domain.StandingContext(spec, c.agent.state.Trusted())
}

// stands reports whether a standing approval lets a call run about which a rule would have people asked.
func (b *toolBatch) stands(i int, call domain.ToolCall, rule string) bool {
	standing, ok := b.agent.state.StandingFor(domain.CallDigest(call.Name, call.Arguments), b.config.standingContext(call.Name))
	if !ok {
		return false
	}
	b.standing[i] = standing.Wait(rule)
	return true
}

// revoked is why a call may not begin that has waited since a standing approval let it run, where none does any more.
func (b *toolBatch) revoked(i int, call domain.ToolCall) *domain.Error {
	approved, ok := b.standing[i]
	if !ok || b.stands(i, call, approved.AskedBy) {
		return nil
	}
	return domain.CodedErrorf(domain.Denied, domain.CodeDenied, "denied: its standing approval was revoked before the call began").From("approvals")
}

// noteStanding records, as a call starts, the standing approval by which it does.
func (b *toolBatch) noteStanding(i int, call domain.ToolCall) {
	approved, ok := b.standing[i]
	if !ok {
		return
	}
	b.step.waitChanged(i, approved)
	approved.ToolExecutionID, approved.Tool = b.step.content.ID.Tool(i), call.Name
	b.agent.emitWaitClosed(approved)
}

// standBy gives the standing approval that comes with the answer about a call, or finds the one that there is.
func (a *answers) standBy(w domain.Wait, answer domain.Answer) domain.StandingApproval {
	context := a.config.standingContext(w.Tool)
	standing, ok := a.agent.state.StandingFor(w.Digest, context)
	if !ok {
		standing = w.StandingIn(context, answer)
		a.agent.approveAlways(standing)
	}
	return standing
}

func (c *commands) checkRevoke(request contract.RevokeRequest) error {
	_, err := c.agent.state.WithRevocation(request.ID, domain.Revocation{}, c.agent.now())
	return cmp.Or(err, contract.CheckStandingReason(request.Reason), contract.CheckSaid(request.By, request.Reason))
}

// revoke takes a standing approval back. A call that has begun by it goes on, one that waits for its turn is not made.
func (c *commands) revoke(request contract.RevokeRequest) contract.RevokeReply {
	c.agent.revokeAlways(request.ID, domain.Revocation{By: request.By, Reason: request.Reason})
	reply := contract.RevokeReply{}
	for _, standing := range c.agent.state.StandingApprovals {
		if standing.ID == request.ID {
			reply.Standing = standing
		}
	}
	return reply
}
