package whole_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// mostly is a budget that none of the run's executions reaches.
func (r recordedRun) mostly() domain.ExecutionBudget {
	steps, calls := 0, 0
	for _, e := range r.Executions {
		asked := 0
		for _, m := range e.Messages {
			asked += len(m.ToolCalls)
		}
		steps, calls = max(steps, e.steps()), max(calls, asked)
	}
	return domain.ExecutionBudget{
		MaxSteps: new(int64(steps + 1)), MaxToolCalls: new(int64(calls + 1)), MaxTokens: new(int64(50_000)),
		MaxCostNanoUSD: new(int64(500_000_000)), MaxSeconds: new(600.0), Deadline: new(time.Now().Add(time.Hour)),
	}
}

// TestRecordedRunsStopOnAServer drives recorded runs into limits on a real
// server that continues them as new on the way.
func TestRecordedRunsStopOnAServer(t *testing.T) {
	t.Parallel()
	recorded := recordedRuns(t)
	var runs []wholeRun
	config := host.Config{}
	replay := newReplayer(t)
	for i := min(3, len(recorded)-1); i < len(recorded); i += max(len(recorded)/6, 1) {
		run := recorded[i].whole(31)
		runs = append(runs, run)
		config.Hooks = append(config.Hooks, run.user())
	}
	config.Tools = replay.tools(recorded)
	s := startCompared(t, "continuing", continuing, config)
	dir := t.TempDir()
	var group errgroup.Group
	group.SetLimit(8)
	var continued, long atomic.Int64
	for i, run := range runs {
		draw := rand.New(rand.NewPCG(444, uint64(i)))
		limits := run.limits(draw)
		draw.Shuffle(len(limits), func(a, b int) { limits[a], limits[b] = limits[b], limits[a] })
		if testing.Short() {
			limits = limits[:2]
		}
		for n, budget := range limits[:min(len(limits), 8)] {
			group.Go(func() error {
				want := run.foresee(budget)
				id := s.named(fmt.Sprintf("%s-limit-%d", run.id, n))
				script := filepath.Join(dir, id+".json")
				if err := os.WriteFile(script, []byte(want.played.script(t)), 0o600); err != nil {
					return err
				}
				definition := limited(budget)
				definition.Model.Provider, definition.Model.Model = "scripted", script
				definition.SystemPrompt, definition.Tools, definition.Hooks = run.system, run.toolNames, []string{run.user().Name}
				if err := replay.expect(domain.WorkflowID(id), run.recorded()); err != nil {
					return err
				}
				ctx := within(t)
				if _, err := s.agents.Start(ctx, client.Start{ID: id, Prompt: run.prompt, Definition: definition}); err != nil {
					return err
				}
				got, err := s.waits(ctx, id, 1)
				if err != nil {
					return err
				}
				is := [...]any{got.Outcome.Status, got.Outcome.StopReason, got.Outcome.Steps, got.Outcome.Usage.TotalTokens(), got.Outcome.CostNanoUSD}
				if should := [...]any{want.status, want.reason, want.steps, want.tokens, want.cost}; is != should {
					return fmt.Errorf("%s, limits:%s: %v; want %v", run.id, budgetText(budget), is, should)
				}
				if want.steps >= 20 {
					long.Add(1)
				}
				if _, before := s.runInfo(t, domain.WorkflowID(id), ""); before != "" {
					continued.Add(1)
				}
				return nil
			})
		}
	}
	require.NoError(t, group.Wait())
	t.Logf("%d of the executions were continued as new", continued.Load())
	if long.Load() == 0 {
		t.Skip("NO execution is long enough to continue as new")
	}
	require.Positive(t, continued.Load())
}

// recorded is the run as one execution, for the tools to answer as they did.
func (w wholeRun) recorded() recordedExecution {
	var e recordedExecution
	for _, m := range w.messages(len(w.steps))[1:] {
		if m.Role != "user" {
			e.Messages = append(e.Messages, m)
		}
	}
	return e
}
