package workflows_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/contract"
)

func bucketGone() error {
	return temporal.NewApplicationErrorWithOptions("the bucket is gone", "unavailable", temporal.ApplicationErrorOptions{})
}

// promptsHourly gives a session one more prompt each hour.
func promptsHourly(t *testing.T, env *testsuite.TestWorkflowEnvironment, prompts int) {
	t.Helper()
	for h := 1; h <= prompts; h++ {
		env.RegisterDelayedCallback(func() {
			env.UpdateWorkflow(string(contract.UpdateSend), fmt.Sprint("u", h), callback[contract.SendReply](t, nil), contract.SendRequest{Prompt: "more"})
		}, time.Duration(h)*time.Hour)
	}
}

// longTalk is a session whose conversation is too long to be carried without the storage, which fails until a time.
func longTalk(t *testing.T, back time.Duration) (env *testsuite.TestWorkflowEnvironment, tried *[]time.Duration) {
	t.Helper()
	w := steady(0, true)
	w.model = repeats(says(strings.Repeat("x", 9000)))
	env = w.environment(t)
	begun := env.Now()
	tried = new([]time.Duration)
	w.record = func(r contract.RecordRequest) (contract.Segment, error) {
		at := env.Now().Sub(begun)
		if at >= back {
			return stores(r)
		}
		*tried = append(*tried, at)
		return contract.Segment{}, bucketGone()
	}
	return env, tried
}

// TestAnIdleSessionInAnOutage tries again by the clock, less and less often, and continues as new when the storage is back.
func TestAnIdleSessionInAnOutage(t *testing.T) {
	t.Parallel()
	env, tried := longTalk(t, 200*time.Hour)
	outgrows(env, 120)
	promptsHourly(t, env, 130)
	env.RegisterDelayedCallback(env.CancelWorkflow, 300*time.Hour)
	execute(env, input(t, "ann"))
	nextRun(t, env)
	require.Greater(t, len(*tried), 60, "about each hour, a few tries each")
	require.Less(t, len(*tried), 600)
}

// TestAnExhaustedSessionInAnOutage keeps what is left of its run for its end: it tries the storage no more.
func TestAnExhaustedSessionInAnOutage(t *testing.T) {
	t.Parallel()
	env, tried := longTalk(t, 100_000*time.Hour)
	outgrows(env, 120)
	promptsHourly(t, env, 130)
	env.RegisterDelayedCallback(func() { env.SetCurrentHistoryLength(50_100) }, 140*time.Hour)
	var before int
	env.RegisterDelayedCallback(func() { before = len(*tried) }, 142*time.Hour)
	env.RegisterDelayedCallback(env.CancelWorkflow, 441*time.Hour)
	execute(env, input(t, "ann"))
	require.NotZero(t, before)
	require.Len(t, *tried, before)
}

// inOutage is an agent with such results, whose run is long enough after twenty steps, where the storage fails until a time.
// Something happens at its thirtieth step.
func inOutage(t *testing.T, result string, back time.Duration, at func(*testsuite.TestWorkflowEnvironment)) (*world, *testsuite.TestWorkflowEnvironment) {
	t.Helper()
	w := steady(60, true)
	w.tool = gives(contract.ToolReply{Content: result})
	env := w.environment(t)
	begun, model := env.Now(), w.model
	w.record = func(r contract.RecordRequest) (contract.Segment, error) {
		if env.Now().Sub(begun) < back {
			return contract.Segment{}, bucketGone()
		}
		return stores(r)
	}
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		if r.Step == 30 {
			at(env)
		}
		return model(r)
	}
	outgrows(env, 20)
	return w, env
}

const forLong = 1000 * time.Hour

// longResult is one that no run hands on.
var longResult = strings.Repeat("x", 60_000)

func nothingHappens(*testsuite.TestWorkflowEnvironment) {}

// TestNearTheBoundsOfARun an execution waits for the storage, says so, and observes a stop.
func TestNearTheBoundsOfARun(t *testing.T) {
	t.Parallel()
	near := func(env *testsuite.TestWorkflowEnvironment) { env.SetCurrentHistoryLength(46_000) }
	t.Run("until it is back", func(t *testing.T) {
		t.Parallel()
		w, env := inOutage(t, longResult, 5*time.Hour, near)
		env.RegisterDelayedCallback(func() {
			status := status(t, env)
			require.Contains(t, status.Doing, "waiting for the storage")
			require.Contains(t, status.History.Unstored, "the bucket is gone")
		}, 4*time.Hour)
		execute(env, input(t, ""))
		nextRun(t, env)
		require.Len(t, w.asked, 30, "no step begins meanwhile")
	})
	t.Run("a stop ends the wait", func(t *testing.T) {
		t.Parallel()
		w, env := inOutage(t, longResult, forLong, near)
		stopsWith(env, 4*time.Hour, contract.StopRequest{Mode: contract.AfterStep})
		begun := env.Now()
		execute(env, input(t, ""))
		endsFor(t, env, domain.UserRequested)
		require.Len(t, w.asked, 30)
		require.Less(t, env.Now().Sub(begun), 5*time.Hour)
	})
	t.Run("what the ending needs is left", func(t *testing.T) {
		t.Parallel()
		_, env := inOutage(t, longResult, forLong, near)
		env.RegisterDelayedCallback(func() { env.SetCurrentHistoryLength(50_000) }, 10*time.Hour)
		execute(env, input(t, ""))
		require.Equal(t, domain.CodeContextLost, outcome(t, env).Code)
	})
}

// TestARunWhoseReplayMustBeShort, as a workflow task may take little, ends earlier in an outage.
func TestARunWhoseReplayMustBeShort(t *testing.T) {
	t.Parallel()
	w, env := inOutage(t, longResult, forLong, func(env *testsuite.TestWorkflowEnvironment) { env.SetCurrentHistoryLength(21_000) })
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{WorkflowTaskTimeout: 2 * time.Second})
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
	execute(env, input(t, ""))
	require.Len(t, w.asked, 30, "the execution waits there")
}
