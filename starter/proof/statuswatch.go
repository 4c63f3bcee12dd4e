package proof

import (
	"context"
	"sync"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/process"
)

const (
	// pollEvery is between two questions about an agent.
	pollEvery = 250 * time.Millisecond
	// pollPatience is how long an answer may take.
	pollPatience = 5 * time.Second
)

// polls sums up the questions about agents.
type polls struct {
	count   int
	slowest time.Duration
	sources map[contract.StatusSource]int
}

// A statusWatch asks for an agent's status throughout its run, worker up or
// down, and holds the answers against what the controller has seen.
type statusWatch struct {
	run   *chaos
	lane  *lane
	trial *trial
	base  *baseline
	newest

	started chan struct{}
	cancel  context.CancelFunc
	ended   sync.WaitGroup
}

// newest is the newest answer.
type newest struct{ number, steps int }

func (p *chaos) watchStatus(ctx context.Context, l *lane, t *trial, base *baseline) *statusWatch {
	ctx, cancel := context.WithCancel(ctx)
	w := &statusWatch{run: p, lane: l, trial: t, base: base, started: make(chan struct{}), cancel: cancel}
	w.ended.Go(func() {
		select {
		case <-ctx.Done():
			return
		case <-w.started:
		}
		for err := error(nil); err == nil; err = process.Pause(ctx, pollEvery) {
			w.poll(ctx)
		}
	})
	return w
}

// begin says that there is something to ask about.
func (w *statusWatch) begin() { close(w.started) }

func (w *statusWatch) stop() {
	w.cancel()
	w.ended.Wait()
}

func (w *statusWatch) poll(ctx context.Context) {
	before, began := w.lane.seen(w.trial), time.Now()
	view, err := w.lane.agents.Status(ctx, w.trial.id)
	took, after := time.Since(began), w.lane.seen(w.trial)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		w.broke("it could not be told: %s", err)
		return
	}
	if took > pollPatience {
		w.broke("it took %s to tell", took.Round(time.Millisecond))
	}
	w.run.polled(view.Source, took)
	w.check(view, before, after)
}

// check holds an answer against what was seen before it was asked for and after
// it came.
func (w *statusWatch) check(view contract.StatusView, before, after standing) {
	if view.Number < w.number || view.Number == w.number && view.StepCount < w.steps {
		w.broke("it went back from step %d of execution %d to step %d of execution %d (told by %s)",
			w.steps, w.number, view.StepCount, view.Number, view.Source)
	}
	w.newest = newest{view.Number, view.StepCount}
	// A step is complete when the next one's inference begins, and no more are
	// than inferences have begun.
	if view.Number == before.execution && view.StepCount < before.requested-1 {
		w.broke("%d steps were told of execution %d when step %d had begun (told by %s)", view.StepCount, view.Number, before.requested, view.Source)
	}
	if view.Number == after.execution && view.StepCount > after.requested {
		w.broke("%d steps were told of execution %d when step %d was the newest (told by %s)", view.StepCount, view.Number, after.requested, view.Source)
	}
	switch {
	case view.Number < 1 || view.Number > len(w.base.results):
		w.broke("execution %d was told", view.Number)
	case view.Status.Terminal():
		want := w.base.results[view.Number-1].Outcome
		if view.Status != want.Status || view.StepCount != want.Steps {
			w.broke("execution %d was told to have ended %s after %d steps; undisturbed it ends %s after %d (told by %s)",
				view.Number, view.Status, view.StepCount, want.Status, want.Steps, view.Source)
		}
	case view.Status != domain.StatusInProgress && view.Status != domain.StatusPending:
		w.broke("execution %d was told to be %s", view.Number, view.Status)
	}
}

func (w *statusWatch) broke(format string, args ...any) {
	w.run.broke(PromiseStatus, w.trial, format, args...)
}

func (p *chaos) polled(source contract.StatusSource, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.polls.sources == nil {
		p.polls.sources = make(map[contract.StatusSource]int)
	}
	p.polls.count++
	p.polls.sources[source]++
	p.polls.slowest = max(p.polls.slowest, took)
}
