package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestCallsOfOneEffectTakeTurns: what becomes of the first decides whether the second may begin. Others go at once.
func TestCallsOfOneEffectTakeTurns(t *testing.T) {
	t.Parallel()
	lost := func() (contract.ToolReply, error) { return contract.ToolReply{}, temporal.NewHeartbeatTimeoutError() }
	done := func() (contract.ToolReply, error) { return saw(contract.ToolRequest{}) }
	for name, test := range map[string]struct {
		tool  domain.ToolSpec
		calls []domain.ToolCall
		first func() (contract.ToolReply, error)
		// atOnce is how many are under way at a time, of ran in all.
		atOnce, ran int
		code        domain.Code
	}{
		"the first is done":       {domain.ToolSpec{Effect: domain.AtMostOnce}, []domain.ToolCall{payFor(7, "x"), payFor(7, "x")}, done, 1, 2, ""},
		"by the effect's key":     {domain.ToolSpec{Effect: domain.AtMostOnce, EffectKey: []string{"order"}}, []domain.ToolCall{payFor(7, "x"), payFor(7, "y")}, lost, 1, 1, domain.CodeOutcomeUnresolved},
		"keyed by the effect":     {domain.ToolSpec{Effect: domain.Keyed, EffectKey: []string{"order"}}, []domain.ToolCall{payFor(7, "x"), payFor(7, "y")}, done, 1, 2, ""},
		"what does the same anew": {domain.ToolSpec{Effect: domain.Idempotent}, []domain.ToolCall{payFor(7, "x"), payFor(7, "x")}, done, 2, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.tool.Name = "pay"
			w := &world{tools: []domain.ToolSpec{test.tool}, model: calling(test.calls...)}
			underWay, most := 0, 0
			full := make(chan struct{})
			w.tool = func(contract.ToolRequest) (contract.ToolReply, error) {
				w.mu.Lock()
				underWay++
				if most = max(most, underWay); most == test.atOnce && underWay == test.atOnce {
					select {
					case <-full:
					default:
						close(full)
					}
				}
				first := len(w.ran) == 1
				w.mu.Unlock()
				<-full // as many are under way as there are to be
				w.mu.Lock()
				defer w.mu.Unlock()
				underWay--
				if first {
					return test.first()
				}
				return done()
			}
			env := w.executed(t, input(t, ""))
			completes(t, env)
			require.Equal(t, test.atOnce, most)
			require.Len(t, w.ran, test.ran)
			calls := executions(t, env)
			if last := calls[len(calls)-1]; test.code != "" {
				require.Equal(t, test.code, last.Error.Code)
				require.True(t, last.StartedAt.IsZero())
			} else {
				require.Nil(t, last.Error)
				require.Len(t, eventsIn(t, env, 1, domain.EventToolCallStarted), test.ran)
			}
			for i, event := range eventsIn(t, env, 1, domain.EventToolCallStarted, domain.EventToolCallCompleted) {
				_, started := event.Data.(domain.EventCall)
				require.Equal(t, i/test.atOnce%2 == 0, started, "one after another, or all at once")
			}
			if len(test.tool.EffectKey) > 0 && test.ran > 1 {
				require.Equal(t, w.ran[0].Key(), w.ran[1].Key())
			}
		})
	}
}

// TestAStopEndsTheWaitForATurn: a call that has not begun is not run, unless the step is to finish.
func TestAStopEndsTheWaitForATurn(t *testing.T) {
	t.Parallel()
	for mode, ran := range map[contract.StopMode]int{contract.AfterStep: 2, contract.AfterInference: 1, contract.StopNow: 1} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := &world{tools: offered("pay", domain.AtMostOnce), model: calling(payFor(7, "x"), payFor(7, "x"))}
			// It waits in the workflow, as long as a stop needs to come.
			w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
				if len(w.ran) == 1 {
					return contract.ToolReply{NotStarted: true, Error: domain.Errorf(domain.Unavailable, "busy"), RetryAfterMillis: time.Hour.Milliseconds()}, nil
				}
				return saw(r)
			}
			env := w.environment(t)
			stopsWith(env, time.Minute, contract.StopRequest{Mode: mode})
			execute(env, input(t, ""))
			endsAs(t, env, domain.StatusStopped)
			calls := executions(t, env)
			require.Len(t, calls, 2)
			if ran == 1 {
				require.Equal(t, domain.CodeNotRun, calls[1].Error.Code)
			} else {
				require.Nil(t, calls[1].Error)
			}
		})
	}
}
