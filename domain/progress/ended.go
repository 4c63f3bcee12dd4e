package progress

import (
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// What a reader of a history concludes of a step, where a workflow decides.

// An unmade is the reply of a call that may be made again, where it is not: it
// surely did not begin, or may be repeated, or is only asked about.
type unmade struct{ ToolReplied }

// take takes an answer that no hook has changed.
func (s Step) take(reply contract.ModelReply, at At) Step {
	m, _ := Sound(reply.Message)
	last := s.last
	s = s.With(Answered{Message: m, Response: reply.Response, Invalid: reply.Invalid}, at)
	switch Read(m, reply.Response) {
	case InPart:
		s.pauses++
		if at.NoTools {
			return s.With(CutOff{By: StopAtPause}, at)
		}
		if s.pauses > MaxPauses {
			return s.With(Failed{Ending(TooManyPauses(s.pauses))}, at)
		}
		s.last = last
	case Nothing:
		switch s.nothings++; {
		case reply.Response.Finish == domain.FinishContentFilter:
			return s.With(Failed{Ending(Withheld())}, at)
		case reply.Response.Finish == domain.FinishLength && last.bound:
			// What the budget left went into reasoning; asking again would too.
			return s
		case at.NoTools:
			return s.With(CutOff{By: StopAtNothing}, at)
		case s.nothings > 1:
			return s.With(Failed{Ending(NothingTwice())}, at)
		}
		s.last = last
	case TooMany:
		return s.With(Failed{Ending(TooManyCalls(len(m.ToolCalls)))}, at)
	case Whole:
		if misfit := Misfit(m, reply.Response, reply.Invalid); misfit != nil {
			s = s.With(Failed{misfit}, at)
		}
		// Of the message only what makes the step's type is kept.
		s.Output = []domain.Message{{Role: domain.RoleAssistant, ToolCalls: m.ToolCalls}}
		return s.With(Wanted{m.ToolCalls}, at)
	}
	return s
}

// A closing is what is known when a step is over.
type closing struct {
	At
	// attempts bounds the tries of an inference.
	attempts int
	// short says that an inference did not fit what was left of the budget,
	// underWay that the server ended the workflow while work was under way.
	short, underWay bool
	// asked says that somebody asked to stop, failed that an error ended the execution.
	asked, failed bool
}

// closed returns the step when nothing more comes of it.
func (s Step) closed(c closing) Step {
	if c.underWay {
		s = s.With(CutOff{By: WorkflowEnded}, c.At)
	} else if s.last != nil {
		s = s.concluded(*s.last, c)
	}
	s.last = nil
	for _, u := range s.unmade {
		s = s.called(u.Tool.Position, u.Reply, c.Stopped, c.At)
	}
	s.unmade = nil
	s.ToolExecutions = slices.Clone(s.ToolExecutions)
	for i, call := range s.ToolExecutions {
		if c.underWay && call.InFlight() {
			s.ToolExecutions[i].Error = domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown,
				"the workflow ended while it was under way; nobody knows what became of it")
		}
		if call.StartedAt.IsZero() && call.Error == nil && call.Approval.Waits() {
			s = s.called(i, Unanswered(NotApproved()), c.Stopped, c.At)
		} else if call.StartedAt.IsZero() && call.Error == nil {
			s.ToolExecutions[i].Error = domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "it was not begun; only a worker can say why")
		}
	}
	return s
}

// concluded returns the step with what followed from its last inference.
func (s Step) concluded(last inference, c closing) Step {
	stop := CutOff{By: StopInInference}
	answered := last.loss == nil && last.reply.Outcome == contract.Answered
	if answered && last.summary {
		return s
	}
	verdict, err := Judge(last.reply, last.tries, c.attempts, c.Stopped)
	elsewhere := false // it was to go to another worker
	if last.loss != nil {
		last.reply, verdict, err = last.loss.Kept(), Fail, last.loss.Err()
		elsewhere = !c.failed && (err.Lacking || err.Code == domain.CodeRerouted)
	}
	if last.again && !last.summary {
		stop.Reply = last.reply
	}
	switch {
	case c.short && !c.Stopped:
		return s.With(CutOff{By: NoBudget, Reply: stop.Reply}, c.At)
	case c.Stopped && (answered || last.loss != nil):
		verdict = Stop
	case c.asked && (verdict == Again || last.again || elsewhere): // it waited to be made again
		return s.With(stop, c.At)
	}
	switch verdict {
	case Stop:
		if !last.summary && !answered {
			stop.Reply = last.reply
		}
		return s.With(stop, c.At)
	case Fail:
		if last.summary && last.loss == nil && last.reply.Outcome != contract.BilledFailure && !c.failed {
			return s.With(stop, c.At) // as it was once
		}
		return s.With(Failed{Ending(err)}, c.At)
	case Again, Take:
	}
	return s
}

func (s Step) unfinished() bool {
	return s.Response == nil || s.last != nil ||
		slices.ContainsFunc(s.ToolExecutions, func(t domain.ToolExecution) bool { return t.CompletedAt.IsZero() })
}

// Execution returns the step as one that is over.
func (s Step) Execution() domain.StepExecution {
	return domain.StepExecution{Step: s.AgentStep, StartedAt: s.StartedAt, CompletedAt: s.SeenAt}
}

func (a Agent) closing(t time.Time) closing {
	return closing{At: a.at(t), attempts: a.Definition.Tries(), asked: len(a.Execution.Stops) > 0}
}
