package workflows

import (
	"cmp"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/conversation"
	"everstep/workflows/internal/mailbox"
)

// checkRewind refuses what is no step of this session's past, and what an execution could not begin with.
func (s *session) checkRewind(r contract.RewindRequest) error {
	if s.in.Name == "" {
		return domain.Errorf(domain.Denied, "rewind: the agent has no name, so it takes one prompt and no more; fork it instead, and the other agent goes on from there")
	}
	if err := cmp.Or(s.idleFor("rewind"), s.notSuspended("rewind")); err != nil {
		return err
	}
	count := s.agent.state.ExecutionCount
	switch {
	case r.Number < 1 || r.Number > count || r.Origin.ExecutionID != s.in.AgentID.Execution(s.info.FirstRunID, r.Number):
		return domain.Errorf(domain.Invalid, "origin: %s is not execution %d of this session, which has had %d", r.Origin.ExecutionID, r.Number, count)
	case r.Origin.AgentID != s.in.AgentID || r.Origin.Step < 0:
		return domain.Errorf(domain.Invalid, "origin: is no step of this agent; rewind with a client of Everstep")
	case r.Newest != count:
		return domain.Errorf(domain.Denied, "rewind: execution %d has ended since the past was read; look at it, and rewind again", count)
	case r.Prompt == "" && (r.Model != nil || !r.Budget.IsZero()):
		return domain.Errorf(domain.Invalid, "model, budget: are the next message's, which is not given; give them with it")
	}
	if err := s.talk.CheckRewind(r, s.stored); err != nil || r.Prompt == "" {
		return err
	}
	return s.checkBeginning(contract.SendRequest{Prompt: r.Prompt, Model: r.Model, Budget: r.Budget})
}

// stored reports whether storage has all messages from an index on that have left memory.
func (s *session) stored(from int) bool {
	for _, segment := range s.run.segments {
		if segment.From <= from && from < segment.To {
			from = segment.To
		}
	}
	return from >= s.talk.Log().Base()
}

// rewind has the session stand at a step of its past: the model sees what it saw then, and the next execution goes on
// from there, at once where a prompt is given. All that was done since stays: what it has used, what is allowed, the
// calls of unknown outcome and the effects of all.
func (s *session) rewind(r contract.RewindRequest) contract.RewindReply {
	reply := contract.RewindReply{
		ExecutionID: s.nextExecutionID(), Number: s.agent.state.ExecutionCount + 1, RunID: s.info.WorkflowExecution.RunID,
		Began: r.Prompt != "", TakenBack: s.talk.ShownSince(r.Log.Length),
	}
	s.moveTo(s.talk.WithRewound(r, reply.Number), &r.Origin)
	if reply.Began {
		s.mail.Post(mailbox.NextExecution{Prompt: r.Prompt, Model: r.Model, Budget: r.Budget, By: domain.Starter{Program: r.By}})
	}
	return reply
}

// checkClear needs no more than an idle session.
func (s *session) checkClear(contract.ClearRequest) error { return s.idleFor("clear") }

// clear is a rewind to before all messages. What the agent is, what it has done and what is allowed stays: calls of unknown
// outcome, standing approvals, trusted values, notes of tools.
func (s *session) clear(contract.ClearRequest) contract.ClearReply {
	reply := contract.ClearReply{Messages: s.talk.ShownSince(0)}
	s.moveTo(s.talk.WithCleared(s.agent.state.ExecutionCount+1), nil)
	return reply
}

// moveTo has the next execution go on from an earlier place of the conversation: from a step, or from before all.
func (s *session) moveTo(moved conversation.Conversation, from *domain.Origin) {
	s.talk.move(moved)
	s.agent.standAt(from)
	s.records.move(s.agent.state.ExecutionCount, s.agent.now(), s.hasRecords())
}
