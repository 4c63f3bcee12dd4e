package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestEscalation: of several times the earliest counts, and a timer that an
// execution leaves behind does nothing to the next one.
func TestEscalation(t *testing.T) {
	t.Parallel()
	w := &world{tools: reads(), model: calling(look())}
	w.tool = breaks(comesAgain(time.Hour))
	env := w.environment(t)
	begun := env.Now()
	for _, within := range []time.Duration{10 * time.Minute, time.Minute, 30 * time.Minute} {
		stopsWith(env, time.Second, contract.StopRequest{Within: contract.Span(within)})
	}
	execute(env, input(t, ""))
	endsAs(t, env, domain.StatusStopped)
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
			signalStop(env, contract.StopRequest{})
		}
		signalStop(env, contract.StopRequest{Mode: contract.AfterInference})
		return calling(look())(r)
	}
	execute(env, input(t, ""))
	endsAs(t, env, domain.StatusStopped)
	require.Empty(t, w.ran, "the last one counts too")
	status := status(t, env)
	require.Len(t, status.Signals, domain.MaxStops)
	require.Equal(t, 501-domain.MaxStops, status.MoreSignals)
	require.Len(t, eventsIn(t, env, 0, domain.EventStopSignalReceived), 501, "each is told")
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
		execute(env, input(t, "ann"))
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
		execute(env, input(t, "ann"))
		out := outcome(t, env)
		require.Equal(t, domain.StatusCompleted, out.Status, "what had ended stays as it was")
		require.True(t, out.Closed)
	})
}

// TestAStopThatNamesAnotherExecution is dropped.
func TestAStopThatNamesAnotherExecution(t *testing.T) {
	t.Parallel()
	w := &world{}
	env := w.environment(t)
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		other := input(t, "").AgentID.Execution("another", 7)
		signalStop(env, contract.StopRequest{Mode: contract.StopNow, ExecutionID: other})
		return says("hi"), nil
	}
	execute(env, input(t, ""))
	completes(t, env)
}
