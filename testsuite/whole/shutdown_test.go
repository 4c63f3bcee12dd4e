package whole_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// TestStopTimeoutIsWhole: a tool under way has all of the stop time-out before its context
// ends, and what it then answers still arrives.
func TestStopTimeoutIsWhole(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	began, told := make(chan struct{}), make(chan time.Time, 1)
	s := start(t, host.Config{StopTimeout: timeout, Tools: []tool.Tool{
		tool.New("work", "Works.", domain.AtMostOnce, func(ctx context.Context, _ struct{}) (string, error) {
			close(began)
			<-ctx.Done()
			if had := time.Since(<-told); had < timeout || had > timeout+20*time.Second { // it is told a moment late on a busy machine
				return fmt.Sprintf("had %s", had), nil
			}
			return "had its time", nil
		}),
	}})
	begun := s.begin(t, "turns:\n  - tool_calls: [{name: work, arguments: {}}]\n  - text: '{{ result \"work\" }}'\n", "work")
	<-began
	told <- time.Now()
	s.worker.Stop()
	s.work(t, host.Config{Tools: []tool.Tool{newWorkshop().tool(domain.AtMostOnce)}})
	result := s.result(t, begun.ID, 1)
	require.Equal(t, "had its time", result.Answer)
}

// TestAStoppingWorkerTakesNothingNew: from the moment that it is told to stop, whatever it
// still has to finish.
func TestAStoppingWorkerTakesNothingNew(t *testing.T) {
	t.Parallel()
	held, stopping, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var late atomic.Int64
	other := func(count *atomic.Int64) tool.Tool {
		return tool.New("other", "Works.", domain.AtMostOnce, func(context.Context, struct{}) (string, error) {
			count.Add(1)
			return "worked", nil
		})
	}
	s := start(t, host.Config{StopTimeout: time.Minute, Tools: []tool.Tool{
		other(&late),
		tool.New("work", "Works.", domain.AtMostOnce, func(ctx context.Context, _ struct{}) (string, error) {
			close(held)
			<-activity.GetWorkerStopChannel(ctx)
			close(stopping)
			<-release
			return "worked", nil
		}),
	}})
	first := s.begin(t, "turns:\n  - tool_calls: [{name: work, arguments: {}}]\n  - text: done\n", "work")
	<-held
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.worker.Stop()
	}()
	<-stopping
	others := make([]client.Execution, 8)
	for i := range others {
		others[i] = s.begin(t, "turns:\n  - tool_calls: [{name: other, arguments: {}}]\n  - text: done\n", "other")
	}
	var mine atomic.Int64
	second := s.work(t, host.Config{Tools: []tool.Tool{other(&mine), newWorkshop().tool(domain.AtMostOnce)}})
	t.Cleanup(second.Stop)
	for _, begun := range others {
		s.completed(t, begun.ID, 1)
	}
	require.Zero(t, late.Load(), "calls that began on the worker that was to stop")
	require.EqualValues(t, len(others), mine.Load())
	close(release)
	<-ended
	s.completed(t, first.ID, 1)
}
