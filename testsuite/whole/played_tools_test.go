package whole_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

// A flaky is a run's tools, a fifth of whose calls fail where that is safe:
// those of an idempotent tool, and those of an at-most-once tool that did not
// begin. What a call did is counted.
type flaky struct {
	seed uint64

	mu          sync.Mutex
	tries, done map[domain.ToolExecutionID]int
}

func newFlaky(seed uint64) *flaky {
	return &flaky{seed: seed, tries: map[domain.ToolExecutionID]int{}, done: map[domain.ToolExecutionID]int{}}
}

// toolTries is how often a call is tried before the model hears of it.
const toolTries = 3

// fails draws for a call whether this try of it fails.
func (f *flaky) fails(at tool.Call) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries[at.ID]++
	try := f.tries[at.ID]
	draw := rand.New(rand.NewPCG(f.seed, uint64(at.Step<<16|at.Position<<8|try)))
	if draw.IntN(5) == 0 && try < toolTries {
		return true
	}
	f.done[at.ID]++
	return false
}

// tools are those of the given names.
func (f *flaky) tools(names []string, call func(context.Context, json.RawMessage) (tool.Result, error)) []tool.Tool {
	var tools []tool.Tool
	for k, name := range names {
		effect, refuse := domain.Idempotent, func(err error) error { return err }
		if k%2 == 1 {
			effect, refuse = domain.AtMostOnce, tool.NotStarted
		}
		spec := domain.ToolSpec{Name: name, Schema: json.RawMessage(anySchema), Effect: effect}
		tools = append(tools, tool.FromSpec(spec, func(ctx context.Context, arguments json.RawMessage) (tool.Result, error) {
			at, ok := tool.ExecutionOf(ctx)
			if !ok {
				return tool.Result{}, errors.New("the call does not know its execution")
			}
			if f.fails(at) {
				return tool.Result{}, refuse(domain.Errorf(domain.Unavailable, "the tool has no connection"))
			}
			return call(ctx, arguments)
		}))
	}
	return tools
}

// requireOnce fails unless each call was made, and none twice.
func (f *flaky) requireOnce(t *testing.T, calls int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Len(t, f.done, calls)
	for id, n := range f.done {
		require.Equal(t, 1, n, "effects of %s", id)
	}
}
