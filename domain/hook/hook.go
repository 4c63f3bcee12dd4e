package hook

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Hook is a function at one trigger, with the name under which executions
// record it. Make one with the function of its trigger, or with IO.
type Hook struct {
	// Name is what definitions list. Hooks of several triggers may share one.
	Name string
	// Priority orders the hooks of a trigger: higher runs first, equal ones in
	// the order in which they were registered.
	Priority int
	// Always gives the hook to every agent of the worker, whatever its
	// definition lists.
	Always bool
	// Timeout bounds one attempt of a hook made with IO; zero is
	// domain.DefaultHookTimeout. Attempts bounds its tries; zero is one, and a few
	// more where workers die. Both mean nothing for the others.
	Timeout  time.Duration
	Attempts int

	trigger domain.Trigger
	// run is the function, of the type that the trigger has.
	run any
	io  Activity
}

// An Activity is a hook that may wait and touch the world. It runs as an
// activity, and may run again where it failed or its worker was lost.
type Activity func(ctx context.Context, request contract.HookRequest) (contract.HookReply, error)

// BeforeExecution runs once, before the first step.
func BeforeExecution(name string, run func(Point) (Point, error)) Hook {
	return of(domain.TriggerBeforeExecution, name, run)
}

// BeforeStep runs before each step begins. A stop here leaves no step.
func BeforeStep(name string, run func(Point) (Point, error)) Hook {
	return of(domain.TriggerBeforeStep, name, run)
}

// BeforeInference runs inside a step, before the model is asked.
func BeforeInference(name string, run func(Inference) (Inference, error)) Hook {
	return of(domain.TriggerBeforeInference, name, run)
}

// AfterInference runs when the model has answered.
func AfterInference(name string, run func(Reply) (Reply, error)) Hook {
	return of(domain.TriggerAfterInference, name, run)
}

// BeforeToolUse runs before each tool call, in call order.
func BeforeToolUse(name string, run func(ToolUse) (ToolUse, error)) Hook {
	return of(domain.TriggerBeforeToolUse, name, run)
}

// AfterToolUse runs for each tool call, in call order, when all have ended.
func AfterToolUse(name string, run func(ToolResult) (ToolResult, error)) Hook {
	return of(domain.TriggerAfterToolUse, name, run)
}

// AfterStep runs when a step's work is done.
func AfterStep(name string, run func(Point) (Point, error)) Hook {
	return of(domain.TriggerAfterStep, name, run)
}

// OnError runs once, where an unrecoverable error ends the execution.
func OnError(name string, run func(Error) (Error, error)) Hook {
	return of(domain.TriggerOnError, name, run)
}

// OnStop runs once, when the loop is over, for whatever reason.
func OnStop(name string, run func(Point) (Point, error)) Hook {
	return of(domain.TriggerOnStop, name, run)
}

// AfterExecution runs last. Signals from here on are seen and do not count.
func AfterExecution(name string, run func(Point) (Point, error)) Hook {
	return of(domain.TriggerAfterExecution, name, run)
}

// IO is a hook at any trigger that runs as an activity.
func IO(trigger domain.Trigger, name string, run Activity) Hook {
	return Hook{Name: name, trigger: trigger, io: run}
}

func of[At any](trigger domain.Trigger, name string, run func(Context[At]) (Context[At], error)) Hook {
	h := Hook{Name: name, trigger: trigger}
	if run != nil {
		h.run = run
	}
	return h
}

// Trigger is where the hook runs.
func (h Hook) Trigger() domain.Trigger { return h.trigger }

// Activity is the function of a hook made with IO, else nil.
func (h Hook) Activity() Activity { return h.io }

// Spec is what an execution records of the hook.
func (h Hook) Spec() contract.HookSpec {
	return contract.HookSpec{
		Name: h.Name, Trigger: h.trigger, Priority: h.Priority,
		IO: h.io != nil, Timeout: h.Timeout, Attempts: h.Attempts,
	}
}

// Check says what is wrong with the hook.
func (h Hook) Check() error {
	if err := new(domain.Trigger).UnmarshalText([]byte(h.trigger)); err != nil {
		return fmt.Errorf("hook %q: %w", h.Name, err)
	}
	switch {
	case h.Name == "":
		return domain.Invalidf("hook at %s: name: is empty; definitions list hooks by name", h.trigger)
	case h.run == nil && h.io == nil:
		return domain.Invalidf("hook %q: has no function", h.Name)
	case h.Timeout < 0 || h.Attempts < 0:
		return domain.Invalidf("hook %q: timeout and attempts may not be negative", h.Name)
	case h.io == nil && (h.Timeout != 0 || h.Attempts != 0):
		return domain.Invalidf("hook %q: timeout and attempts are for hooks made with IO; this one runs inside the workflow", h.Name)
	}
	return nil
}

// A Panic is the error of a hook that panicked. Its text says nothing of the value, which may be a secret.
type Panic struct {
	Value any
	// Stack is for the worker's log.
	Stack []byte
}

func (*Panic) Error() string {
	return "it panicked: a fault of the hook; the worker's log has the stack"
}

// Run runs a hook that is not an activity, for tests of it; see Ask. One that panics, or is of another
// trigger than the context, has failed; with any error, its own too, the context is the one given.
func Run[At any](h Hook, c Context[At]) (out Context[At], err error) {
	run, ok := h.run.(func(Context[At]) (Context[At], error))
	if !ok || h.trigger != c.Trigger {
		return c, domain.Errorf(domain.Internal, "the hook is not one of %s", c.Trigger)
	}
	defer func() {
		if p := recover(); p != nil {
			out, err = c, &Panic{Value: p, Stack: debug.Stack()}
		}
	}()
	if out, err = run(c); err != nil {
		return c, err
	}
	return out, nil
}
