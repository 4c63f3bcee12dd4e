package workflows_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// TestATimeLimitThatAHookSets is heeded while the execution waits.
func TestATimeLimitThatAHookSets(t *testing.T) {
	t.Parallel()
	env := hooked(t, &world{model: plays(busy(), says("one"))}, nil, hook.BeforeStep("h", func(c hook.Point) (hook.Point, error) {
		var err error
		c.State, err = c.State.WithBudget(secondsOf(60), c.Now)
		return c, err
	}))
	execute(env, input(t, ""))
	endsFor(t, env, domain.TimeLimitReached)
}

// TestOverriddenIsToldEachTime, also of more than are kept.
func TestOverriddenIsToldEachTime(t *testing.T) {
	t.Parallel()
	times := domain.MaxOverridden + 5
	w := &world{model: repeats(says("more"))}
	env := hooked(t, w, nil, hook.AfterStep("stops", func(c hook.Point) (hook.Point, error) {
		if c.State.StepCount() < times {
			return c.Stop("enough").Continue(), nil
		}
		return c, nil
	}))
	execute(env, input(t, ""))
	require.Equal(t, times+1, outcome(t, env).Steps)
	told := 0
	for _, evaluated := range dataOf[domain.ContinuationEvaluated](t, env, 0) {
		told += evaluated.Overridden
	}
	require.Equal(t, times, told)
}

// TestCallsThatHaveBegunAreSeenWhileALaterOneWaits: for a hook that is an activity.
func TestCallsThatHaveBegunAreSeenWhileALaterOneWaits(t *testing.T) {
	t.Parallel()
	io := nothing(domain.TriggerBeforeToolUse)
	io.Attempts = 2
	again := errors.New("try again")
	w := &world{model: plays(says("", calls("look", 3)...), says("done"))}
	once := true
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		if r.Position == 1 && once {
			once = false
			return contract.ToolReply{}, again
		}
		return contract.ToolReply{Content: "seen"}, nil
	}
	env := hooked(t, w, nil, io)
	answersHooks(env, func(ctx context.Context, r contract.HookRequest) (contract.HookReply, error) {
		if strings.HasSuffix(r.Call.Arguments, "2") && activity.GetInfo(ctx).Attempt == 1 {
			return contract.HookReply{}, again
		}
		return contract.HookReply{}, nil
	})
	var seen []domain.ToolOutcome
	env.RegisterDelayedCallback(func() {
		state := stateIn(t, env)
		step, _ := state.CurrentStep()
		for _, call := range step.ToolExecutions {
			seen = append(seen, call.Outcome())
		}
	}, 500*time.Millisecond)
	execute(env, input(t, ""))
	completes(t, env)
	require.Equal(t, []domain.ToolOutcome{domain.ToolOK, domain.ToolRunning, domain.ToolNotRun}, seen)
}

// TestTheStateHasMessagesBySection: what hooks put into one of their own is in no other.
func TestTheStateHasMessagesBySection(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(says("done"))}
	env := hooked(t, w, nil, hook.BeforeExecution("h", func(c hook.Point) (hook.Point, error) {
		var err error
		c.State, err = c.State.WithMessages("notes", []domain.Message{domain.UserMessage("aside")}, c.Now)
		return c, err
	}))
	execute(env, input(t, ""))
	store := domain.StoreOf(readAccount(t, env, account.Messages).Messages)
	require.Len(t, store.Section(domain.SectionMessages), 2)
	notes := store.Section("notes")
	require.Len(t, notes, 1)
	require.Equal(t, "aside", notes[0].Text())
}

// TestHooksThatAreActivitiesShareTheirStep: what they get and answer is bounded, all
// of them together, and one that cannot be made fails as any other.
func TestHooksThatAreActivitiesShareTheirStep(t *testing.T) {
	t.Parallel()
	big := contract.HookReply{Say: []domain.Message{domain.UserMessage(strings.Repeat("x", 500<<10))}}
	for name, test := range map[string]struct {
		trigger domain.Trigger
		hooks   int
		reply   func() (contract.HookReply, error)
		says    string
	}{
		"within a step":            {domain.TriggerAfterStep, 2, func() (contract.HookReply, error) { return big, nil }, ""},
		"too much of a step":       {domain.TriggerAfterStep, 20, func() (contract.HookReply, error) { return big, nil }, "the hooks of one step"},
		"as much between steps":    {domain.TriggerBeforeExecution, 20, func() (contract.HookReply, error) { return big, nil }, ""},
		"one that cannot be asked": {domain.TriggerAfterStep, 1, func() (contract.HookReply, error) { return big, refused(domain.Invalidf("no such hook")) }, "no such hook"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var hooks []hook.Hook
			for i := range test.hooks {
				hooks = append(hooks, hook.IO(test.trigger, strings.Repeat("h", i+1), func(context.Context, contract.HookRequest) (contract.HookReply, error) {
					return contract.HookReply{}, nil
				}))
			}
			w := &world{model: plays(says("one"))}
			env := hooked(t, w, nil, hooks...)
			answersHooks(env, func(context.Context, contract.HookRequest) (contract.HookReply, error) { return test.reply() })
			execute(env, input(t, ""))
			status := status(t, env)
			if test.says == "" {
				require.Nil(t, status.Failure())
				return
			}
			require.Contains(t, status.Failure().Message, test.says)
		})
	}
}

// TestAResultThatAHookChanges is what the model reads, and what is kept of the call.
func TestAResultThatAHookChanges(t *testing.T) {
	t.Parallel()
	broken := domain.Invalidf("no such file")
	for name, test := range map[string]struct {
		reply   contract.ToolReply
		change  func(*domain.ToolExecution)
		content string
		failed  bool
	}{
		"an error":          {contract.ToolReply{Content: "seen"}, func(e *domain.ToolExecution) { e.Error = domain.Deniedf("not for you") }, "not for you", true},
		"no error any more": {contract.ToolReply{Error: broken}, func(e *domain.ToolExecution) { e.Value, e.Error = "mended", nil }, "mended", false},
		"nothing":           {contract.ToolReply{Content: "seen", Error: broken}, func(*domain.ToolExecution) {}, "seen", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: plays(says("", look()), says("done")), tool: func(contract.ToolRequest) (contract.ToolReply, error) { return test.reply, nil }}
			env := hooked(t, w, nil, hook.AfterToolUse("h", func(c hook.ToolResult) (hook.ToolResult, error) {
				test.change(&c.At.Execution)
				return c, nil
			}))
			execute(env, input(t, ""))
			completes(t, env)
			result := entriesIn(t, env)[2].Message.ToolResult
			require.Equal(t, test.content, result.Content)
			require.Equal(t, test.failed, result.IsError)
			kept := executions(t, env)[0]
			require.Equal(t, test.failed, kept.HasError())
		})
	}
}

// TestCallsThatHooksMadeLong go to the server in several requests, none of which is
// above what it takes; also those that are made again together.
func TestCallsThatHooksMadeLong(t *testing.T) {
	t.Parallel()
	const many = 8
	for name, fails := range map[string]func() (contract.ToolReply, error){
		"":      nil,
		"again": func() (contract.ToolReply, error) { return contract.ToolReply{}, errors.New("busy") },
		"that did not begin": func() (contract.ToolReply, error) {
			return contract.ToolReply{NotStarted: true, Error: domain.Errorf(domain.Unavailable, "busy")}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: calling(calls("look", many)...)}
			w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
				if w.mu.Lock(); len(w.ran) <= many && fails != nil {
					w.mu.Unlock()
					return fails()
				}
				w.mu.Unlock()
				return saw(r)
			}
			env := hooked(t, w, nil, hook.BeforeToolUse("h", func(c hook.ToolUse) (hook.ToolUse, error) {
				c.At.Call.Arguments = strings.Repeat("x", 800_000)
				return c, nil
			}))
			begun := env.Now()
			execute(env, input(t, ""))
			completes(t, env)
			rounds := 1
			if fails != nil {
				rounds = 2
			}
			require.Len(t, w.ran, rounds*many)
			most := 0
			for _, n := range w.sent {
				most = max(most, n)
			}
			require.Less(t, most, 3<<20)
			require.Less(t, env.Now().Sub(begun), 5*time.Second)
		})
	}
}
