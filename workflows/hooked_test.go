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

// TestWhatAHookAsksFor is done: to stop, to go on, to say something; what cannot be
// kept fails it.
func TestWhatAHookAsksFor(t *testing.T) {
	t.Parallel()
	first := func(c hook.Point, do func() (hook.Point, error)) (hook.Point, error) {
		if c.State.StepCount() > 0 {
			return c, nil
		}
		return do()
	}
	budget := func(c hook.Point, b domain.ExecutionBudget) (hook.Point, error) {
		var err error
		c.State, err = c.State.WithBudget(b, c.Now)
		return c, err
	}
	for name, test := range map[string]struct {
		hook   hook.Hook
		reason domain.StopReason
		source string
		code   domain.Code
		steps  int
	}{
		"to stop before all": {hook.BeforeExecution("h", func(c hook.Point) (hook.Point, error) { return c.Stop("no").Stop("never"), nil }), domain.StopRequested, "h", "", 0},
		"to stop a step":     {hook.AfterStep("h", func(c hook.Point) (hook.Point, error) { return c.Stop("no"), nil }), domain.StopRequested, "h", "", 1},
		"to go on": {hook.AfterStep("h", func(c hook.Point) (hook.Point, error) {
			return first(c, func() (hook.Point, error) { return c.Continue(), nil })
		}), domain.Completed, "", "", 2},
		"a word more": {hook.AfterStep("h", func(c hook.Point) (hook.Point, error) {
			return first(c, func() (hook.Point, error) { return c.Say(domain.RoleUser, "sure?").Continue(), nil })
		}), domain.Completed, "", "", 2},
		"a word before all": {hook.BeforeExecution("h", func(c hook.Point) (hook.Point, error) {
			return c.Say(domain.RoleUser, "sure?"), nil
		}), domain.Completed, "", "", 1},
		"another prompt": {hook.BeforeStep("h", func(c hook.Point) (hook.Point, error) {
			c.State = c.State.WithSystemPrompt("You are terse.", c.Now)
			return c, nil
		}), domain.Completed, "", "", 1},
		"less time": {hook.BeforeStep("h", func(c hook.Point) (hook.Point, error) {
			return budget(c, domain.ExecutionBudget{MaxSeconds: new(60.0)})
		}), domain.TimeLimitReached, "budget", "", 1},
		"a deadline": {hook.BeforeStep("h", func(c hook.Point) (hook.Point, error) {
			at := c.Now.Add(time.Minute)
			return budget(c, domain.ExecutionBudget{Deadline: &at})
		}), domain.TimeLimitReached, "budget", "", 1},
		"an error of its own": {hook.AfterStep("h", func(c hook.Point) (hook.Point, error) {
			return c, domain.CodedErrorf(domain.Denied, domain.CodeAuth, "no")
		}), domain.ErrorForbade, "h", domain.CodeHookFailed, 1},
		"any error": {hook.AfterStep("h", func(c hook.Point) (hook.Point, error) { return c, errors.New("no") }), domain.ErrorForbade, "h", domain.CodeHookFailed, 1},
		"a tool's message": {hook.AfterStep("h", func(c hook.Point) (hook.Point, error) {
			return c.Say(domain.RoleTool, "seen"), nil
		}), domain.ErrorForbade, "h", domain.CodeHookFailed, 1},
		"the state of another agent": {hook.AfterStep("h", func(c hook.Point) (hook.Point, error) {
			c.State = domain.AgentState{}
			return c, nil
		}), domain.ErrorForbade, "h", domain.CodeHookFailed, 1},
		"an answer without end": {hook.AfterInference("h", func(c hook.Reply) (hook.Reply, error) {
			c.At.Message.Parts = []domain.Part{{Type: domain.PartText, Text: strings.Repeat("x", domain.MaxMessage)}}
			return c, nil
		}), domain.ErrorForbade, "h", domain.CodeHookFailed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: plays(with(billed(domain.Throttled), func(r *contract.ModelReply) { r.RetryAfterMillis = time.Hour.Milliseconds() }), says("one"), says("two"))}
			env := hooked(t, w, nil, test.hook)
			env.ExecuteWorkflow(string(contract.Execute), input(t, ""))
			out := outcome(t, env)
			require.Equal(t, test.reason, out.StopReason)
			require.Equal(t, test.code, out.Code)
			require.Equal(t, test.steps, out.Steps)
			for _, r := range w.asked {
				require.Equal(t, name == "another prompt", r.Resolved != catalog().Digest, "the model reads the prompt in force")
			}
			for _, e := range query(t, env, contract.QueryMessages, contract.MessagesRequest{}).Entries {
				if e.Message.Text() == "sure?" {
					require.Equal(t, name == "a word before all", domain.TagOf(e.Message).StepID.IsZero())
				}
			}
			status := status(t, env)
			if test.reason == domain.Completed {
				require.Equal(t, []domain.StopSignal{domain.Done()}, status.Signals, "a natural end says so, too")
			} else {
				require.Equal(t, test.source, status.Signals[0].Source)
			}
			require.Equal(t, test.reason == domain.ErrorForbade, status.Failure() != nil)
		})
	}
}

// TestWhatIsOverriddenIsCounted once, however often there is something.
func TestWhatIsOverriddenIsCounted(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(says("one"), says("two"), says("three"))}
	env := hooked(t, w, nil,
		hook.AfterStep("stops", func(c hook.Point) (hook.Point, error) { return c.StopFor(domain.Completed, "done", nil), nil }),
		hook.AfterStep("goes on", func(c hook.Point) (hook.Point, error) {
			if c.State.StepCount() < 2 {
				return c.Continue(), nil
			}
			return c, nil
		}))
	env.ExecuteWorkflow(string(contract.Execute), input(t, ""))
	require.Equal(t, 3, outcome(t, env).Steps)
	var overridden []int
	for _, e := range eventsOf(t, env, 0) {
		if evaluated, ok := e.Data.(domain.ContinuationEvaluated); ok {
			overridden = append(overridden, evaluated.Overridden)
		}
	}
	require.Equal(t, []int{1, 1, 0}, overridden)
}

// TestOverriddenIsToldEachTime, also of more than are kept.
func TestOverriddenIsToldEachTime(t *testing.T) {
	t.Parallel()
	times := domain.MaxOverridden + 5
	w := &world{model: func(contract.ModelRequest) (contract.ModelReply, error) { return says("more"), nil }}
	env := hooked(t, w, nil, hook.AfterStep("stops", func(c hook.Point) (hook.Point, error) {
		if c.State.StepCount() < times {
			return c.Stop("enough").Continue(), nil
		}
		return c, nil
	}))
	env.ExecuteWorkflow(string(contract.Execute), input(t, ""))
	require.Equal(t, times+1, outcome(t, env).Steps)
	told := 0
	for _, e := range eventsOf(t, env, 0) {
		if evaluated, ok := e.Data.(domain.ContinuationEvaluated); ok {
			told += evaluated.Overridden
		}
	}
	require.Equal(t, times, told)
}

// TestCallsThatHaveBegunAreSeenWhileALaterOneWaits: for a hook that is an activity.
func TestCallsThatHaveBegunAreSeenWhileALaterOneWaits(t *testing.T) {
	t.Parallel()
	io := hook.IO(domain.TriggerBeforeToolUse, "h", func(context.Context, contract.HookRequest) (contract.HookReply, error) {
		return contract.HookReply{}, nil
	})
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
	env.RegisterActivityWithOptions(func(ctx context.Context, r contract.HookRequest) (contract.HookReply, error) {
		if strings.HasSuffix(r.Call.Arguments, "2") && activity.GetInfo(ctx).Attempt == 1 {
			return contract.HookReply{}, again
		}
		return contract.HookReply{}, nil
	}, activity.RegisterOptions{Name: string(contract.CallHook)})
	var seen []domain.ToolOutcome
	env.RegisterDelayedCallback(func() {
		state := stateIn(t, env)
		step, _ := state.CurrentStep()
		for _, call := range step.ToolExecutions {
			seen = append(seen, call.Outcome())
		}
	}, 500*time.Millisecond)
	env.ExecuteWorkflow(string(contract.Execute), input(t, ""))
	require.Equal(t, domain.StatusCompleted, outcome(t, env).Status)
	require.Equal(t, []domain.ToolOutcome{domain.ToolOK, domain.ToolRunning, domain.ToolNotRun}, seen)
}

// TestUsageIsToldOfTheStepAndOfAll after each step.
func TestUsageIsToldOfTheStepAndOfAll(t *testing.T) {
	t.Parallel()
	w := steady(3, false)
	env := w.environment(t)
	env.ExecuteWorkflow(string(contract.Execute), input(t, ""))
	var sum domain.Usage
	told := 0
	for _, e := range eventsOf(t, env, 0) {
		if reported, ok := e.Data.(domain.TokenUsageReported); ok {
			require.Positive(t, reported.StepUsage.TotalTokens())
			sum = sum.Add(reported.StepUsage)
			require.Equal(t, sum, reported.Usage)
			told++
		}
	}
	require.Equal(t, 4, told)
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
	env.ExecuteWorkflow(string(contract.Execute), input(t, ""))
	store := domain.StoreOf(readAccount(t, env, account.Messages).Messages)
	require.Len(t, store.Section(domain.SectionMessages), 2)
	notes := store.Section("notes")
	require.Len(t, notes, 1)
	require.Equal(t, "aside", notes[0].Text())
}

// TestEachOfManyStopsIsTold: a hundred are kept, the others are counted.
func TestEachOfManyStopsIsTold(t *testing.T) {
	t.Parallel()
	w := &world{}
	env := w.environment(t)
	w.model = func(contract.ModelRequest) (contract.ModelReply, error) {
		for range domain.MaxStops + 30 {
			env.SignalWorkflow(string(contract.SignalStop), contract.StopRequest{})
		}
		return says("done"), nil
	}
	env.ExecuteWorkflow(string(contract.Execute), input(t, ""))
	require.Equal(t, domain.StatusStopped, outcome(t, env).Status)
	status := status(t, env)
	require.Len(t, status.Signals, domain.MaxStops)
	require.Equal(t, 30, status.MoreSignals)
	told := 0
	for _, e := range eventsOf(t, env, 0) {
		if e.Type == domain.EventStopSignalReceived {
			told++
		}
	}
	require.Equal(t, domain.MaxStops+30, told)
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
		"one that cannot be asked": {domain.TriggerAfterStep, 1, func() (contract.HookReply, error) { return big, refused(domain.Errorf(domain.Invalid, "no such hook")) }, "no such hook"},
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
			env.RegisterActivityWithOptions(func(context.Context, contract.HookRequest) (contract.HookReply, error) { return test.reply() },
				activity.RegisterOptions{Name: string(contract.CallHook)})
			env.ExecuteWorkflow(string(contract.Execute), input(t, ""))
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
	broken := domain.Errorf(domain.Invalid, "no such file")
	for name, test := range map[string]struct {
		reply   contract.ToolReply
		change  func(*domain.ToolExecution)
		content string
		failed  bool
	}{
		"another value":     {contract.ToolReply{Content: "seen"}, func(e *domain.ToolExecution) { e.Value = "hidden" }, "hidden", false},
		"an error":          {contract.ToolReply{Content: "seen"}, func(e *domain.ToolExecution) { e.Error = domain.Errorf(domain.Denied, "not for you") }, "not for you", true},
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
			env.ExecuteWorkflow(string(contract.Execute), input(t, ""))
			require.Equal(t, domain.StatusCompleted, outcome(t, env).Status)
			result := query(t, env, contract.QueryMessages, contract.MessagesRequest{}).Entries[2].Message.ToolResult
			require.Equal(t, test.content, result.Content)
			require.Equal(t, test.failed, result.IsError)
			kept := stepsIn(t, env, 0)[0].Step.ToolExecutions[0]
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
			env.ExecuteWorkflow(string(contract.Execute), input(t, ""))
			require.Equal(t, domain.StatusCompleted, outcome(t, env).Status)
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
