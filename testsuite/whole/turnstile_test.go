package whole_test

import (
	"context"
	"sync"

	"everstep/domain"
	"everstep/domain/contract"
)

// A turnstile holds inferences until they are let through, by the agent's workflow and the step. An attempt that is made
// again, as on a machine that is too busy for its heartbeats, is held with the one before.
type turnstile struct {
	mu   sync.Mutex
	held map[string][]*heldStep // by workflow, in the order in which they are to come
}

type heldStep struct {
	// execution is the one that has come; zero: none has.
	execution       domain.ExecutionID
	step            int
	reached, passes chan struct{}
}

// hold has an agent's execution in progress, or the next one, wait before the inference of a step.
func (x *turnstile) hold(workflowID string, step int) *heldStep {
	h := &heldStep{step: step, reached: make(chan struct{}), passes: make(chan struct{})}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.held[workflowID] = append(x.held[workflowID], h)
	return h
}

// comes is what holds an inference; nil: nothing.
func (x *turnstile) comes(place contract.Place) *heldStep {
	x.mu.Lock()
	defer x.mu.Unlock()
	var next *heldStep
	for _, h := range x.held[place.WorkflowID] {
		switch {
		case h.step != place.Step:
		case h.execution == place.ExecutionID:
			return h
		case h.execution.IsZero() && next == nil:
			next = h
		}
	}
	if next != nil {
		next.execution = place.ExecutionID
		close(next.reached)
	}
	return next
}

// at is for host.Config.At.
func (x *turnstile) at(ctx context.Context, boundary contract.Boundary) {
	if boundary != contract.BeforeRequest {
		return
	}
	if h := x.comes(contract.PlaceOf(ctx)); h != nil {
		select {
		case <-h.passes:
		case <-ctx.Done():
		}
	}
}
