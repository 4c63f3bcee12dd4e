package whole_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// overshoots gathers what was spent beyond limits.
type overshoots struct {
	mu                  sync.Mutex
	limits, over        int
	tokens, cost        int64 // the most that was found
	tokenShare          float64
	ends                map[domain.StopReason]int
	cut, withoutAnyStep int
}

// add counts one execution. Nothing may be spent beyond a limit but what the
// model counted beyond the guess of what it would read, and of steps and calls
// nothing at all.
func (o *overshoots) add(t *testing.T, b domain.ExecutionBudget, f reckoning) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.limits++
	o.ends[f.reason]++
	if f.steps == 0 {
		o.withoutAnyStep++
	}
	if f.steps > 0 && f.played.steps[f.steps-1].finish == domain.FinishLength {
		o.cut++
	}
	over := false
	if b.MaxSteps != nil {
		require.LessOrEqual(t, int64(f.steps), *b.MaxSteps)
	}
	if b.MaxToolCalls != nil {
		require.LessOrEqual(t, f.calls, *b.MaxToolCalls)
	}
	if b.MaxTokens != nil && f.tokens > *b.MaxTokens {
		over = true
		beyond := f.tokens - *b.MaxTokens
		require.LessOrEqual(t, beyond, f.beyondTokens)
		o.tokens = max(o.tokens, beyond)
		o.tokenShare = max(o.tokenShare, float64(beyond)/float64(*b.MaxTokens))
	}
	if b.MaxCostNanoUSD != nil && f.cost > *b.MaxCostNanoUSD {
		over = true
		require.LessOrEqual(t, f.cost-*b.MaxCostNanoUSD, f.beyondCost)
		o.cost = max(o.cost, f.cost-*b.MaxCostNanoUSD)
	}
	if over {
		o.over++
	}
}

// report logs what was found, and fails where the limits of many runs were not
// such that every kind of end was met.
func (o *overshoots) report(t *testing.T, many bool) {
	t.Helper()
	if t.Failed() {
		return
	}
	t.Logf("%d executions under limits: %v; %d ended before the first step, %d with a cut answer", o.limits, o.ends, o.withoutAnyStep, o.cut)
	t.Logf("%d spent more than a limit: at most %d tokens (%.1f %% of the limit) and $%s beyond it",
		o.over, o.tokens, 100*o.tokenShare, domain.USD(o.cost))
	require.Positive(t, o.limits)
	if !many {
		t.Log("with so FEW runs not every kind of end has to be met")
		return
	}
	for _, reason := range []domain.StopReason{
		domain.Completed, domain.StepsLimitReached, domain.TokenLimitReached, domain.CostLimitReached, domain.ToolCallLimitReached,
	} {
		require.Positive(t, o.ends[reason], "no limit led to %s", reason)
	}
	require.Positive(t, o.over)
	require.Positive(t, o.cut)
	require.Positive(t, o.withoutAnyStep)
}
