package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/contract"
)

// awaits asks at a time for the end of an execution, as clients do, but under an id of the test's own: the environment
// answers what it has answered before, as the server does.
func awaits(env *testsuite.TestWorkflowEnvironment, at time.Duration, id string, number int) *verdict {
	return updates(env, at, contract.UpdateAwait, id, contract.AwaitRequest{Number: number})
}

// awaited is the outcome with which an update was answered.
func awaited(t *testing.T, v *verdict) contract.Outcome {
	t.Helper()
	v.succeeds(t)
	require.IsType(t, contract.AwaitReply{}, v.value)
	outcome := v.value.(contract.AwaitReply).Outcome
	require.NotNil(t, outcome)
	return *outcome
}

// TestAwait tells all who wait how an execution has ended, once it has, and at once whoever asks later.
func TestAwait(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(busy(), says("one"), says("two"))}
	env := w.environment(t)
	first, same, other := awaits(env, time.Minute, contract.AwaitID(1), 1), awaits(env, 2*time.Minute, contract.AwaitID(1), 1), awaits(env, 3*time.Minute, "u1", 1)
	sends(env, 4*time.Minute, "u2", queued("later"))
	next := awaits(env, 5*time.Minute, contract.AwaitID(2), 2)
	var early []any
	env.RegisterDelayedCallback(func() { early = []any{first.value, same.value, other.value, next.value} }, 59*time.Minute)
	late, last := awaits(env, 2*time.Hour, "u3", 1), awaits(env, 2*time.Hour, "u4", 2)
	closes(env, 3*time.Hour)
	execute(env, input(t, "ann"))
	out := outcome(t, env)
	require.Equal(t, []any{nil, nil, nil, nil}, early)
	for _, v := range []*verdict{first, same, other, late} {
		one := awaited(t, v)
		require.Equal(t, []any{1, domain.StatusCompleted, "one", 1}, []any{one.Number, one.Status, one.End.Answer, one.Unread})
	}
	for _, v := range []*verdict{next, last} {
		two := awaited(t, v)
		require.Equal(t, out.ExecutionID, two.ExecutionID)
		require.Equal(t, []any{2, "two"}, []any{two.Number, two.End.Answer})
	}
}

// TestAwaitOverRuns: whoever waits is told to ask the next run, which knows both the execution in progress and the one that
// has ended before.
func TestAwaitOverRuns(t *testing.T) {
	t.Parallel()
	for name, storage := range map[string]bool{"with storage": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := steady(6, storage)
			w.tool = saw
			env := w.environment(t)
			outgrows(env, 4)
			v := awaits(env, 0, contract.AwaitID(1), 1)
			execute(env, input(t, "ann"))
			next := nextRun(t, env)
			require.NoError(t, v.err)
			require.Equal(t, contract.AwaitReply{}, v.value)

			env = w.environment(t)
			v = awaits(env, 0, contract.AwaitID(1), 1)
			env.RegisterDelayedCallback(func() { env.SetContinueAsNewSuggested(true) }, time.Hour)
			updates(env, 2*time.Hour, contract.UpdateSuspend, "u1", contract.SuspendRequest{}) // has it look
			execute(env, next)
			require.Equal(t, "all done", awaited(t, v).End.Answer)
			next = nextRun(t, env)

			env = w.environment(t)
			v = awaits(env, time.Hour, contract.AwaitID(1), 1)
			updates(env, 2*time.Hour, contract.UpdateUnsuspend, "u2", contract.UnsuspendRequest{})
			closes(env, 3*time.Hour)
			execute(env, next)
			outcome(t, env)
			require.Equal(t, "all done", awaited(t, v).End.Answer)
		})
	}
}

// TestAwaitOfWhatDoesNotCome: an execution that nothing begins is refused, and the wait for one ends when its message is taken
// back.
func TestAwaitOfWhatDoesNotCome(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(busy(), says("one"))}
	env := w.environment(t)
	none, zero := awaits(env, time.Minute, "u1", 2), awaits(env, time.Minute, "u2", 0)
	held := sends(env, 2*time.Minute, "u3", queued("later"))
	updates(env, 3*time.Minute, contract.UpdateSuspend, "u4", contract.SuspendRequest{})
	second, third := awaits(env, 4*time.Minute, contract.AwaitID(2), 2), awaits(env, 4*time.Minute, "u5", 3)
	env.RegisterDelayedCallback(func() {
		id := held.value.(contract.SendReply).Waits
		env.UpdateWorkflow(string(contract.UpdateUnsend), "u6", &verdict{}, contract.UnsendRequest{MessageID: id.String()})
	}, 2*time.Hour)
	var waits any
	env.RegisterDelayedCallback(func() { waits = second.value }, 3*time.Hour)
	closes(env, 4*time.Hour)
	execute(env, input(t, "ann"))
	endsWith(t, env, 1)
	none.refused(t, "there is no execution 2; the newest is 1")
	zero.refused(t, "counted from 1")
	third.refused(t, "there is no execution 3")
	require.NoError(t, second.err)
	require.Equal(t, contract.AwaitReply{}, waits)
}

// TestAwaitKeepsNoSessionOpen: to ask is not to speak to it.
func TestAwaitKeepsNoSessionOpen(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(says("one"))}
	env := w.environment(t)
	began := env.Now()
	v := awaits(env, 40*time.Minute, contract.AwaitID(1), 1)
	execute(env, input(t, "ann", idlesAnHour))
	require.True(t, outcome(t, env).Closed)
	require.Equal(t, "one", awaited(t, v).End.Answer)
	require.InDelta(t, 60, env.Now().Sub(began).Minutes(), 1)
}

// TestAwaitOfAMessageThatJoins another execution ends when that has ended, as none is left to begin the next.
func TestAwaitOfAMessageThatJoins(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(busy(), says("one"), says("two"))}
	env := w.environment(t)
	sends(env, time.Minute, "s", steer("also"))
	waits := awaits(env, 2*time.Minute, contract.AwaitID(2), 2)
	var told any
	env.RegisterDelayedCallback(func() { told = waits.value }, 49*time.Hour)
	closes(env, 50*time.Hour)
	execute(env, input(t, "ann"))
	require.NoError(t, waits.rejected)
	require.Equal(t, contract.AwaitReply{}, told)
}
