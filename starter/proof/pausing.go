package proof

import (
	"context"
	"errors"
	"time"

	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/process"
)

// pausePoll is between two looks at an agent that is to be paused.
const pausePoll = 50 * time.Millisecond

// pauses serves one trial until it is stopped.
func (l *lane) pauses(ctx context.Context, t *trial) *pausing {
	ctx, cancel := context.WithCancel(ctx)
	p := &pausing{lane: l, trial: t, asked: make(chan hit, 1), cancel: cancel}
	l.mu.Lock()
	l.pausing = p
	l.mu.Unlock()
	p.ended.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case h := <-p.asked:
				p.run(ctx, h)
			}
		}
	})
	return p
}

func (p *pausing) stop() {
	p.cancel()
	p.ended.Wait()
}

// run pauses, kills and resumes. Where the execution ends first, the aim stays.
func (p *pausing) run(ctx context.Context, h hit) {
	if !p.aimed() {
		return // it was asked twice
	}
	paused, err := p.lane.agents.Pause(ctx, p.trial.id)
	if err != nil {
		p.failed(ctx, "pause it", err)
		return
	}
	killed := p.quiet(ctx, paused.Number)
	if killed {
		p.kill(h)
	}
	resumed, err := p.lane.agents.Resume(ctx, p.trial.id)
	switch {
	case err != nil:
		p.failed(ctx, "resume it", err)
	case killed && (!resumed.Changed || resumed.ExecutionID != paused.ExecutionID):
		p.lane.run.broke(PromiseGoesOn, p.trial, "execution %d was paused at the kill and was not after it", paused.Number)
	}
}

func (p *pausing) aimed() bool {
	p.lane.mu.Lock()
	defer p.lane.mu.Unlock()
	return p.lane.aim != nil && p.lane.aim.boundary == contract.Paused
}

// kill kills the worker that has the paused agent. The aim is still there:
// nothing else takes one at this boundary.
func (p *pausing) kill(h hit) {
	p.lane.mu.Lock()
	defer p.lane.mu.Unlock()
	h.PID = p.lane.worker.PID()
	p.lane.kill(p.trial, h, time.Now())
}

// quiet waits until the execution is paused with nothing under way. It reports
// false where it ends instead.
func (p *pausing) quiet(ctx context.Context, number int) bool {
	for {
		view, err := p.lane.agents.Status(ctx, p.trial.id)
		switch {
		case err != nil:
			p.failed(ctx, "see whether it is paused", err)
			return false
		case view.Number != number || view.Status.Terminal():
			return false
		case view.Paused && view.Doing == pausedDoing:
			return true
		}
		if process.Pause(ctx, pausePoll) != nil {
			return false
		}
	}
}

// pausedDoing is what an execution does that is paused with nothing under way.
const pausedDoing = "paused"

// failed notes what could not be done, unless the execution has ended.
func (p *pausing) failed(ctx context.Context, what string, err error) {
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Class == client.Refused || ctx.Err() != nil {
		return
	}
	p.lane.run.broke(PromiseGoesOn, p.trial, "cannot %s: %s", what, err)
}
