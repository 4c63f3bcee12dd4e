package workflows

import (
	"cmp"

	"everstep/domain"
	"everstep/domain/contract"
)

func (s session) standingContext(tool string) domain.Digest {
	spec, _ := s.config.resolved.Tool(tool)
	return domain.StandingContext(spec, s.state.Trusted())
}

// stands reports whether a standing approval lets a call run about which a rule would have people asked.
func (b *toolBatch) stands(i int, call domain.ToolCall, rule string) bool {
	standing, ok := b.state.StandingFor(domain.CallDigest(call.Name, call.Arguments), b.standingContext(call.Name))
	if !ok {
		return false
	}
	b.standing[i] = standing.Approval(rule)
	return true
}

// revoked is why a call may not begin that has waited since a standing approval let it run, where none does any more.
func (b *toolBatch) revoked(i int, call domain.ToolCall) *domain.Error {
	approval, ok := b.standing[i]
	if !ok || b.stands(i, call, approval.Rule) {
		return nil
	}
	return domain.CodedErrorf(domain.Denied, domain.CodeDenied, "denied: its standing approval was revoked before the call began").From("approvals")
}

// noteStanding records, as a call starts, the standing approval by which it does.
func (b *toolBatch) noteStanding(i int, call domain.ToolCall) {
	approval, ok := b.standing[i]
	if !ok {
		return
	}
	b.approvalChanged(i, approval)
	b.emit(domain.EventApprovalDecided, domain.ToolApprovalDecided{
		EventCall: eventCall(b.content.ID.Tool(i), call.Name),
		Digest:    approval.Digest, Decision: approval.Decision, By: approval.By, Standing: approval.Standing,
	})
}

// standBy gives the standing approval that comes with the word about a call, or finds the one that there is.
func (s session) standBy(call *askedCall) *domain.StandingApproval {
	context := s.standingContext(call.Tool)
	standing, ok := s.state.StandingFor(call.Digest, context)
	if !ok {
		standing = call.StandingIn(context)
		s.approveAlways(standing)
	}
	call.Standing = standing.ID
	return &standing
}

func (s session) checkAlways(request contract.ApproveRequest) error {
	if !request.Always {
		return nil
	}
	return cmp.Or(checkStandingReason(request.Reason), s.state.CheckStandingRoom())
}

// checkStandingReason bounds what a session keeps for as long as it is open.
func checkStandingReason(reason string) error {
	if len(reason) > domain.MaxStandingReason {
		return domain.Errorf(domain.TooLarge, "reason: has %d bytes; of a standing approval at most %d are allowed", len(reason), domain.MaxStandingReason)
	}
	return nil
}

func (s session) checkRevoke(request contract.RevokeRequest) error {
	_, err := s.state.WithRevocation(request.ID, domain.Revocation{}, s.now())
	return cmp.Or(err, checkStandingReason(request.Reason), checkWord(request.By, request.Reason))
}

// revoke takes a standing approval back. A call that has begun by it goes on, one that waits for its turn is not made.
func (s session) revoke(request contract.RevokeRequest) contract.RevokeReply {
	s.revokeAlways(request.ID, domain.Revocation{By: request.By, Reason: request.Reason})
	reply := contract.RevokeReply{}
	for _, standing := range s.state.StandingApprovals {
		if standing.ID == request.ID {
			reply.Standing = standing
		}
	}
	return reply
}

func checkWord(by, reason string) error {
	switch {
	case len(reason) > domain.MaxReason:
		return domain.Errorf(domain.TooLarge, "reason: has %d bytes; at most %d are allowed", len(reason), domain.MaxReason)
	case len(by) > domain.MaxDecider:
		return domain.Errorf(domain.TooLarge, "by: has %d bytes; at most %d are allowed", len(by), domain.MaxDecider)
	}
	return nil
}
