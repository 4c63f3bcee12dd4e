package progress

import (
	"slices"
	"time"

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

// verifies notes that a tool is asked what became of its call, which is under way as long.
func (s Step) verifies(work Work) Step {
	position := work.Verify.Position
	if position >= len(s.ToolExecutions) {
		return s
	}
	s.ToolExecutions = slices.Clone(s.ToolExecutions)
	call := &s.ToolExecutions[position]
	unknown := contract.ToolReply{Error: call.Error, Content: call.Value, Attempts: call.Attempts}
	call.CompletedAt, call.Value, call.ResultDigest, call.Error = time.Time{}, "", domain.Digest{}, nil
	return s.With(unmade{ToolReplied{Work: Work{Tool: work.Verify}, Reply: unknown}}, At{})
}

// verified notes what a tool has found out. Where that is nothing, the call ends as it had before.
func (s Step) verified(f Verified, at At) Step {
	position := f.Verify.Position
	reply, found := VerifiedReply(*f.Verify, f.Reply)
	if i := slices.IndexFunc(s.unmade, func(u unmade) bool { return u.Tool.Position == position }); i >= 0 {
		if !found {
			reply = s.unmade[i].Reply
		}
		s.unmade = slices.Delete(slices.Clone(s.unmade), i, i+1)
	} else if !found {
		return s // nobody has said that it was asked
	}
	s = s.called(position, reply, f.CutOff, at)
	if found && position < len(s.ToolExecutions) {
		s.ToolExecutions[position].Settlement = &domain.Settlement{
			Verdict: f.Reply.Verdict, By: domain.Program{Client: domain.VerifyClient}, At: at.Time, Reason: f.Reply.Reason,
		}
	}
	return s
}
