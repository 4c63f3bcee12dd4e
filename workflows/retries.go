package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// A policy says how activities are attempted: within which time, how often, and after which pauses.
type policy struct {
	config *configuration
	agent  *agent
	// given is the timing of whoever started the agent, for as long as no worker has said its own.
	given contract.Timing
}

// askAnother waits for another worker where the one that was asked lacks what it needs, as some do while workers are replaced,
// and reports whether to ask it. That takes some ten minutes, or briefly half of one: where an agent begins, its definition
// may be wrong.
func (p *policy) askAnother(err *domain.Error, asked int, briefly bool, pause func(time.Duration) bool) bool {
	tries, longest := 30, longestBackoff
	if briefly {
		tries, longest = 16, 2*time.Second
	}
	if asked >= tries || !err.Lacking {
		return false
	}
	p.agent.noteLacking(err.Message)
	return pause(p.withJitter(min(p.backoff(asked), longest), asked, 0))
}

// retry awaits an activity, again and again while again says so after so many that have failed. From the second attempt on
// the server chooses the worker, which else is the one that has the workflow.
func retry[In, Out any](
	admission mailbox.Admission, options workflow.ActivityOptions, activity contract.Activity[In, Out], in *In, again func(failed int, err error) bool,
) (*Out, error) {
	for failed := 0; ; {
		options.DisableEagerExecution = failed > 0
		out, err := mailbox.Await(admission, options, activity, *in)
		if failed++; err == nil || !again(failed, err) {
			return out, err
		}
	}
}

// tryLimit bounds the tries of an inference or a repeatable call.
func (p *policy) tryLimit() int { return min(p.config.Definition.Tries(), mostTries) }

// longestBackoff bounds the delay after a try, which doubles with each.
const longestBackoff = 30 * time.Second

func (p *policy) backoff(tries int) time.Duration {
	return min(p.firstRetry()<<min(tries-1, 20), longestBackoff)
}

// withJitter makes a delay up to a quarter longer, by the execution, the step, the call's
// position in it and how often it was tried: the same on replay, another for others.
func (p *policy) withJitter(delay time.Duration, tries, position int) time.Duration {
	id := p.agent.state.Execution.ID.Step(p.agent.state.StepCount() + 1).Tool(position).UUID
	chance := time.Duration(id[9+tries%7]) // the bytes before are not all random
	return delay + min(delay, longestBackoff)/4*chance/255
}

// timing is the worker's, whose way to the server counts.
func (p *policy) timing() contract.Timing {
	if p.config.Resolved != nil && p.config.Resolved.Timing != (contract.Timing{}) {
		return p.config.Resolved.Timing
	}
	return p.given
}

func (p *policy) heartbeat() time.Duration {
	return min(cmp.Or(max(p.timing().Heartbeat, 0), 30*time.Second), longestTimeout)
}

func (p *policy) firstRetry() time.Duration {
	return min(cmp.Or(max(p.timing().FirstRetry, 0), time.Second), longestBackoff)
}
