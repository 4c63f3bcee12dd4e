package client

import (
	"cmp"
	"context"
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

// attempts is what only the histories of an execution's runs have: why attempts at inferences failed, how long those waited for
// their turn, and how far the newest run is on the way to the next.
type attempts struct {
	steps map[int]stepAttempts
	// stepsOfRun counts the steps of the newest run, of all executions, firstEvent are the bytes of its first event, and
	// suggested says that the server suggests a new run.
	stepsOfRun int
	firstEvent int64
	suggested  bool
	// gone says that runs have been deleted, and unread what of the others cannot be read.
	gone   bool
	unread []string
}

// attemptsOf reads the runs in which an execution was, and the newest run.
func (c *Client) attemptsOf(ctx context.Context, e explanation) (all attempts, err error) {
	all = attempts{steps: map[int]stepAttempts{}}
	var runs []string
	if runs, all.gone, err = c.runsOfExecution(ctx, e.agent, cmp.Or(e.asked.RunID, e.runID()), e.asked.Number, e.asked.ExecutionID); err != nil {
		return all, err
	}
	if !slices.Contains(runs, e.runID()) {
		runs = append(runs, e.runID())
	}
	for read := range c.histories(ctx, e.agent, runs) {
		if read.err != nil && !deleted(read.err) {
			return all, read.err
		}
		all.gone = all.gone || read.err != nil
		newest := domain.StepID{}
		for _, recorded := range taken(read.all) {
			newest = all.take(e, recorded, newest)
		}
	}
	return all, nil
}

// runsOfExecution are the runs in which an execution was, the oldest first, from one of the newest of them on backwards. It says
// whether some have been deleted.
func (c *Client) runsOfExecution(ctx context.Context, a agent, runID string, number int, id domain.ExecutionID) (runs []string, gone bool, err error) {
	for runID != "" {
		began, err := c.reader(a).First(ctx, runID)
		if deleted(err) {
			gone = true
			break
		}
		if err != nil {
			return nil, gone, err
		}
		took := history.TakeoverOf(began.Input)
		begins := took.Number < number || took.Begins && took.Number == number
		if begins || took.Open && took.Execution == id {
			runs = append(runs, runID)
		}
		if begins {
			break
		}
		runID = began.Previous()
	}
	slices.Reverse(runs)
	return runs, gone, nil
}

// taken are the facts of a run without the ends of work that no worker has taken: the account counts nothing of them.
func taken(facts []history.Recorded) []history.Recorded {
	done := len(facts) - 1
	for done >= 0 && facts[done].Fact != history.Fact(history.TaskDone{}) {
		done--
	}
	since := slices.DeleteFunc(slices.Clone(facts[done+1:]), func(r history.Recorded) bool {
		switch r.Fact.(type) {
		case history.Lost, history.ModelReplied:
			return true
		}
		return false
	})
	return append(slices.Clip(facts[:done+1]), since...)
}

// A stepAttempts are the attempts at the inferences of a step that failed, and how long those are known to have waited for their
// turns.
type stepAttempts struct {
	retries []ExplainRetry
	queued  time.Duration
}

// failed counts the attempts.
func (s stepAttempts) failed() (n int) {
	for _, r := range s.retries {
		n += r.Attempts
	}
	return n
}

// add notes attempts that failed one after another within one activity: the last one for why, those before it for before, where
// that is known. What all have used, of which the price is nil where the model has none, is noted with the last.
func (s stepAttempts) add(n int, before, why *domain.Error, used domain.Usage, price *domain.Price) stepAttempts {
	if n < 1 {
		return s
	}
	if n > 1 && before != nil {
		s, n = s.add(n-1, nil, before, domain.Usage{}, price), 1
	}
	retry := ExplainRetry{Attempts: n, Reason: "history does not say why", Usage: used.View()}
	if why != nil {
		retry.Reason = why.Message
		if why.Code != "" {
			retry.Code = &why.Code
		}
	}
	if price != nil {
		retry.CostNanoUSD = new(price.Cost(used))
	}
	s.retries = append(slices.Clip(s.retries), retry)
	return s
}

// replied takes the reply of an inference, which may be no answer.
func (s stepAttempts) replied(w history.Work, reply contract.ModelReply, price *domain.Price) stepAttempts {
	failed := max(reply.Tries, w.Attempt, 1)
	if reply.Outcome == contract.Answered || reply.Outcome == contract.Interrupted {
		return s.add(failed-1, nil, w.Before, reply.Spent, price)
	}
	return s.add(failed, w.Before, reply.WhyUnanswered(), reply.Spent, price)
}

// lost takes the end of an inference without a reply. To have come to a worker that has another task queue for it, or lacks what it
// needs, is no attempt. What was cut off while it waited under a rate limit mostly waited for its turn, and was never begun: history
// does not tell that from a wait for another attempt.
func (s stepAttempts) lost(w history.Work, loss contract.Loss, turns bool, price *domain.Price) stepAttempts {
	err := loss.Err()
	if err.Code == domain.CodeRerouted || err.Lacking || w.Attempt == 0 && turns && err.Code == domain.CodeInterrupted {
		return s
	}
	return s.add(max(w.Attempt, 1), w.Before, err, loss.Spent(*w.Model, loss.AskedAgain(*w.Model)), price)
}

// take takes a fact. newest is the step that has asked for work last.
func (a *attempts) take(e explanation, recorded history.Recorded, newest domain.StepID) domain.StepID {
	of := func(w history.Work, take func(stepAttempts) stepAttempts) {
		if w.Model != nil && w.Execution == e.asked.ExecutionID {
			a.steps[w.Step] = take(a.steps[w.Step])
		}
	}
	switch f := recorded.Fact.(type) {
	case history.RunBegan:
		a.stepsOfRun, a.firstEvent, a.suggested = 0, int64(f.Size), false
	case history.TaskBegan:
		a.suggested = f.Suggested
	case history.Unreadable:
		a.unread = append(a.unread, f.String())
	case history.Asked:
		if id := f.Execution.Step(f.Step); f.Step > 0 && id != newest {
			newest = id
			a.stepsOfRun++
		}
	case history.Attempted:
		of(f.Work, func(s stepAttempts) stepAttempts {
			if f.Attempt == 1 && e.takesTurns(f.Work) {
				s.queued += recorded.At.Sub(f.Since)
			}
			return s
		})
	case history.ModelReplied:
		of(f.Work, func(s stepAttempts) stepAttempts { return s.replied(f.Work, f.Reply, e.price()) })
	case history.Lost:
		of(f.Work, func(s stepAttempts) stepAttempts { return s.lost(f.Work, f.Loss, e.takesTurns(f.Work), e.price()) })
	}
	return newest
}

// takesTurns reports whether work is an inference that waits for its turn under the rate limit.
func (e explanation) takesTurns(w history.Work) bool {
	limit := e.Head.Configuration.RateLimit
	return w.Model != nil && limit != nil && w.Queue == limit.TaskQueue
}
