package guards_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/testsuite"
)

func toolsOf(fakes ...*testsuite.Fake) []tool.Tool {
	var tools []tool.Tool
	for _, f := range fakes {
		tools = append(tools, f.Tool())
	}
	return tools
}

// TestTheLastHooksRunOnEveryExit, once each, and on_error where it failed.
func TestTheLastHooksRunOnEveryExit(t *testing.T) {
	t.Parallel()
	slow := testsuite.NewFake(domain.ToolSpec{Name: "slow"}, testsuite.After(time.Minute, testsuite.Returns("late")))
	asks := testsuite.Turn{Calls: []testsuite.Call{{Name: "slow"}}}
	answer := testsuite.Turn{Text: "done"}
	past := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	price := domain.Price{Input: 1_000_000_000, Output: 1_000_000_000}
	for name, test := range map[string]struct {
		config testsuite.Config
		events []testsuite.Event
		reason domain.StopReason
	}{
		"completed":   {testsuite.Config{Turns: []testsuite.Turn{answer}}, nil, domain.Completed},
		"no steps":    {testsuite.Config{Turns: []testsuite.Turn{answer}, Budget: domain.ExecutionBudget{MaxSteps: new(int64(0))}}, nil, domain.StepsLimitReached},
		"steps":       {testsuite.Config{Turns: []testsuite.Turn{asks, answer}, Budget: domain.ExecutionBudget{MaxSteps: new(int64(1))}}, nil, domain.StepsLimitReached},
		"tokens":      {testsuite.Config{Turns: []testsuite.Turn{answer}, Budget: domain.ExecutionBudget{MaxTokens: new(int64(1))}}, nil, domain.TokenLimitReached},
		"seconds":     {testsuite.Config{Turns: []testsuite.Turn{asks, answer}, Budget: domain.ExecutionBudget{MaxSeconds: new(5.0)}}, nil, domain.TimeLimitReached},
		"deadline":    {testsuite.Config{Turns: []testsuite.Turn{asks, answer}, Budget: domain.ExecutionBudget{Deadline: &past}}, nil, domain.TimeLimitReached},
		"tool calls":  {testsuite.Config{Turns: []testsuite.Turn{{Calls: []testsuite.Call{{Name: "slow"}, {Name: "slow"}}}, answer}, Budget: domain.ExecutionBudget{MaxToolCalls: new(int64(1))}}, nil, domain.ToolCallLimitReached},
		"cost":        {testsuite.Config{Turns: []testsuite.Turn{answer}, Definition: domain.Definition{Model: domain.LLMConfig{Price: &price}}, Budget: domain.ExecutionBudget{MaxCostNanoUSD: new(int64(1))}}, nil, domain.CostLimitReached},
		"no price":    {testsuite.Config{Turns: []testsuite.Turn{answer}, Budget: domain.ExecutionBudget{MaxCostNanoUSD: new(int64(1))}}, nil, domain.ErrorForbade},
		"stop now":    {testsuite.Config{Turns: []testsuite.Turn{asks, answer}}, []testsuite.Event{testsuite.StopAt(5*time.Second, contract.StopNow)}, domain.UserRequested},
		"stop":        {testsuite.Config{Turns: []testsuite.Turn{asks, answer}}, []testsuite.Event{testsuite.StopAt(5*time.Second, contract.AfterStep)}, domain.UserRequested},
		"paused":      {testsuite.Config{Turns: []testsuite.Turn{asks, answer}}, []testsuite.Event{testsuite.PauseAt(time.Second), testsuite.StopAt(time.Hour, contract.AfterStep)}, domain.UserRequested},
		"a failure":   {testsuite.Config{Turns: []testsuite.Turn{{Text: "x", Failures: []testsuite.Failure{{Status: 401}}}}}, nil, domain.ErrorForbade},
		"a bad hook":  {testsuite.Config{Turns: []testsuite.Turn{answer}, Hooks: []hook.Hook{forAll(hook.AfterStep("bad", func(hook.Point) (hook.Point, error) { panic("boom") }))}}, nil, domain.ErrorForbade},
		"a bad start": {testsuite.Config{Turns: []testsuite.Turn{answer}, Hooks: []hook.Hook{forAll(hook.BeforeExecution("bad", func(hook.Point) (hook.Point, error) { panic("boom") }))}}, nil, domain.ErrorForbade},
		"empty":       {testsuite.Config{Turns: []testsuite.Turn{{}, {}}}, nil, domain.ErrorForbade},
	} {
		for _, io := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " with activities"}[io], func(t *testing.T) {
				t.Parallel()
				config, ran := test.config, []domain.Trigger(nil)
				for _, trigger := range []domain.Trigger{domain.TriggerAfterExecution, domain.TriggerOnError, domain.TriggerOnStop} {
					h := at(trigger, "end", func(c hook.Point) (hook.Point, error) {
						ran = append(ran, c.Trigger)
						return c, nil
					})
					if io {
						h = hook.IO(trigger, "end", func(context.Context, contract.HookRequest) (contract.HookReply, error) {
							ran = append(ran, trigger)
							return contract.HookReply{}, nil
						})
					}
					config.Hooks = append(slices.Clip(config.Hooks), forAll(h))
				}
				config.Tools = toolsOf(slow)
				run := testsuite.New(t, config).Run("go", test.events...)
				checkEvents(t, run)
				require.Equal(t, test.reason, run.Outcome.StopReason)
				want := []domain.Trigger{domain.TriggerOnStop, domain.TriggerAfterExecution}
				if test.reason == domain.ErrorForbade {
					want = append([]domain.Trigger{domain.TriggerOnError}, want...)
					require.NotNil(t, run.Error)
				}
				require.Equal(t, want, ran)
			})
		}
	}
}

func forAll(h hook.Hook) hook.Hook {
	h.Always = true
	return h
}
