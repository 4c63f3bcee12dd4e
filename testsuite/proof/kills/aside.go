package kills

import (
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/process"
)

// killAside makes the kills for which a hit is not enough: while the agent is paused with nothing under way, and as soon as
// the server knows that a sub-agent has ended.
func (l *runner) killAside(ctx context.Context, r *run) {
	for {
		select {
		case <-ctx.Done():
			return
		case h := <-r.aside:
			switch l.comes() {
			case Point(contract.Paused):
				l.killPaused(ctx, r, h)
			case pointChildEnded:
				l.killEnded(ctx, r, h)
			default: // it was told twice
			}
		}
	}
}

// comes is the point of the kill to come; empty: none is.
func (l *runner) comes() Point {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		return ""
	}
	return l.next.Point
}

// killNow kills the worker at a hit that lies behind.
func (l *runner) killNow(r *run, h hit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kill(r, r.of(h), hit{WorkflowID: h.WorkflowID, ExecutionID: h.ExecutionID, Step: h.Step})
}

// killPaused pauses, kills and resumes. Where the execution ends first, the kill is still to come; nothing else makes one at
// this boundary.
func (l *runner) killPaused(ctx context.Context, r *run, h hit) {
	paused, err := l.agents.Pause(ctx, r.id)
	if err != nil {
		l.cannot(ctx, r, "pause it", err)
		return
	}
	killed := l.quiet(ctx, r, paused.Number)
	if killed {
		l.killNow(r, h)
	}
	resumed, err := l.agents.Resume(ctx, r.id)
	switch {
	case err != nil:
		l.cannot(ctx, r, "resume it", err)
	case killed && (!resumed.Changed || resumed.ExecutionID != paused.ExecutionID):
		l.note(r, PromiseGoesOn, "execution %d was paused at the kill and was not after it", paused.Number)
	}
}

// quiet waits for a pause with nothing under way; false: the execution ends instead.
func (l *runner) quiet(ctx context.Context, r *run, number int) bool {
	const look = 50 * time.Millisecond
	for {
		view, err := l.agents.Status(ctx, r.id)
		switch {
		case err != nil:
			l.cannot(ctx, r, "see whether it is paused", err)
			return false
		case view.Number != number || view.Status.Terminal():
			return false
		case view.Paused && view.Doing == "paused":
			return true
		}
		if process.Pause(ctx, look) != nil {
			return false
		}
	}
}

// cannot notes what could not be done, unless the execution has ended.
func (l *runner) cannot(ctx context.Context, r *run, what string, err error) {
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Class == client.Refused || ctx.Err() != nil {
		return
	}
	l.note(r, PromiseGoesOn, "cannot %s: %s", what, err)
}

// killEnded kills as soon as the server knows that the sub-agent of a hit, which has its last answer, has ended.
func (l *runner) killEnded(ctx context.Context, r *run, h hit) {
	const look = 2 * time.Millisecond
	for err := error(nil); err == nil; err = process.Pause(ctx, look) {
		described, err := l.proof.temporal.DescribeWorkflowExecution(ctx, h.WorkflowID, "")
		if err == nil && described.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			l.killNow(r, h)
			return
		}
	}
}
