package whole_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// A till notes when its calls began, and how many ran at once on each worker.
type till struct {
	mu      sync.Mutex
	began   []time.Time
	at      map[string]int
	running map[string]int
	most    map[string]int
}

func newTill() *till {
	return &till{at: map[string]int{}, running: map[string]int{}, most: map[string]int{}}
}

// pay is the till's tool as one worker has it. Each call takes a while.
func (b *till) pay(worker string, takes time.Duration, options ...tool.Option) tool.Tool {
	type args struct {
		Order int `json:"order"`
	}
	return tool.New("pay", "Pays.", domain.AtMostOnce, func(ctx context.Context, _ args) (string, error) {
		b.mu.Lock()
		// As the server lets it begin, which keeps the rate: a busy worker may begin late what it was given in time.
		b.began = append(b.began, activity.GetInfo(ctx).StartedTime)
		b.at[worker]++
		b.running[worker]++
		b.most[worker] = max(b.most[worker], b.running[worker])
		b.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(takes):
		}
		b.mu.Lock()
		b.running[worker]--
		b.mu.Unlock()
		return "paid", ctx.Err()
	}, options...)
}

// began is how many calls began.
func (b *till) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.began)
}

// payScript asks for so many calls at once.
func payScript(t *testing.T, calls int) string {
	t.Helper()
	var asked strings.Builder
	for i := range calls {
		fmt.Fprintf(&asked, "      - {name: pay, arguments: {order: %d}}\n", i+1)
	}
	return writeScript(t, "turns:\n  - tool_calls:\n"+asked.String()+"  - text: done\n")
}

// TestAToolsRateHoldsOverWorkers: twenty calls on two workers begin no faster than the tool may be called, and no
// more of them at once on one worker than it says; the wait is not of their time-out.
func TestAToolsRateHoldsOverWorkers(t *testing.T) {
	t.Parallel()
	const calls, rate, atOnce = 20, 4, 2
	b := newTill()
	s := connect(t, "plain", nil)
	for _, name := range []string{"one", "two"} {
		w := s.work(t, host.Config{Tools: []tool.Tool{b.pay(name, 300*time.Millisecond, tool.Rate(rate, time.Second), tool.AtOnce(atOnce), tool.Timeout(2*time.Second))}})
		t.Cleanup(w.Stop)
	}
	begun := s.starts(t, client.Start{Prompt: "go", Definition: scripted(payScript(t, calls), "pay")})
	require.Equal(t, "done", s.result(t, begun.ID, 0).Answer)
	for _, done := range s.steps(t, begun.ID, 1)[0].Step.ToolExecutions {
		require.Equal(t, "paid", done.Value)
	}
	require.Equal(t, calls, b.count())
	slices.SortFunc(b.began, time.Time.Compare)
	// A second's worth may come at once, and a call may begin late.
	for i := rate; i < calls; i++ {
		over := b.began[i].Sub(b.began[0])
		least := time.Duration(i+1-rate) * time.Second / rate
		require.GreaterOrEqual(t, over, least-500*time.Millisecond, "call %d", i+1)
	}
	t.Logf("%d calls at %d a second on two workers: %s; %v", calls, rate, b.began[calls-1].Sub(b.began[0]).Round(time.Millisecond), b.at)
	require.Len(t, b.at, 2, "both have taken calls")
	for worker, most := range b.most {
		require.LessOrEqual(t, most, atOnce, worker)
	}
}

// TestACallThatWaitsForItsTurn is told by status, and not run where a stop comes: also one that may not be made twice.
func TestACallThatWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	b := newTill()
	s := start(t, host.Config{
		Tools: []tool.Tool{b.pay("one", 0)}, ToolLimits: map[string]domain.ToolLimit{"pay": {Calls: 1, Per: time.Minute}},
	})
	begun := s.starts(t, client.Start{Prompt: "go", Definition: scripted(payScript(t, 3), "pay")})
	limit := contract.ToolLimit{TaskQueue: s.queue + "/tool/pay", ToolLimit: domain.ToolLimit{Calls: 1, Per: time.Minute}}
	const words = "step 1: calls that wait for their turn: 2 of pay (1 call a minute)"
	require.Eventually(t, func() bool {
		status := s.status(t, begun.ID)
		return b.count() == 1 && status.RateLimited && status.Doing == words
	}, patience, 20*time.Millisecond)
	status := s.status(t, begun.ID)
	require.Equal(t, map[string]contract.ToolLimit{"pay": limit}, status.Configuration.ToolLimits)
	s.stops(t, begun.ID, client.StopOptions{Mode: contract.StopNow, Reason: "enough"})
	require.Equal(t, domain.UserRequested, s.result(t, begun.ID, 0).Outcome.StopReason)
	require.Equal(t, 1, b.count())
	ran := 0
	for _, call := range s.steps(t, begun.ID, 1)[0].Step.ToolExecutions {
		if call.Error == nil {
			ran++
			continue
		}
		require.Equal(t, domain.CodeNotRun, call.Error.Code)
	}
	require.Equal(t, 1, ran)
}
