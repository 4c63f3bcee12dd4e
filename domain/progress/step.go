package progress

import (
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Step is one step as far as it has come, with what its requests and replies alone tell.
type Step struct {
	domain.AgentStep
	// Retries are the attempts at inferences that failed.
	Retries []Retry
	// Queued is how long its inferences are known to have waited for their turns.
	Queued time.Duration
	// tries counts the attempts at its inferences.
	tries int
}

// A Retry are attempts at an inference that failed one after another within one
// activity. Of several that ended without an answer the last one has its own.
type Retry struct {
	Attempts    int
	Why         *domain.Error // nil: nobody has recorded it
	Usage       domain.Usage
	CostNanoUSD int64 // zero where the model has no price
}

// An At says when and under which circumstances a fact came.
type At struct {
	Time time.Time
	// Price is the model's, nil where it has none.
	Price *domain.Price
	// Stopped says that a stop let nothing go on by then.
	Stopped bool
}

// Begin returns a step in which nothing has happened.
func Begin(id domain.StepID, number int) Step {
	return Step{AgentStep: domain.AgentStep{ID: id, Number: number}}
}

// With returns the step with one more fact. Others leave it as it is.
func (s Step) With(fact Fact, at At) Step {
	switch f := fact.(type) {
	case Attempted:
		if f.Attempt == 1 && f.Turns {
			s.Queued += at.Time.Sub(f.Since)
		}
	case ModelReplied:
		return s.replied(f, at)
	case ToolReplied:
		return s.called(f.Tool.Position, f.Reply, f.CutOff || f.Tool.Stopped, at)
	case Verified:
		return s.verified(f, at)
	case ChildEnded:
		return s.childEnded(f, at)
	case HandedOver:
		return s.called(f.Tool.Position, f.Reply(), f.CutOff, at)
	case Lost:
		return s.lost(f, at)
	case Answered:
		s.Response = &f.Response
	case Wanted:
		s.ToolExecutions = make([]domain.ToolExecution, len(f.Calls))
		for i, call := range f.Calls {
			s.ToolExecutions[i] = domain.ToolExecution{ID: s.ID.Tool(i), Call: call}
		}
	case CutOff:
		return s.cutOff(f)
	case Failed:
		s.Errors = append(slices.Clip(s.Errors), *f.Err)
	}
	return s
}

// replied counts what an inference used, lost and tried.
func (s Step) replied(f ModelReplied, at At) Step {
	s = s.tried(max(f.Reply.Tries, 1)).spent(f.Reply.Response.Usage, f.Reply.Spent, at.Price)
	failed, before, why := max(f.Reply.Tries, f.Attempt, 1), f.Before, WhyUnanswered(f.Reply)
	if f.Reply.Outcome == contract.Answered || f.Reply.Outcome == contract.Interrupted {
		failed, before, why = failed-1, nil, f.Before
	}
	return s.retried(failed, before, why, f.Reply.Spent, at.Price)
}

// lost takes what a call without a reply means, and counts what an inference
// without one may have cost. To have come to a worker that has another task
// queue for it, or lacks what it needs, is no attempt.
func (s Step) lost(f Lost, at At) Step {
	if f.Tool != nil {
		reply := f.Loss.ToolReply(*f.Tool)
		if f.Attempt > 1 {
			reply.Attempts = f.Attempt
		}
		return s.called(f.Tool.Position, reply, f.CutOff || f.Tool.Stopped || f.Loss.How == Cancelled, at)
	}
	if f.Verify != nil {
		return s.verified(Verified{Work: f.Work}, at)
	}
	if f.Model == nil {
		return s
	}
	err, spent := f.Loss.Err(), f.Loss.Spent(*f.Model, !at.Stopped && f.Loss.AskedAgain(*f.Model))
	if err.Code == domain.CodeRerouted || err.Lacking {
		return s.spent(domain.Usage{}, spent, at.Price)
	}
	s = s.tried(1).spent(domain.Usage{}, spent, at.Price)
	// What was cut off while it waited under a rate limit mostly waited for its
	// turn, and was never begun. History does not tell that from a wait for
	// another attempt.
	if f.Attempt == 0 && f.Turns && err.Code == domain.CodeInterrupted {
		return s
	}
	return s.retried(max(f.Attempt, 1), f.Before, err, spent, at.Price)
}

// tried counts attempts at the step's inferences. One alone is not worth noting.
func (s Step) tried(n int) Step {
	if s.tries += n; s.tries > 1 {
		s.Tries = s.tries
	}
	return s
}

// spent adds usage and what of it failed attempts lost, each priced by itself.
func (s Step) spent(used, lost domain.Usage, price *domain.Price) Step {
	s.Usage, s.Lost = s.Usage.Add(used).Add(lost), s.Lost.Add(lost)
	if price != nil {
		cost := price.Cost(lost)
		s.LostNanoUSD = domain.AddCost(s.LostNanoUSD, cost)
		s.CostNanoUSD = domain.AddCost(domain.AddCost(s.CostNanoUSD, cost), price.Cost(used))
	}
	return s
}

// retried notes attempts that failed, the last one for why, those before it for
// before, where that is known: what they cost is noted with the last.
func (s Step) retried(n int, before, why *domain.Error, usage domain.Usage, price *domain.Price) Step {
	if n < 1 {
		return s
	}
	if n > 1 && before != nil {
		s, n = s.retried(n-1, nil, before, domain.Usage{}, price), 1
	}
	r := Retry{Attempts: n, Why: why, Usage: usage}
	if price != nil {
		r.CostNanoUSD = price.Cost(usage)
	}
	s.Retries = append(slices.Clip(s.Retries), r)
	return s
}

// FailedAttempts counts the attempts at the step's inferences that failed.
func (s Step) FailedAttempts() int {
	n := 0
	for _, r := range s.Retries {
		n += r.Attempts
	}
	return n
}

// cutOff notes that the step does not come to its own end. Where an answer was
// cut off, what is said of it stays.
func (s Step) cutOff(f CutOff) Step {
	s.Interrupted = true
	s.Errors = append(slices.Clip(s.Errors), *f.By.Err())
	if f.Reply.Message != nil && f.Reply.Outcome != contract.BilledFailure {
		s.Response = &f.Reply.Response
	}
	return s
}

// called notes how a tool call ended, whatever hooks make of it later. A stop
// that cut it off interrupted the step too; one that came with its end did not.
func (s Step) called(position int, reply contract.ToolReply, cutOff bool, at At) Step {
	if position >= len(s.ToolExecutions) {
		return s
	}
	s.ToolExecutions = slices.Clone(s.ToolExecutions)
	execution := &s.ToolExecutions[position]
	execution.CompletedAt, execution.Attempts = at.Time, reply.Attempts
	if reply.Error == nil {
		execution.Value, execution.ResultDigest = reply.Content, reply.ResultDigest
		return s
	}
	code := reply.Error.Code
	execution.Value, execution.Error = "", Bounded(reply.Error)
	execution.NotStarted = !execution.StartedAt.IsZero() && (reply.NotStarted || code == domain.CodeNotRun)
	cut := code == domain.CodeInterrupted || cutOff && (code == domain.CodeNotRun || code == domain.CodeOutcomeUnknown)
	if cut && !s.Interrupted {
		return s.cutOff(CutOff{By: StopInTools})
	}
	return s
}
