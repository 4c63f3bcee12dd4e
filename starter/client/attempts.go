package client

import (
	"cmp"
	"context"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// attempts is what only the histories of an execution's runs have: why attempts at inferences failed, how long those waited for
// their turn, and how far the newest run is on the way to the next.
type attempts struct {
	steps map[int]progress.Step
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
	all = attempts{steps: map[int]progress.Step{}}
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
		took := progress.Carried(began.Input)
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
func taken(facts []progress.Recorded) []progress.Recorded {
	done := len(facts) - 1
	for done >= 0 && facts[done].Fact != progress.Fact(progress.TaskDone{}) {
		done--
	}
	since := slices.DeleteFunc(slices.Clone(facts[done+1:]), func(r progress.Recorded) bool {
		switch r.Fact.(type) {
		case progress.Lost, progress.ModelReplied:
			return true
		}
		return false
	})
	return append(slices.Clip(facts[:done+1]), since...)
}

// take takes a fact. newest is the step that has asked for work last.
func (a *attempts) take(e explanation, recorded progress.Recorded, newest domain.StepID) domain.StepID {
	var work progress.Work
	fact := recorded.Fact
	switch f := fact.(type) {
	case progress.RunBegan:
		a.stepsOfRun, a.firstEvent, a.suggested = 0, int64(f.Size), false
	case progress.TaskBegan:
		a.suggested = f.Suggested
	case progress.Unreadable:
		a.unread = append(a.unread, f.String())
	case progress.Asked:
		if id := f.Execution().Step(f.Step()); f.Step() > 0 && id != newest {
			newest = id
			a.stepsOfRun++
		}
	case progress.Attempted:
		f.Turns = e.takesTurns(f.Work)
		work, fact = f.Work, f
	case progress.ModelReplied:
		work = f.Work
	case progress.Lost:
		f.Turns = e.takesTurns(f.Work)
		work, fact = f.Work, f
	}
	if work.Activity == string(contract.CallModel) && work.Execution() == e.asked.ExecutionID {
		step, begun := a.steps[work.Step()]
		if !begun {
			step = progress.Begin(work.Execution().Step(work.Step()), work.Step())
		}
		a.steps[work.Step()] = step.With(fact, progress.At{Time: recorded.At, Price: e.price()})
	}
	return newest
}

// takesTurns reports whether work is an inference that waits for its turn under the rate limit.
func (e explanation) takesTurns(w progress.Work) bool {
	limit := e.Head.Configuration.RateLimit
	return w.Model != nil && limit != nil && w.Queue == limit.TaskQueue
}
