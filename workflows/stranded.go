package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

const (
	// leastTurn is for how long at least a call waits for its turn, and turnsAhead how many of a rate it lets others have.
	// What has waited longer loses its place, so it should be rare; each further wait is twice as long, up to longestTurn.
	leastTurn   = 2 * time.Minute
	turnsAhead  = 100
	longestTurn = 24 * time.Hour
	// firstTurn bounds the first wait: nobody else would notice for so long that the limit is gone.
	firstTurn = 2 * time.Hour
)

// turnTime is for how long a call waits for its turn before a worker is asked whether its limit still holds; zero: for good.
func (a *callAttempts) turnTime() time.Duration {
	if a.options.TaskQueue == "" {
		return 0
	}
	first := leastTurn
	if limit := a.batch.config.Resolved.ToolLimits[a.tool.Name]; limit.Calls > 0 {
		first = min(max(first, turnsAhead*(limit.Per/time.Duration(limit.Calls))), firstTurn)
	}
	return min(first<<min(a.stranded, 10), longestTurn)
}

// queueNow is where a call is to be made that nobody took, in its coroutine: a worker is asked which limits hold, once for
// all that ask at a time. Where none says, all stays as it was.
func (b *toolBatch) queueNow(ctx workflow.Context, tool string) string {
	if b.relimiting {
		_ = workflow.Await(ctx, func() bool { return !b.relimiting })
	} else if admission, ok := b.mail.Admit(mailbox.WithinStep); ok {
		b.relimiting = true
		b.step.note("nobody takes calls of %s; asking a worker whether its limit still holds", domain.Shorten(tool, 64))
		b.askLimits(ctx, admission)
		b.relimiting = false
	}
	return b.config.Resolved.ToolLimits[tool].TaskQueue
}

func (b *toolBatch) askLimits(ctx workflow.Context, admission mailbox.Admission) {
	options := b.session.policy.briefOptions(listTimeout, ownAttempts, "resolve")
	options.DisableEagerExecution = true
	resolved, _, err := mailbox.Call(ctx, admission, options, contract.ListTools, contract.ResolveRequest{Definition: b.config.asked()})
	if err != nil {
		workflow.GetLogger(b.session.root).Warn("no worker says which limits hold", "error", err)
		return
	}
	b.config.takeLimits(resolved)
}
