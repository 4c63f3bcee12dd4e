package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// Time-outs that no definition sets.
const (
	// listTimeout has room for a key that a vault is slow to hand out.
	listTimeout   = 2 * time.Minute
	checkTimeout  = 30 * time.Second
	recordTimeout = 5 * time.Minute
	// endedTimeout bounds all tries to put an ended execution among the records: what comes next waits for it.
	// While the store is down one try is given less.
	endedTimeout, outageTimeout = time.Minute, 10 * time.Second
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

// briefOptions are those of what has nothing to tell when it is cut off.
func (p *policy) briefOptions(timeout time.Duration, attempts int, summary string) workflow.ActivityOptions {
	options := p.activityOptions(timeout, attempts, summary)
	options.WaitForCancellation = false
	return options
}

// modelOptions are those of an inference, after so many tries.
func (p *policy) modelOptions(summary string, tried int) workflow.ActivityOptions {
	options := p.activityOptions(p.config.Resolved.InferenceTimeout(), max(p.tryLimit()-tried, 1), summary)
	// The server drops what it knows of a lost try where a stop meets the wait for the next.
	options.RetryPolicy.NonRetryableErrorTypes = append(options.RetryPolicy.NonRetryableErrorTypes, "TemporalTimeout:Heartbeat", "TemporalTimeout:StartToClose")
	if p.config.Resolved.RateLimit != nil {
		options.TaskQueue = p.config.Resolved.RateLimit.TaskQueue
	}
	return options
}

// toolOptions are those of one try of a tool call. The workflow makes further ones: the
// server drops what it knows of a try where a stop meets the wait for the next.
func (p *policy) toolOptions(tool domain.ToolSpec, summary string) workflow.ActivityOptions {
	options := p.activityOptions(p.config.Resolved.ToolTimeout(tool), 1, summary)
	if limit, limited := p.config.Resolved.ToolLimits[tool.Name]; limited {
		options.TaskQueue = limit.TaskQueue
	}
	return options
}

// activityOptions are those of an activity. The summary tells the story in
// Temporal's own UI and holds no user text.
func (p *policy) activityOptions(timeout time.Duration, attempts int, summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: min(max(timeout, 0), longestTimeout) + domain.ReportTime,
		HeartbeatTimeout:    p.heartbeat(),
		WaitForCancellation: true,
		Summary:             domain.Shorten(summary, maxSummary),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:        min(p.withJitter(p.firstRetry(), 0, 0), longestBackoff),
			BackoffCoefficient:     2,
			MaximumInterval:        longestBackoff,
			MaximumAttempts:        int32(min(attempts, mostTries)), //nolint:gosec // bounded by min
			NonRetryableErrorTypes: []string{payloadSizeError},
		},
	}
}
