package kills

import (
	"context"
	"time"

	"everstep/domain/account"
	"everstep/starter/process"
)

// A statusAnswer is what an agent's status was told to be while it ran, worker up or down.
type statusAnswer struct {
	view account.Status
	err  error
	took time.Duration
	// before and after are what the runner had seen of the agent before the question and after the answer.
	before, after standing
}

// askStatus asks for the status of an agent from when it has begun until it is over.
func (l *runner) askStatus(ctx context.Context, r *run, begun <-chan struct{}) {
	const every = 250 * time.Millisecond
	select {
	case <-ctx.Done():
		return
	case <-begun:
	}
	for err := error(nil); err == nil; err = process.Pause(ctx, every) {
		a := statusAnswer{before: l.standing(r)}
		began := time.Now()
		a.view, a.err = l.agents.Status(ctx, r.id)
		a.took, a.after = time.Since(began), l.standing(r)
		if ctx.Err() == nil {
			r.answers = append(r.answers, a)
		}
	}
}
