package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

// A moment is when a stop comes: while an activity runs, or at a time.
type moment struct {
	// brings makes a world in which stop is called at the moment, once.
	brings func(w *world, env *testsuite.TestWorkflowEnvironment, stop func())
	// steps, asked and ran are what is left of the execution, by mode.
	steps, asked, ran map[contract.StopMode]int
}

func each(n int) map[contract.StopMode]int {
	return map[contract.StopMode]int{contract.AfterStep: n, contract.AfterInference: n, contract.StopNow: n}
}

func moments() map[string]moment {
	unavailable := temporal.NewApplicationErrorWithOptions("busy", string(domain.Unavailable), temporal.ApplicationErrorOptions{})
	return map[string]moment{
		"while the tools are listed": {func(w *world, _ *testsuite.TestWorkflowEnvironment, stop func()) {
			w.list = func(contract.ResolveRequest) (contract.Resolved, error) {
				stop()
				return catalog(), nil
			}
		}, each(0), each(0), each(0)},
		"while listing them is tried again": {func(w *world, env *testsuite.TestWorkflowEnvironment, stop func()) {
			w.list = func(contract.ResolveRequest) (contract.Resolved, error) { return contract.Resolved{}, unavailable }
			env.RegisterDelayedCallback(stop, 500*time.Millisecond)
		}, each(0), each(0), each(0)},
		"in an inference": {func(w *world, _ *testsuite.TestWorkflowEnvironment, stop func()) {
			model := w.model
			w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
				stop()
				return model(r)
			}
		}, each(1), each(1), map[contract.StopMode]int{contract.AfterStep: 2}},
		"between two tries of an inference": {func(w *world, env *testsuite.TestWorkflowEnvironment, stop func()) {
			model, failed := w.model, false
			w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
				if !failed {
					failed = true
					return with(billed(domain.Throttled), func(r *contract.ModelReply) { r.RetryAfterMillis = 60_000 }), nil
				}
				return model(r)
			}
			env.RegisterDelayedCallback(stop, 30*time.Second)
		}, each(1), each(1), each(0)},
		"in a try of an inference, before a long wait": {func(w *world, _ *testsuite.TestWorkflowEnvironment, stop func()) {
			w.model = func(contract.ModelRequest) (contract.ModelReply, error) {
				stop()
				return waits(time.Hour), nil
			}
		}, each(1), each(1), each(0)},
		"in an answer that is empty": {func(w *world, _ *testsuite.TestWorkflowEnvironment, stop func()) {
			model, failed := w.model, false
			w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
				if !failed {
					failed = true
					stop()
					return says(""), nil
				}
				return model(r)
			}
		}, each(1), map[contract.StopMode]int{contract.AfterStep: 2, contract.AfterInference: 1, contract.StopNow: 1}, map[contract.StopMode]int{contract.AfterStep: 2}},
		"in the last of two tools": {func(w *world, _ *testsuite.TestWorkflowEnvironment, stop func()) {
			tool, first := w.tool, make(chan struct{})
			w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
				switch r.Position {
				case 0:
					close(first)
				case 1: // calls of one step go at once
					<-first
					stop()
				}
				return tool(r)
			}
		}, each(1), each(1), each(2)},
		"between two tries of a tool": {func(w *world, env *testsuite.TestWorkflowEnvironment, stop func()) {
			tool := w.tool
			w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
				if r.Position == 1 && len(w.ran) <= 2 {
					return contract.ToolReply{NotStarted: true, Error: domain.Errorf(domain.Unavailable, "busy")}, nil
				}
				return tool(r)
			}
			env.RegisterDelayedCallback(stop, 500*time.Millisecond)
		}, each(1), each(1), map[contract.StopMode]int{contract.AfterStep: 3, contract.AfterInference: 2, contract.StopNow: 2}},
	}
}

// TestStopAtEachMoment in each mode: what had begun may finish as far as the
// mode lets it, nothing else starts, and every call has its result.
func TestStopAtEachMoment(t *testing.T) {
	t.Parallel()
	for name, m := range moments() {
		for _, mode := range enum.Known[contract.StopMode]() {
			t.Run(fmt.Sprint(name, ", ", mode), func(t *testing.T) {
				t.Parallel()
				w := &world{tools: reads(), model: calling(calls("look", 2)...), tool: saw}
				env := w.environment(t)
				m.brings(w, env, func() {
					env.SignalWorkflow(string(contract.SignalStop), contract.StopRequest{Mode: mode, Reason: "enough"})
				})
				begun := env.Now()
				env.ExecuteWorkflow(string(contract.Execute), input(t, ""))

				out := outcome(t, env)
				require.Less(t, env.Now().Sub(begun), 90*time.Second, "nothing is waited for in vain")
				require.Equal(t, domain.StatusStopped, out.Status)
				require.Equal(t, domain.UserRequested, out.StopReason)
				require.Equal(t, m.steps[mode], out.Steps)
				require.Len(t, w.asked, m.asked[mode])
				require.Len(t, w.ran, m.ran[mode])
				status := status(t, env)
				require.Equal(t, []domain.StopSignal{{Reason: domain.UserRequested, Message: "enough", Source: "user"}}, status.Signals)
				pending := 0
				for _, e := range query(t, env, contract.QueryMessages, contract.MessagesRequest{}).Entries {
					pending += len(e.Message.ToolCalls)
					if e.Message.ToolResult != nil {
						pending--
					}
				}
				require.Zero(t, pending, "every call has its result")
			})
		}
	}
}

// TestEscalation: of several times the earliest counts, and a timer that an
// execution leaves behind does nothing to the next one.
func TestEscalation(t *testing.T) {
	t.Parallel()
	w := &world{tools: reads(), model: calling(look())}
	w.tool = func(contract.ToolRequest) (contract.ToolReply, error) {
		return contract.ToolReply{}, temporal.NewApplicationErrorWithOptions("busy", "x", temporal.ApplicationErrorOptions{NextRetryDelay: time.Hour})
	}
	env := w.environment(t)
	begun := env.Now()
	for _, within := range []time.Duration{10 * time.Minute, time.Minute, 30 * time.Minute} {
		env.RegisterDelayedCallback(func() {
			env.SignalWorkflow(string(contract.SignalStop), contract.StopRequest{Within: contract.Span(within)})
		}, time.Second)
	}
	env.ExecuteWorkflow(string(contract.Execute), input(t, ""))
	require.Equal(t, domain.StatusStopped, outcome(t, env).Status)
	require.Less(t, env.Now().Sub(begun), 2*time.Minute)
	require.True(t, lastStep(t, env).Interrupted)
	require.Equal(t, domain.CodeInterrupted, lastStep(t, env).ToolExecutions[0].Error.Code)
}

// TestManyStops are all heeded, and a number of them kept.
func TestManyStops(t *testing.T) {
	t.Parallel()
	w := &world{tools: reads(), tool: saw}
	env := w.environment(t)
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		for range 500 {
			env.SignalWorkflow(string(contract.SignalStop), contract.StopRequest{})
		}
		env.SignalWorkflow(string(contract.SignalStop), contract.StopRequest{Mode: contract.AfterInference})
		return calling(look())(r)
	}
	env.ExecuteWorkflow(string(contract.Execute), input(t, ""))
	require.Equal(t, domain.StatusStopped, outcome(t, env).Status)
	require.Empty(t, w.ran, "the last one counts too")
	require.Len(t, status(t, env).Signals, 100)
}

// TestAStopThatNamesAnotherExecution is dropped.
func TestAStopThatNamesAnotherExecution(t *testing.T) {
	t.Parallel()
	w := &world{}
	env := w.environment(t)
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		other := input(t, "").AgentID.Execution("another", 7)
		env.SignalWorkflow(string(contract.SignalStop), contract.StopRequest{Mode: contract.StopNow, ExecutionID: other})
		return says("hi"), nil
	}
	env.ExecuteWorkflow(string(contract.Execute), input(t, ""))
	require.Equal(t, domain.StatusCompleted, outcome(t, env).Status)
}

// TestCancellation ends the execution and the session, in progress and idle.
func TestCancellation(t *testing.T) {
	t.Parallel()
	t.Run("in progress", func(t *testing.T) {
		t.Parallel()
		w := &world{tools: reads(), tool: saw}
		env := w.environment(t)
		w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
			env.CancelWorkflow()
			return calling(look())(r)
		}
		env.ExecuteWorkflow(string(contract.Execute), input(t, "ann"))
		out := outcome(t, env)
		require.Equal(t, domain.StatusStopped, out.Status)
		require.True(t, out.Closed)
		require.Empty(t, w.ran)
		require.Equal(t, "server", status(t, env).Signals[0].Source)
	})
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		w := &world{model: plays(says("hi"))}
		env := w.environment(t)
		env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
		env.ExecuteWorkflow(string(contract.Execute), input(t, "ann"))
		out := outcome(t, env)
		require.Equal(t, domain.StatusCompleted, out.Status, "what had ended stays as it was")
		require.True(t, out.Closed)
	})
}
