package progress

import (
	"everstep/domain"
	"everstep/domain/contract"
)

// VerifiedReply is what came of a call of which nobody knew how it ended, where its tool's Verify has found out; ok is
// false where it has not.
func VerifiedReply(call contract.ToolRequest, found contract.VerifyReply) (reply contract.ToolReply, ok bool) {
	switch found.Verdict {
	case domain.VerdictDone:
		reply = contract.ToolReply{Content: found.Result, Digest: domain.DigestOf([]byte(found.Result))}
	case domain.VerdictNotDone:
		reply = Unanswered(domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun,
			"not done: the call of %s broke off, and the tool has made sure that it did nothing and cannot do anything any more (%s); it may be called again",
			call.Name, found.Reason))
	default:
		return reply, false
	}
	reply.Attempts = call.Attempts
	return reply, true
}

// verified notes what a tool has found out; where that is nothing, the call stays as it had ended.
func (s Step) verified(f Verified, at At) Step {
	position := f.Verify.Position
	reply, found := VerifiedReply(*f.Verify, f.Reply)
	if !found {
		return s
	}
	s = s.called(position, reply, f.CutOff, at)
	if position < len(s.ToolExecutions) {
		s.ToolExecutions[position].Settlement = &domain.Settlement{
			Verdict: f.Reply.Verdict, By: domain.Program{Client: domain.VerifyClient}, At: at.Time, Reason: f.Reply.Reason,
		}
	}
	return s
}
