package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// An outage is of the storage that a run needs to continue as new. It goes on meanwhile,
// and tries again after more and more steps, so that what fails slowly holds it up little.
type outage struct {
	// why is how the newest try failed; empty where none has.
	why string
	// tries are those that failed and are made again.
	tries int
	// steps are those before the next try.
	steps int
}

// mostSteps bounds the steps between two tries.
const mostSteps = 64

// suffers reports whether the newest try failed and the run goes on all the same.
func (r *run) suffers() bool { return r.outage.tries > 0 }

// pause is how long the run waits after its newest try, at most longest.
func (r *run) pause(longest time.Duration) time.Duration {
	return min(time.Minute<<min(r.outage.tries-1, 10), longest)
}

// triesStorage counts a step, and reports whether the storage is to be tried after it.
func (r *run) triesStorage() bool {
	r.outage.steps--
	return r.outage.steps <= 0
}

// outlives reports whether the session goes on in its run, though that should continue as new and the storage failed.
func (r *run) outlives(why *domain.Error) bool {
	if r.exhausted() { // what is left of the run is for its end
		r.outage = outage{why: why.Message}
		return false
	}
	r.outage = outage{why: why.Message, tries: r.outage.tries + 1, steps: min(1<<min(r.outage.tries, 16), mostSteps)}
	workflow.GetLogger(r.session.root).Warn("the run cannot continue as new, and goes on", "error", why, "tries", r.outage.tries)
	return true
}
