package testsuite

import (
	"context"
	"slices"
	"sync"

	"everstep/activities/inference"
	"everstep/activities/scripted"
)

// recorder keeps what a model was asked.
type recorder struct {
	*scripted.Provider

	mu    sync.Mutex
	calls []inference.Call
}

func (r *recorder) Infer(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
	r.mu.Lock()
	kept := call
	kept.Sent = nil
	r.calls = append(r.calls, kept)
	r.mu.Unlock()
	return r.Provider.Infer(ctx, call, emit)
}

func (r *recorder) asked() []inference.Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}
