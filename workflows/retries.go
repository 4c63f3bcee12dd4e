package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// retries says who makes again what was lost in this run, as far as it was asked: the
// workflow does, but the server where an older worker let it and the run began so.
type retries struct {
	root workflow.Context
	// calls and inferences are the versions that were answered; zero: none was yet.
	calls, inferences workflow.Version
}

// ownTries is the version from which the workflow makes a repeatable call again,
// and so knows that it has begun; from 2 on it also counts the workers that were
// lost. It must never change.
const ownTries = "own-tries"

// lostInference is the version from which the workflow makes an inference again whose
// worker was lost, and so knows what was said and spent; from 2 on lost workers are no
// attempts of the inference's own, and what was asked is asked again as it was. It must
// never change.
const lostInference = "lost-inference"

func (r *retries) askCalls() {
	r.calls = workflow.GetVersion(r.root, ownTries, workflow.DefaultVersion, 2)
}

func (r *retries) askInferences() {
	r.inferences = workflow.GetVersion(r.root, lostInference, workflow.DefaultVersion, 2)
}

// call is the request for a call as the run has it made again, and how often the server tries it.
func (r *retries) call(request contract.ToolRequest) (contract.ToolRequest, int) {
	switch r.calls {
	case workflow.DefaultVersion:
		tries := request.Tries
		request.Tries, request.Losses = 0, 0
		return request, max(tries, 1)
	case 1:
		request.Losses = 0
	}
	return request, 1
}

// inference is the request for an inference as the run has it made again.
func (r *retries) inference(request contract.ModelRequest) contract.ModelRequest {
	switch r.inferences {
	case workflow.DefaultVersion:
		request.Tries, request.Losses = 0, 0
	case 1:
		request.Lost, request.Losses = 0, 0
	}
	return request
}

// callAgain reports whether a call is made again after a loss.
func (r *retries) callAgain(loss progress.Loss, request contract.ToolRequest) bool {
	uncounted := request
	if uncounted.Losses = 0; !loss.MadeAgain(uncounted) {
		return false
	}
	r.askCalls()
	request, _ = r.call(request)
	return loss.MadeAgain(request)
}

// asBefore reports whether an inference that was lost is made again as it was.
func (r *retries) asBefore() bool { return r.inferences > 1 }

// inferenceAgain is the request of an inference that was lost, without tries where it
// is not made again.
func (r *retries) inferenceAgain(loss progress.Loss, request contract.ModelRequest, cutOff bool) contract.ModelRequest {
	if loss.AskedAgain(request) && !cutOff {
		r.askInferences()
		if request = r.inference(request); loss.AskedAgain(request) {
			return request
		}
	}
	request.Tries = 0
	return request
}

// lackingWorkers is the version from which another worker is asked where one lacks
// what it needs. It must never change.
const lackingWorkers = "lacking-workers"

// A search for another worker is so many tries, with pauses up to a longest.
type search struct {
	tries   int
	longest time.Duration
	pause   func(time.Duration) bool
}

// whileReplaced takes some ten minutes. asFirst takes half of one: where an agent
// begins, its definition may be wrong.
func (s session) whileReplaced() search { return search{30, longestBackoff, s.mail.BackOffInference} }
func (s session) asFirst() search       { return search{16, 2 * time.Second, s.mail.BackOffInference} }

// briefLastWords is the version from which a stop of mode now lets the last hooks of an
// execution wait for a worker as briefly as those who begin. It must never change.
const briefLastWords = "brief-last-words"

// asHook is whileReplaced for hooks, which a gentle stop lets have their say.
func (s session) asHook() search {
	if s.mail.Ending() && s.mail.CutOff() && workflow.GetVersion(s.root, briefLastWords, workflow.DefaultVersion, 1) != workflow.DefaultVersion {
		return search{16, 2 * time.Second, s.mail.BackOff}
	}
	return search{30, longestBackoff, s.mail.BackOff}
}

// askAnother waits for another worker where the one that was asked lacks what it needs,
// as some do while workers are replaced, and reports whether to ask it. Whoever asks
// then lets the server choose, which else gives work to the worker that has the workflow.
func (s session) askAnother(err *domain.Error, asked int, as search) bool {
	if asked >= as.tries || !s.lacked(err) {
		return false
	}
	s.noteLacking(err.Message)
	return as.pause(s.apart(min(s.backoff(asked), as.longest), asked, 0))
}

// lacked reports whether a worker lacked what it needs, and others are asked then.
func (s session) lacked(err *domain.Error) bool {
	return err.Lacking && workflow.GetVersion(s.root, lackingWorkers, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// tryLimit bounds the tries of an inference or a repeatable call.
func (s session) tryLimit() int { return min(s.own.Tries(), mostTries) }

// longestBackoff bounds the delay after a try, which doubles with each.
const longestBackoff = 30 * time.Second

func (s session) backoff(tries int) time.Duration {
	return min(s.firstRetry()<<min(tries-1, 20), longestBackoff)
}

// spread is the version from which what failed together does not come back together.
// It must never change.
const spread = "spread-retries"

// apart makes a delay up to a quarter longer, by the execution, the step, the call's
// position in it and how often it was tried: the same on replay, another for others.
func (s session) apart(delay time.Duration, tries, position int) time.Duration {
	if workflow.GetVersion(s.root, spread, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return delay
	}
	return delay + s.later(delay, tries, position)
}

// later is what a delay is made longer by.
func (s session) later(delay time.Duration, tries, position int) time.Duration {
	execution, _ := s.state.Execution()
	id := execution.ID().Step(s.state.StepCount() + 1).Tool(position).UUID
	chance := time.Duration(id[9+tries%7]) // the bytes before are not all random
	return min(delay, longestBackoff) / 4 * chance / 255
}

// afterLoss is how long a call waits at least whose worker was lost: the inferences that
// died with it go first, and the calls do not come back together.
func (s session) afterLoss(id domain.ToolExecutionID) time.Duration {
	least := s.heartbeat() / 6
	return least + least*time.Duration(id.UUID[15])/512
}

// timing is the worker's, whose way to the server counts.
func (s session) timing() contract.Timing {
	if s.resolved != nil && s.resolved.Timing != (contract.Timing{}) {
		return s.resolved.Timing
	}
	return s.in.Timing
}

func (s session) heartbeat() time.Duration {
	return min(cmp.Or(max(s.timing().Heartbeat, 0), 30*time.Second), longestTimeout)
}

func (s session) firstRetry() time.Duration {
	return min(cmp.Or(max(s.timing().FirstRetry, 0), time.Second), longestBackoff)
}
