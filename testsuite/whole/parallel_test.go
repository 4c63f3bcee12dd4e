package whole_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/worker/host"
)

// A relay is a tool whose calls are all under way at once, and then end one after another, the last first.
type relay struct {
	began sync.WaitGroup
	ends  []chan struct{}
}

func newRelay(calls int) *relay {
	r := &relay{ends: make([]chan struct{}, calls+1)}
	r.began.Add(calls)
	for i := range r.ends {
		r.ends[i] = make(chan struct{})
	}
	close(r.ends[calls])
	return r
}

// run is the n-th call: it returns when it is its turn to end. One that a busy machine takes for lost is made again.
func (r *relay) run(ctx context.Context, n int) {
	if at, _ := tool.ExecutionOf(ctx); at.Attempt > 1 {
		return
	}
	r.began.Done()
	r.began.Wait() // for the slowest to begin: no call waits for another to end
	<-r.ends[n+1]
	close(r.ends[n])
}

func (r *relay) tool() tool.Tool {
	return tool.New("relay", "Works.", domain.ReadOnly, func(ctx context.Context, args struct {
		N int `json:"n"`
	}) (string, error) {
		r.run(ctx, args.N)
		return fmt.Sprint("result ", args.N), nil
	})
}

// TestCallsOfOneTurnRunAtOnce: so the turn takes as long as its slowest call; results come in call order,
// whichever ended first, and each call costs the history a bounded piece.
func TestCallsOfOneTurnRunAtOnce(t *testing.T) {
	t.Parallel()
	for _, calls := range []int{1, 5, 128} {
		t.Run(fmt.Sprint(calls), func(t *testing.T) { // one after another: they are many as it is
			s := start(t, host.Config{Tools: []tool.Tool{newRelay(calls).tool()}})
			var wanted strings.Builder
			for i := range calls {
				fmt.Fprintf(&wanted, "{name: relay, arguments: {n: %d}},", i)
			}
			begun := s.begin(t, "turns:\n  - tool_calls: ["+wanted.String()+"]\n  - text: done\n", "relay")
			result, err := s.agents.Wait(within(t), begun.ID, 1)
			require.NoError(t, err)
			require.Equal(t, domain.StatusCompleted, result.Outcome.Status, "%v", result.Error)
			steps := collect(t, s.agents.Steps(within(t), begun.ID, 1))
			require.Len(t, steps[0].Step.ToolExecutions, calls)
			for i, call := range steps[0].Step.ToolExecutions {
				require.Equal(t, fmt.Sprint("result ", i), call.Value)
			}
			s.requireShort(t, begun.ID, calls, 0)
		})
	}
}

// requireShort holds the history of one turn of so many calls, with so many bytes of arguments and results, to its bounds.
// Each time that a busy machine takes a call for lost has its own piece.
func (s *stack) requireShort(t *testing.T, id string, calls, said int) {
	t.Helper()
	for _, step := range collect(t, s.agents.Steps(within(t), id, 1)) {
		for _, call := range step.Step.ToolExecutions {
			calls += max(call.Attempts, 1) - 1
		}
	}
	status, err := s.agents.Status(within(t), id)
	require.NoError(t, err)
	t.Logf("%d calls of %d bytes: %d events, %d bytes of history", calls, said, status.History.Events, status.History.Bytes)
	require.LessOrEqual(t, status.History.Events, int64(6*calls+40))
	require.LessOrEqual(t, status.History.Bytes, int64(1000*calls+15_000+2*said))
}
