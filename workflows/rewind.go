package workflows

import (
	"cmp"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/conversation"
	"everstep/workflows/internal/mailbox"
)

// checkRewind refuses what is no step of this session's past, and what an execution could not begin with. A suspended session is
// moved, as by a clear, and begins none.
func (c *commands) checkRewind(r contract.RewindRequest) error {
	count := c.agent.state.ExecutionCount
	switch {
	case r.Number < 1 || r.Number > count || r.Origin.ExecutionID != c.session.in.AgentID.Execution(c.session.info.FirstRunID, r.Number):
		return domain.Invalidf("origin: %s is not execution %d of this session, which has had %d", r.Origin.ExecutionID, r.Number, count)
	case r.Origin.AgentID != c.session.in.AgentID || r.Origin.Step < 0:
		return domain.Invalidf("origin: is no step of this agent; rewind with a client of Everstep")
	case r.Newest != count:
		return domain.Deniedf("rewind: execution %d has ended since the past was read; look at it, and rewind again", count)
	}
	if err := c.talk.CheckRewind(r, c.stored); err != nil || r.Prompt == "" {
		return err
	}
	return cmp.Or(c.notSuspended("rewind"), c.checkBeginning(r.Message()))
}

// stored reports whether storage has all messages from an index on that have left memory.
func (c *commands) stored(from int) bool {
	for _, segment := range c.run.segments {
		if segment.From <= from && from < segment.To {
			from = segment.To
		}
	}
	return from >= c.talk.Log().Base()
}

// rewind has the session stand at a step of its past: the model sees what it saw then, and the next execution goes on
// from there, at once where a prompt is given. All that was done since stays: what it has used, what is allowed, the
// calls of unknown outcome and the effects of all.
func (c *commands) rewind(r contract.RewindRequest) contract.RewindReply {
	reply := contract.RewindReply{
		ExecutionID: c.session.nextExecutionID(), Number: c.agent.state.ExecutionCount + 1, RunID: c.session.info.WorkflowExecution.RunID,
		Began: r.Prompt != "", TakenBack: c.talk.ShownSince(r.Log.Length),
	}
	c.moveTo(c.talk.WithRewound(r, reply.Number), &r.Origin)
	if reply.Began {
		c.mail.Post(mailbox.NextExecution{SendRequest: r.Message()})
	}
	return reply
}

// clear is a rewind to before all messages. What the agent is, what it has done and what is allowed stays: calls of unknown
// outcome, standing approvals, trusted values, notes of tools.
func (c *commands) clear(contract.ClearRequest) contract.ClearReply {
	reply := contract.ClearReply{Messages: c.talk.ShownSince(0)}
	c.moveTo(c.talk.WithCleared(c.agent.state.ExecutionCount+1), nil)
	return reply
}

// moveTo has the next execution go on from an earlier place of the conversation: from a step, or from before all.
func (c *commands) moveTo(moved conversation.Conversation, from *domain.Origin) {
	c.talk.move(moved)
	c.agent.adopt(must(c.agent.state.WithOrigin(from, c.agent.now())))
	c.session.records.move()
}
