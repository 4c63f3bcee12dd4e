package kills

import (
	"context"
	"errors"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/process"
)

const (
	// pollEvery is between two questions about an agent.
	pollEvery = 250 * time.Millisecond
	// pollPatience is how long an answer may take.
	pollPatience = 5 * time.Second
	// pausePoll is between two looks at an agent that is to be paused.
	pausePoll = 50 * time.Millisecond
)

// A statusWatch asks for an agent's status throughout its run, worker up or
// down, and holds the answers against what the controller has seen.
type statusWatch struct {
	run   *chaos
	lane  *chaosLane
	trial *trial
	base  played
	newest
}

type newest struct{ number, steps int }

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
	before, began := w.lane.seen(w.trial), time.Now()
	view, err := w.lane.agents.Status(ctx, w.trial.id)
	took, after := time.Since(began), w.lane.seen(w.trial)
	if ctx.Err() != nil || !w.holds(err == nil, "it could not be told: %v", err) {
		return
	}
	w.holds(took <= pollPatience, "it took %s to tell", took.Round(time.Millisecond))
	w.run.polled(view.Source, took)
	w.check(view, before, after)
}

// check holds an answer against what was seen before the question and after it.
func (w *statusWatch) check(view contract.StatusView, before, after standing) {
	w.holds(view.Number > w.number || view.Number == w.number && view.StepCount >= w.steps,
		"it went back from step %d of execution %d to step %d of execution %d (told by %s)",
		w.steps, w.number, view.StepCount, view.Number, view.Source)
	w.newest = newest{view.Number, view.StepCount}
	// A step is complete when the next one's inference begins, and no more are
	// than inferences have begun.
	w.holds(view.Number != before.execution || view.StepCount >= before.requested-1,
		"%d steps were told of execution %d when step %d had begun (told by %s)", view.StepCount, view.Number, before.requested, view.Source)
	w.holds(view.Number != after.execution || view.StepCount <= after.requested,
		"%d steps were told of execution %d when step %d was the newest (told by %s)", view.StepCount, view.Number, after.requested, view.Source)
	switch {
	case view.Number < 1 || view.Number > len(w.base.results):
		w.holds(false, "execution %d was told", view.Number)
	case view.Status.Terminal():
		want := w.base.results[view.Number-1].Outcome
		w.holds(view.Status == want.Status && view.StepCount == want.Steps,
			"execution %d was told to have ended %s after %d steps; undisturbed it ends %s after %d (told by %s)",
			view.Number, view.Status, view.StepCount, want.Status, want.Steps, view.Source)
	default:
		w.holds(view.Status == domain.StatusInProgress || view.Status == domain.StatusPending, "execution %d was told to be %s", view.Number, view.Status)
	}
}

func (w *statusWatch) holds(kept bool, format string, args ...any) bool {
	return w.run.holds(kept, PromiseStatus, w.trial, format, args...)
}

func (p *chaos) polled(source contract.StatusSource, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.status
	if s.Sources == nil {
		s.Sources = make(map[contract.StatusSource]int)
	}
	s.Answers++
	s.Sources[source]++
	s.SlowestSeconds = max(s.SlowestSeconds, round(took))
}

// pauseWhenAsked kills the worker of an agent that is paused with nothing under way.
func (l *chaosLane) pauseWhenAsked(ctx context.Context, t *trial) {
	for {
		select {
		case <-ctx.Done():
			return
		case h := <-t.toPause:
			if l.aimsAtPause() { // else it was asked twice
				l.killPaused(ctx, t, h)
			}
		}
	}
}

func (l *chaosLane) aimsAtPause() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.aim != nil && l.aim.boundary == contract.Paused
}

// killPaused pauses, kills and resumes. Where the execution ends first, the aim
// stays; nothing else takes one at this boundary.
func (l *chaosLane) killPaused(ctx context.Context, t *trial, h hit) {
	paused, err := l.agents.Pause(ctx, t.id)
	if err != nil {
		l.cannot(ctx, t, "pause it", err)
		return
	}
	killed := l.quiet(ctx, t, paused.Number)
	if killed {
		l.mu.Lock()
		h.PID = l.worker.PID()
		l.killAt(t, h, time.Now())
		l.mu.Unlock()
	}
	resumed, err := l.agents.Resume(ctx, t.id)
	switch {
	case err != nil:
		l.cannot(ctx, t, "resume it", err)
	case killed && (!resumed.Changed || resumed.ExecutionID != paused.ExecutionID):
		l.run.broke(PromiseGoesOn, t, "execution %d was paused at the kill and was not after it", paused.Number)
	}
}

// quiet waits for a pause with nothing under way; false: the execution ends instead.
func (l *chaosLane) quiet(ctx context.Context, t *trial, number int) bool {
	for {
		view, err := l.agents.Status(ctx, t.id)
		switch {
		case err != nil:
			l.cannot(ctx, t, "see whether it is paused", err)
			return false
		case view.Number != number || view.Status.Terminal():
			return false
		case view.Paused && view.Doing == "paused":
			return true
		}
		if process.Pause(ctx, pausePoll) != nil {
			return false
		}
	}
}

// cannot notes what could not be done, unless the execution has ended.
func (l *chaosLane) cannot(ctx context.Context, t *trial, what string, err error) {
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Class == client.Refused || ctx.Err() != nil {
		return
	}
	l.run.broke(PromiseGoesOn, t, "cannot %s: %s", what, err)
}
