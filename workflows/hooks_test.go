package workflows_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/domain/hook"
	"everstep/workflows"
)

// anew lets a workflow be registered in place of another of its name.
type anew struct{ worker.WorkflowRegistry }

func (a anew) RegisterWorkflowWithOptions(f any, options workflow.RegisterOptions) {
	options.DisableAlreadyRegisteredCheck = true
	a.WorkflowRegistry.RegisterWorkflowWithOptions(f, options)
}

// hooked makes a world one whose worker has hooks, all of which the agent uses,
// and a listener.
func hooked(t *testing.T, w *world, hear func(domain.Event), hooks ...hook.Hook) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	set, err := hook.NewSet(hooks...)
	require.NoError(t, err)
	w.list = func(contract.ResolveRequest) (contract.Resolved, error) {
		resolved := hookedCatalog(t, hooks...)
		if w.tools != nil {
			resolved.Tools = w.tools
		}
		return resolved, nil
	}
	env := w.environment(t)
	workflows.Register(anew{env}, workflows.Options{Hooks: set, Emit: hear})
	return env
}

// hookedCatalog is the catalog of a worker that gives all agents these hooks.
func hookedCatalog(t *testing.T, hooks ...hook.Hook) contract.Resolved {
	t.Helper()
	for i := range hooks {
		hooks[i].Always = true
	}
	set, err := hook.NewSet(hooks...)
	require.NoError(t, err)
	c := catalog()
	c.Hooks, err = set.Resolve(nil)
	require.NoError(t, err)
	return c
}

// pointing makes the hooks of a trigger that tell where they ran.
func pointing(note func(string)) []hook.Hook {
	point := func(c hook.Point) (hook.Point, error) {
		note(string(c.Trigger))
		return c, nil
	}
	return []hook.Hook{
		hook.BeforeExecution("h", point), hook.BeforeStep("h", point), hook.AfterStep("h", point), hook.OnStop("h", point), hook.AfterExecution("h", point),
		hook.BeforeInference("h", func(c hook.Inference) (hook.Inference, error) {
			note(string(c.Trigger))
			return c, nil
		}),
		hook.AfterInference("h", func(c hook.Reply) (hook.Reply, error) {
			note(string(c.Trigger))
			return c, nil
		}),
		hook.BeforeToolUse("h", func(c hook.ToolUse) (hook.ToolUse, error) {
			note(fmt.Sprint(c.Trigger, " ", c.At.Position))
			if c.At.Position == 1 {
				return hook.Block(c, "no"), nil
			}
			return c, nil
		}),
		hook.AfterToolUse("h", func(c hook.ToolResult) (hook.ToolResult, error) {
			note(fmt.Sprint(c.Trigger, " ", c.At.Position))
			return c, nil
		}),
		hook.OnError("h", func(c hook.Error) (hook.Error, error) {
			note(string(c.Trigger))
			return c, nil
		}),
	}
}

// TestTheOrderOfEverything is that of SPEC.md, hooks and events in one line.
func TestTheOrderOfEverything(t *testing.T) {
	t.Parallel()
	refused := contract.ModelReply{Outcome: contract.BilledFailure, Error: domain.CodedErrorf(domain.Denied, domain.CodeAuth, "no"), Tries: 1}
	ending := `on_stop
		StopSignalReceived
		AgentExecutionStopped
		after_execution
		AgentExecutionCompleted`
	for name, test := range map[string]struct {
		replies []contract.ModelReply
		steps   *int64
		order   string
	}{
		"tools": {[]contract.ModelReply{says("", calls("look", 3)...), says("done")}, nil, `
		AgentExecutionStarted
		before_execution
		before_step
		AgentStepStarted
		before_inference
		InferenceRequestStarted
		after_inference
		InferenceResponseReceived
		before_tool_use 0
		ToolCallStarted
		before_tool_use 1
		ToolCallBlocked
		before_tool_use 2
		ToolCallStarted
		ToolCallCompleted
		ToolCallCompleted
		after_tool_use 0
		after_tool_use 2
		after_step
		AgentStepCompleted
		TokenUsageReported
		ContinuationEvaluated
		before_step
		AgentStepStarted
		before_inference
		InferenceRequestStarted
		after_inference
		InferenceResponseReceived
		after_step
		AgentStepCompleted
		TokenUsageReported
		ContinuationEvaluated
		` + ending},
		"a failure": {[]contract.ModelReply{refused}, nil, `
		AgentExecutionStarted
		before_execution
		before_step
		AgentStepStarted
		before_inference
		InferenceRequestStarted
		InferenceResponseReceived
		StopSignalReceived
		after_step
		AgentStepCompleted
		TokenUsageReported
		ContinuationEvaluated
		on_error
		on_stop
		AgentExecutionStopped
		after_execution
		AgentExecutionFailed`},
		"a limit": {nil, number(0), `
		AgentExecutionStarted
		before_execution
		before_step
		StopSignalReceived
		ContinuationEvaluated
		on_stop
		AgentExecutionStopped
		after_execution
		AgentExecutionCompleted`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var order []string
			note := func(line string) { order = append(order, line) }
			w := &world{model: plays(test.replies...), tool: saw}
			env := hooked(t, w, func(e domain.Event) { note(string(e.Type)) }, pointing(note)...)
			execute(env, input(t, "", func(in *contract.SessionInput) { in.Budget.MaxSteps = test.steps }))
			require.True(t, env.IsWorkflowCompleted())
			require.Equal(t, strings.Fields(strings.ReplaceAll(test.order, "_use ", "_use=")), strings.Fields(strings.ReplaceAll(strings.Join(order, "\n"), "_use ", "_use=")))
		})
	}
}

// along runs the workflow along a hand-written history, on a worker with hooks.
func (c *chronicle) along(hooks ...hook.Hook) error {
	c.t.Helper()
	set, err := hook.NewSet(hooks...)
	require.NoError(c.t, err)
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true}) // a busy machine is none
	require.NoError(c.t, err)
	workflows.Register(r, workflows.Options{Hooks: set})
	return c.replayedBy(r)
}

// answersHooks has a worker answer hooks that are activities.
func answersHooks(env *testsuite.TestWorkflowEnvironment, answer func(context.Context, contract.HookRequest) (contract.HookReply, error)) {
	env.RegisterActivityWithOptions(answer, activity.RegisterOptions{Name: string(contract.CallHook)})
}

// nothing is a hook that is an activity, whose reply stands in the history.
func nothing(trigger domain.Trigger) hook.Hook {
	return hook.IO(trigger, "h", func(context.Context, contract.HookRequest) (contract.HookReply, error) {
		return contract.HookReply{}, nil
	})
}

// counted notes its name each time it runs.
func counted(name string, ran *[]string) hook.Hook {
	return hook.BeforeStep(name, func(c hook.Point) (hook.Point, error) {
		*ran = append(*ran, name)
		return c, nil
	})
}

// TestAHookAndAStopOfTheSameTask: nothing starts after the stop, whichever of
// the two the workflow learns of first.
func TestAHookAndAStopOfTheSameTask(t *testing.T) {
	t.Parallel()
	for _, trigger := range []domain.Trigger{domain.TriggerBeforeExecution, domain.TriggerBeforeStep, domain.TriggerBeforeInference, domain.TriggerAfterInference, domain.TriggerBeforeToolUse} {
		for _, mode := range enum.Known[contract.StopMode]() {
			for _, order := range []string{"stop first", "stop last"} {
				t.Run(fmt.Sprint(trigger, " ", mode, " ", order), func(t *testing.T) {
					t.Parallel()
					h := nothing(trigger)
					c := began(t, input(t, "")).task()
					listing := c.calls(string(contract.ListTools))
					c.returns(listing, hookedCatalog(t, h)).task()
					within := trigger == domain.TriggerAfterInference || trigger == domain.TriggerBeforeToolUse
					if within {
						inference := c.calls(string(contract.CallModel))
						c.returns(inference, says("", look())).task()
					}
					called := c.calls(string(contract.CallHook))
					stop := contract.StopRequest{Mode: mode}
					if order == "stop first" {
						c.stops(stop).returns(called, contract.HookReply{})
					} else {
						c.returns(called, contract.HookReply{}).stops(stop)
					}
					c.task()
					// A stop in a step lets it finish as far as its mode says.
					switch {
					case trigger == domain.TriggerBeforeInference && mode != contract.StopNow:
						inference := c.calls(string(contract.CallModel))
						c.returns(inference, says("", look())).task()
						if mode == contract.AfterStep {
							c.calls(string(contract.CallTool))
							break
						}
						c.notes()
					case within && mode == contract.AfterStep:
						c.calls(string(contract.CallTool))
					default:
						c.notes()
					}
					require.NoError(t, c.along(h))
				})
			}
		}
	}
}

// TestTheLastHooksOfAStop are run though the work is cancelled.
func TestTheLastHooksOfAStop(t *testing.T) {
	t.Parallel()
	h := nothing(domain.TriggerOnStop)
	c := began(t, input(t, "")).task()
	listing := c.calls(string(contract.ListTools))
	c.returns(listing, hookedCatalog(t, h)).task()
	inference := c.calls(string(contract.CallModel))
	c.stops(contract.StopRequest{Mode: contract.StopNow}).task().asksToCancel(inference)
	c.returns(inference, contract.ModelReply{Outcome: contract.Interrupted, Tries: 1}).task()
	called := c.calls(string(contract.CallHook))
	c.stops(contract.StopRequest{Mode: contract.StopNow}).cancels().task()
	c.returns(called, contract.HookReply{}).task().notes()
	require.NoError(t, c.along(h))
}

// TestALateAlarmOfAHook: the time limit that a hook sets at the end of an
// execution rings for nobody.
func TestALateAlarmOfAHook(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(says("one"), says("two"))}
	env := hooked(t, w, nil, hook.OnStop("h", func(c hook.Point) (hook.Point, error) {
		var err error
		c.State, err = c.State.WithBudget(secondsOf(60.0), c.Now)
		return c, err
	}))
	prompts(env, time.Hour, "more")
	closes(env, 2*time.Hour)
	execute(env, input(t, "ann"))
	out := outcome(t, env)
	require.Equal(t, 2, out.Number)
	require.Equal(t, domain.Completed, out.StopReason)
}

// TestAnotherModelKeepsTheHooks: where the definition is resolved anew in the
// middle of an execution, its hooks stay those of its beginning.
func TestAnotherModelKeepsTheHooks(t *testing.T) {
	t.Parallel()
	var ran []string
	w := &world{model: plays(says("", look()), says("done")), tool: saw}
	changes := hook.AfterStep("changes", func(c hook.Point) (hook.Point, error) {
		if c.State.StepCount() == 0 {
			c.State = c.State.WithLLMConfig(domain.LLMConfig{Provider: "scripted", Model: "/y"}, c.Now)
		}
		return c, nil
	})
	env := hooked(t, w, nil, changes, counted("first", &ran), counted("later", &ran))
	older, newer := hookedCatalog(t, changes, counted("first", &ran)), hookedCatalog(t, changes, counted("later", &ran))
	w.list = func(contract.ResolveRequest) (contract.Resolved, error) {
		if len(w.listed) == 1 {
			return older, nil
		}
		return newer, nil
	}
	execute(env, input(t, ""))
	endsFor(t, env, domain.Completed)
	require.Len(t, w.listed, 2)
	require.Equal(t, []string{"first", "first"}, ran)
}
