package client

import (
	"context"
	"errors"

	"everstep/domain"
)

// reasons are why calls were not run, which only a worker can tell.
type reasons struct {
	// mute means that no worker has answered, so that no other is waited for.
	mute bool
	// runID and step say which calls are held.
	runID string
	step  int
	calls []domain.ToolExecution
}

// reasoned adds to an EventNotRun why, where a worker tells. It reports false
// where there is nothing to show: a hook has taken the call out of the answer.
func (w *watcher) reasoned(ctx context.Context, e *Event) bool {
	calls, ok := w.callsOf(ctx, *e)
	if !ok {
		return true
	}
	if e.Position >= len(calls) {
		return false
	}
	call := calls[e.Position]
	e.Tool, e.Arguments, e.Error = call.Name(), call.Args(), call.Error
	return true
}

// callsOf asks for the calls of a completed step, once.
func (w *watcher) callsOf(ctx context.Context, e Event) ([]domain.ToolExecution, bool) {
	if w.why.runID == e.RunID && w.why.step == e.Step {
		return w.why.calls, w.why.calls != nil
	}
	if w.why.mute {
		return nil, false
	}
	w.why.runID, w.why.step, w.why.calls = e.RunID, e.Step, nil
	q := question{workflowID: w.snapshot.workflowID(), runID: e.RunID, deadline: askTimeout}
	page, err := within(ctx, patience, func(ctx context.Context) (domain.StepsPage, error) {
		return ask(ctx, w.client, q, domain.QuerySteps, domain.StepsRequest{Number: e.Number, From: e.Step})
	})
	w.why.mute = errors.Is(err, errNoWorker)
	if err != nil || len(page.Steps) == 0 || page.Steps[0].Step.Number != e.Step {
		return nil, false
	}
	w.why.calls = page.Steps[0].Step.ToolExecutions
	return w.why.calls, w.why.calls != nil
}
