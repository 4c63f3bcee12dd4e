package kills

import (
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/process"
)

const (
	// pollEvery is between two questions for a status.
	pollEvery = 250 * time.Millisecond
	// pollPatience is how long an answer may take.
	pollPatience = 5 * time.Second
)

// A statusWatch asks for an agent's status throughout its run, worker up or down, and compares the answers with what the
// runner has seen.
type statusWatch struct {
	proof  *proof
	runner *runner
	run    *run
	base   left
	newest
}

// A newest is the newest answer.
type newest struct{ number, steps int }

// statusFigures are about the answers of all watches.
type statusFigures struct {
	answers int
	sources map[contract.StatusSource]int
	slowest time.Duration
}

// follow asks from when the agent has begun.
func (w *statusWatch) follow(ctx context.Context, begun <-chan struct{}) {
	select {
	case <-ctx.Done():
		return
	case <-begun:
	}
	for err := error(nil); err == nil; err = process.Pause(ctx, pollEvery) {
		w.poll(ctx)
	}
}

func (w *statusWatch) poll(ctx context.Context) {
	before, began := w.runner.standing(w.run), time.Now()
	view, err := w.runner.agents.Status(ctx, w.run.id)
	took, after := time.Since(began), w.runner.standing(w.run)
	if ctx.Err() != nil || !w.holds(err == nil, "it could not be told: %v", err) {
		return
	}
	w.holds(took <= pollPatience, "it took %s to tell", took.Round(time.Millisecond))
	w.proof.polled(view.Source, took)
	w.check(view, before, after)
}

// check compares an answer with what was seen before the question and after it.
func (w *statusWatch) check(view contract.StatusView, before, after standing) {
	w.holds(view.Number > w.number || view.Number == w.number && view.StepCount >= w.steps,
		"it went back from step %d of execution %d to step %d of execution %d (told by %s)",
		w.steps, w.number, view.StepCount, view.Number, view.Source)
	w.newest = newest{view.Number, view.StepCount}
	// A step is complete when the next one's inference begins, and no more are than inferences have begun.
	w.holds(view.Number != before.execution || view.StepCount >= before.requested-1,
		"%d steps were told of execution %d when step %d had begun (told by %s)", view.StepCount, view.Number, before.requested, view.Source)
	w.holds(view.Number != after.execution || view.StepCount <= after.requested,
		"%d steps were told of execution %d when step %d was the newest (told by %s)", view.StepCount, view.Number, after.requested, view.Source)
	results := w.base.agents[root].results
	switch {
	case view.Number < 1 || view.Number > len(results):
		w.holds(false, "execution %d was told", view.Number)
	case view.Status.Terminal():
		want := results[view.Number-1].Outcome
		w.holds(view.Status == want.Status && view.StepCount == want.Steps,
			"execution %d was told to have ended %s after %d steps; undisturbed it ends %s after %d (told by %s)",
			view.Number, view.Status, view.StepCount, want.Status, want.Steps, view.Source)
	default:
		w.holds(view.Status == domain.StatusInProgress || view.Status == domain.StatusPending, "execution %d was told to be %s", view.Number, view.Status)
	}
}

func (w *statusWatch) holds(kept bool, format string, args ...any) bool {
	if !kept {
		w.proof.broke(w.run, PromiseStatus, format, args...)
	}
	return kept
}

func (p *proof) polled(source contract.StatusSource, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.status
	if s.sources == nil {
		s.sources = make(map[contract.StatusSource]int)
	}
	s.answers++
	s.sources[source]++
	s.slowest = max(s.slowest, took)
}

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
		l.proof.broke(r, PromiseGoesOn, "execution %d was paused at the kill and was not after it", paused.Number)
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
	l.proof.broke(r, PromiseGoesOn, "cannot %s: %s", what, err)
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
