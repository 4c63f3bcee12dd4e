package workflows

import (
	"cmp"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A search for another worker is so many tries, with pauses up to a longest.
type search struct {
	tries   int
	longest time.Duration
	pause   func(time.Duration) bool
}

// whileReplaced takes some ten minutes. asFirst takes half of one: where an agent
// begins, its definition may be wrong.
func (s *session) whileReplaced() search { return search{30, longestBackoff, s.mail.BackOffInference} }
func (s *session) asFirst() search       { return search{16, 2 * time.Second, s.mail.BackOffInference} }

// asHook is whileReplaced for hooks, which a gentle stop lets have their say.
func (s *session) asHook() search {
	if s.mail.Ending() && s.mail.CutOff() {
		return search{16, 2 * time.Second, s.mail.BackOff}
	}
	return search{30, longestBackoff, s.mail.BackOff}
}

// askAnother waits for another worker where the one that was asked lacks what it needs,
// as some do while workers are replaced, and reports whether to ask it. Whoever asks
// then lets the server choose, which else gives work to the worker that has the workflow.
func (s *session) askAnother(err *domain.Error, asked int, as search) bool {
	if asked >= as.tries || !err.Lacking {
		return false
	}
	s.agent.log.noteLacking(err.Message)
	return as.pause(s.apart(min(s.backoff(asked), as.longest), asked, 0))
}

// tryLimit bounds the tries of an inference or a repeatable call.
func (s *session) tryLimit() int { return min(s.config.Definition.Tries(), mostTries) }

// longestBackoff bounds the delay after a try, which doubles with each.
const longestBackoff = 30 * time.Second

func (s *session) backoff(tries int) time.Duration {
	return min(s.firstRetry()<<min(tries-1, 20), longestBackoff)
}

// apart makes a delay up to a quarter longer, by the execution, the step, the call's
// position in it and how often it was tried: the same on replay, another for others.
func (s *session) apart(delay time.Duration, tries, position int) time.Duration {
	return delay + s.jitter(delay, tries, position)
}

// jitter is what is added to the delay before a retry, up to a quarter of it. It comes from the id of the call, so that it
// differs from call to call and is the same on replay.
func (s *session) jitter(delay time.Duration, tries, position int) time.Duration {
	id := s.agent.state.Execution.ID.Step(s.agent.state.StepCount() + 1).Tool(position).UUID
	chance := time.Duration(id[9+tries%7]) // the bytes before are not all random
	return min(delay, longestBackoff) / 4 * chance / 255
}

// afterLoss is how long a call waits at least that has lost its worker more than once, and may be why: the inferences that
// died with it go first, and the calls do not come back together.
func (s *session) afterLoss(id domain.ToolExecutionID) time.Duration {
	least := s.heartbeat() / 6
	return least + least*time.Duration(id.UUID[15])/512
}

// timing is the worker's, whose way to the server counts.
func (s *session) timing() contract.Timing {
	if s.config.Resolved != nil && s.config.Resolved.Timing != (contract.Timing{}) {
		return s.config.Resolved.Timing
	}
	return s.in.Timing
}

func (s *session) heartbeat() time.Duration {
	return min(cmp.Or(max(s.timing().Heartbeat, 0), 30*time.Second), longestTimeout)
}

func (s *session) firstRetry() time.Duration {
	return min(cmp.Or(max(s.timing().FirstRetry, 0), time.Second), longestBackoff)
}
