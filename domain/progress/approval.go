package progress

import (
	"fmt"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
)

// An Awaiting says which calls of the execution in progress wait for people from now on, as far as they are named.
type Awaiting struct{ Waiting contract.Waiting }

// A Decided says that somebody has decided about a call. Edited is what runs where they have changed the arguments.
type Decided struct {
	Reply  contract.DecisionReply
	Edited string
}

// NotApproved is what the model gets to read of a call that a stop kept from being approved.
func NotApproved() *domain.Error {
	return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the execution was stopped before a person had approved the call")
}

// NotBegun is what the model gets to read of a call that was approved and then kept from beginning by a stop.
func NotBegun() *domain.Error {
	return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: a person had approved the call, but the execution was stopped before it began")
}

// waits notes about which of the step's calls people are asked. Of one that is no longer asked about and whose time is
// over, nobody has decided, unless a stop had ended the wait by then.
func (s Step) waits(f Awaiting, at At) Step {
	asked := map[domain.ToolExecutionID]domain.Approval{}
	for _, p := range f.Waiting.Approvals {
		asked[p.ToolExecutionID] = p.Approval
	}
	rewritten := func(call domain.ToolExecution) bool { return slices.Contains(f.Waiting.Rewritten, call.ID) }
	s = s.awaits(f, at)
	s.ToolExecutions = slices.Clone(s.ToolExecutions)
	for i, call := range s.ToolExecutions {
		approval, waits := asked[call.ID]
		if approval.Digest.IsZero() && waits && !rewritten(call) {
			approval.Digest = domain.CallDigest(call.Call.Name, call.Call.Arguments)
		}
		switch was := call.Approval; {
		case waits && was.IsZero():
			s.ToolExecutions[i].Approval = approval
		case !waits && was.Waits() && !at.StopAsked && !was.ExpiresAt.IsZero() && !at.Time.Before(was.ExpiresAt):
			s = s.decided(i, was.Decided(domain.Expired, "", "", at.Time), at)
		}
	}
	return s
}

func (s Step) decided(i int, approval domain.Approval, at At) Step {
	s.ToolExecutions = slices.Clone(s.ToolExecutions)
	call := &s.ToolExecutions[i]
	call.Approval = approval
	if refusal := approval.Refusal(); refusal != nil {
		call.Error, call.CompletedAt = refusal, at.Time
	}
	return s
}

// WaitingNote says in one line what waits for people; empty: nothing does.
func WaitingNote(pending []domain.PendingApproval, questions []domain.PendingQuestion) string {
	switch n := len(pending) + len(questions); {
	case n == 0:
		return ""
	case n == 1 && len(pending) == 1:
		return fmt.Sprintf("step %d: %s waits for approval", pending[0].Step, domain.Shorten(pending[0].Tool, 64))
	case n == 1:
		return fmt.Sprintf("step %d: %s waits for an answer", questions[0].Step, domain.Shorten(questions[0].Tool, 64))
	case len(questions) == 0:
		return fmt.Sprintf("step %d: %d calls wait for approval", pending[0].Step, n)
	case len(pending) == 0:
		return fmt.Sprintf("step %d: %d calls wait for answers", questions[0].Step, n)
	default:
		return fmt.Sprintf("step %d: %d calls wait for people", questions[0].Step, n)
	}
}
