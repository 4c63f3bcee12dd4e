package kept

import (
	"fmt"
	"strings"
	"sync"

	"everstep/domain"
	"everstep/domain/hook"
)

// A Trace is where hook trace ran, for runs in memory, where no worker dies.
type Trace struct {
	mu  sync.Mutex
	ran []string
}

func (t *Trace) note(trigger domain.Trigger, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ran = append(t.ran, strings.TrimSpace(string(trigger)+" "+fmt.Sprintf(format, args...)))
}

// Lines are the triggers, in order, each with what was to be seen there.
func (t *Trace) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ran
}

// traces is hook trace: it changes nothing.
func (t *Trace) traces() []hook.Hook {
	point := func(c hook.Point) (hook.Point, error) {
		t.note(c.Trigger, "%s, steps: %d", c.State.Status(), c.State.TransientStepCount())
		return c, nil
	}
	return []hook.Hook{
		hook.BeforeExecution("trace", point), hook.BeforeStep("trace", point), hook.AfterStep("trace", point),
		hook.OnStop("trace", point), hook.AfterExecution("trace", point),
		hook.BeforeInference("trace", func(c hook.Inference) (hook.Inference, error) {
			t.note(c.Trigger, "")
			return c, nil
		}),
		hook.AfterInference("trace", func(c hook.Reply) (hook.Reply, error) {
			t.note(c.Trigger, "%s", c.At.Response.Finish)
			return c, nil
		}),
		hook.BeforeToolUse("trace", func(c hook.ToolUse) (hook.ToolUse, error) {
			t.note(c.Trigger, "%s", c.At.Call.Name)
			return c, nil
		}),
		hook.AfterToolUse("trace", func(c hook.ToolResult) (hook.ToolResult, error) {
			t.note(c.Trigger, "%s", c.At.Execution.Call.Name)
			return c, nil
		}),
		hook.OnError("trace", func(c hook.Error) (hook.Error, error) {
			t.note(c.Trigger, "%s", c.At.Error.Message)
			return c, nil
		}),
	}
}

// ScenarioHooks are those that scenarios name.
func ScenarioHooks(t *Trace) []hook.Hook {
	broken := domain.Deniedf("the house is closed")
	return append(t.traces(),
		// What stops.
		hook.BeforeExecution("stop-before-execution", stops(domain.StopRequested)),
		hook.BeforeStep("stop-before-step-2", func(c hook.Point) (hook.Point, error) {
			if c.State.StepCount() == 1 {
				return c.Stop("one step is enough"), nil
			}
			return c, nil
		}),
		hook.BeforeToolUse("stop-before-tool-use", func(c hook.ToolUse) (hook.ToolUse, error) {
			return c.Stop("no tools today"), nil
		}),
		hook.AfterStep("stop-after-step", stops(domain.StopRequested)),
		hook.AfterStep("stop-unknown", stops(domain.Unknown)),
		hook.AfterStep("stop-completed", stops(domain.Completed)),
		hook.AfterStep("stop-error", stops(domain.ErrorForbade)),
		hook.OnStop("stop-on-stop", stops(domain.StopRequested)),
		hook.AfterExecution("stop-after-execution", stops(domain.StopRequested)),
		// What goes on.
		hook.AfterStep("continue-once", func(c hook.Point) (hook.Point, error) {
			if c.State.StepCount() == 0 {
				return c.Say(domain.RoleUser, "Go on.").Continue(), nil
			}
			return c, nil
		}),
		hook.AfterStep("continue", func(c hook.Point) (hook.Point, error) { return c.Continue(), nil }),
		hook.BeforeStep("continue-before-step", func(c hook.Point) (hook.Point, error) { return c.Continue(), nil }),
		// What fails.
		hook.BeforeStep("fail-before-step", func(c hook.Point) (hook.Point, error) { return c, broken }),
		hook.AfterExecution("fail-after-execution", func(c hook.Point) (hook.Point, error) { return c, broken }),
		// What changes something.
		hook.BeforeToolUse("block-weather", func(c hook.ToolUse) (hook.ToolUse, error) {
			if c.At.Call.Name == "weather" {
				return hook.Block(c, "the weather is a secret"), nil
			}
			return c, nil
		}),
		hook.BeforeToolUse("ask-for-oslo", func(c hook.ToolUse) (hook.ToolUse, error) {
			c.At.Call.Arguments = `{"city":"Oslo"}`
			return c, nil
		}),
		hook.AfterToolUse("shorter-result", func(c hook.ToolResult) (hook.ToolResult, error) {
			c.At.Execution.Value = "[" + c.At.Execution.Value[:3] + "]"
			return c, nil
		}),
		hook.AfterInference("politer", func(c hook.Reply) (hook.Reply, error) {
			c.At.Message.Parts = []domain.Part{{Type: domain.PartText, Text: c.At.Message.Text() + ", please"}}
			return c, nil
		}),
	)
}

func stops(reason domain.StopReason) func(hook.Point) (hook.Point, error) {
	return func(c hook.Point) (hook.Point, error) {
		return c.StopFor(reason, "the hook wants it", nil), nil
	}
}
