package workflows

import (
	"cmp"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// Time-outs that no definition sets.
const (
	// listTimeout has room for a key that a vault is slow to hand out.
	listTimeout   = 2 * time.Minute
	checkTimeout  = 30 * time.Second
	recordTimeout = 5 * time.Minute
	// longestTimeout bounds those that a definition or a tool sets: the server
	// refuses what overflows.
	longestTimeout = 30 * 24 * time.Hour
	// maxSummary bounds a summary; the server refuses 400 bytes.
	maxSummary = 200
	// ownAttempts bounds the tries of what no definition speaks of: to resolve, to
	// record, to check.
	ownAttempts = domain.DefaultAttempts
	// storeAttempts bounds them where the run may go on and try again later.
	storeAttempts = 4
	// mostTries bounds how often an activity, or a call, is tried.
	mostTries = 1000
)

func (s session) hookOptions(spec contract.HookSpec) workflow.ActivityOptions {
	return s.briefOptions(spec.TimeLimit(), max(spec.Attempts, 1), fmt.Sprintf("hook %s · %s", spec.Name, spec.Trigger))
}

// briefOptions are those of what has nothing to tell when it is cut off.
func (s session) briefOptions(timeout time.Duration, attempts int, summary string) workflow.ActivityOptions {
	options := s.activityOptions(timeout, attempts, summary)
	options.WaitForCancellation = false
	return options
}

// modelOptions are those of an inference, after so many tries.
func (s session) modelOptions(summary string, tried int) workflow.ActivityOptions {
	options := s.activityOptions(s.resolved.InferenceTimeout(), max(s.tryLimit()-tried, 1), summary)
	// The server drops what it knows of a lost try where a stop meets the wait for the next.
	options.RetryPolicy.NonRetryableErrorTypes = append(options.RetryPolicy.NonRetryableErrorTypes, "TemporalTimeout:Heartbeat", "TemporalTimeout:StartToClose")
	if s.resolved.RateLimit != nil {
		options.TaskQueue = s.resolved.RateLimit.TaskQueue
	}
	return options
}

// toolOptions are those of one try of a tool call. The workflow makes further ones: the
// server drops what it knows of a try where a stop meets the wait for the next.
func (s session) toolOptions(tool domain.ToolSpec, summary string) workflow.ActivityOptions {
	return s.activityOptions(s.resolved.ToolTimeout(tool), 1, summary)
}

// activityOptions are those of an activity. The summary tells the story in
// Temporal's own UI and holds no user text.
func (s session) activityOptions(timeout time.Duration, attempts int, summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: min(max(timeout, 0), longestTimeout) + domain.ReportTime,
		HeartbeatTimeout:    s.heartbeat(),
		WaitForCancellation: true,
		Summary:             domain.Shorten(summary, maxSummary),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:        s.firstRetry(),
			BackoffCoefficient:     2,
			MaximumInterval:        longestBackoff,
			MaximumAttempts:        int32(min(attempts, mostTries)), //nolint:gosec // bounded by min
			NonRetryableErrorTypes: []string{payloadSizeError},
		},
	}
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

// asHook is whileReplaced for hooks, which a gentle stop lets have their say.
func (s session) asHook() search { return search{30, longestBackoff, s.mail.BackOff} }

// askAnother waits for another worker where the one that was asked lacks what it needs,
// as some do while workers are replaced, and reports whether to ask it. Whoever asks
// then lets the server choose, which else gives work to the worker that has the workflow.
func (s session) askAnother(err *domain.Error, asked int, as search) bool {
	if asked >= as.tries || !s.lacked(err) {
		return false
	}
	s.noteLacking(err.Message)
	return as.pause(min(s.backoff(asked), as.longest))
}

// lacked reports whether a worker lacked what it needs, and others are asked then.
func (s session) lacked(err *domain.Error) bool {
	return err.Lacking && workflow.GetVersion(s.root, lackingWorkers, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// tryLimit bounds the tries of an inference or a repeatable call.
func (s session) tryLimit() int { return s.in.Definition.Tries() }

// longestBackoff bounds the delay after a try, which doubles with each.
const longestBackoff = 30 * time.Second

func (s session) backoff(tries int) time.Duration {
	return min(s.firstRetry()<<min(tries-1, 20), longestBackoff)
}

// apart is how long a call waits whose worker was lost: the inferences that died with
// it go first, and the calls do not come back together. It is the same on replay.
func (s session) apart(id domain.ToolExecutionID) time.Duration {
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
