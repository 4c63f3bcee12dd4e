package workflows_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

// outgrows lets the run be long enough after a number of inferences.
func outgrows(env *testsuite.TestWorkflowEnvironment, inferences int) {
	env.SetOnActivityCompletedListener(func(info *activity.Info, _ converter.EncodedValue, _ error) {
		if info.ActivityType.Name != string(contract.CallModel) {
			return
		}
		if inferences--; inferences <= 0 {
			env.SetContinueAsNewSuggested(true)
		}
	})
}

// stopForSubagent is the input with which a run continues as new; ok is false where it
// came to its end instead.
func handedOn(t *testing.T, env *testsuite.TestWorkflowEnvironment) (contract.SessionInput, bool) {
	t.Helper()
	require.True(t, env.IsWorkflowCompleted())
	continued, ok := errors.AsType[*workflow.ContinueAsNewError](env.GetWorkflowError())
	if !ok {
		return contract.SessionInput{}, false
	}
	var in contract.SessionInput
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(continued.Input, &in))
	return in, true
}

// nextRun is the input of the next run, where there has to be one.
func nextRun(t *testing.T, env *testsuite.TestWorkflowEnvironment) contract.SessionInput {
	t.Helper()
	in, ok := handedOn(t, env)
	require.True(t, ok, "the run came to its end: %v", env.GetWorkflowError())
	return in
}

// stores is an agent.Record that keeps everything.
func stores(r contract.RecordRequest) (contract.Segment, error) {
	return contract.Segment{RunID: "run", From: r.From, To: r.Log.Length, Digest: r.Log.Digest}, nil
}

// steady is a world whose model makes a number of steps. Every
// fourth call fails.
func steady(steps int, storage bool) *world {
	w := &world{tools: reads(), storage: storage, record: stores}
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		if r.Step > steps {
			return says("all done"), nil
		}
		return says(fmt.Sprint("step ", r.Step), look()), nil
	}
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		if r.Step%4 == 0 {
			return contract.ToolReply{Error: domain.Invalidf("%s", strings.Repeat("long ", 200))}, nil
		}
		return saw(r)
	}
	return w
}

// TestWhatCutsOffTheRecording: the run goes on with what came, and loses no time.
func TestWhatCutsOffTheRecording(t *testing.T) {
	t.Parallel()
	busy := temporal.NewApplicationErrorWithOptions("busy", string(domain.Unavailable), temporal.ApplicationErrorOptions{})
	for _, mode := range enum.Known[contract.StopMode]() {
		t.Run(fmt.Sprint("a stop ", mode), func(t *testing.T) {
			t.Parallel()
			w := steady(30, true)
			env := w.environment(t)
			var stop sync.Once
			w.record = func(contract.RecordRequest) (contract.Segment, error) {
				stop.Do(func() { signalStop(env, contract.StopRequest{Mode: mode}) })
				return contract.Segment{}, busy
			}
			outgrows(env, 3)
			begun := env.Now()
			execute(env, input(t, ""))
			endsFor(t, env, domain.UserRequested)
			require.Len(t, w.asked, 3)
			require.Less(t, env.Now().Sub(begun), 10*time.Second)
		})
	}
	for name, change := range map[string]func(env *testsuite.TestWorkflowEnvironment){
		"a message": func(env *testsuite.TestWorkflowEnvironment) {
			env.UpdateWorkflow(string(contract.UpdateSend), "u1", callback[contract.SendReply](t, nil), contract.SendRequest{Prompt: "more"})
		},
		"a close": func(env *testsuite.TestWorkflowEnvironment) {
			env.UpdateWorkflow(string(contract.UpdateClose), "u1", callback[contract.CloseReply](t, nil), contract.CloseRequest{})
		},
		"a cancellation": func(env *testsuite.TestWorkflowEnvironment) { env.CancelWorkflow() },
	} {
		t.Run("idle, "+name, func(t *testing.T) {
			t.Parallel()
			w := &world{storage: true, model: plays(says("one"), says("two"))}
			env := w.environment(t)
			var once sync.Once
			w.record = func(contract.RecordRequest) (contract.Segment, error) {
				once.Do(func() { change(env) })
				return contract.Segment{}, busy
			}
			env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
			outgrows(env, 1)
			execute(env, input(t, "ann"))
			if name == "a message" {
				in := nextRun(t, env)
				state, err := domain.DecodeAgentState(in.Carry.State)
				require.NoError(t, err)
				require.Equal(t, 2, state.ExecutionCount)
				require.Equal(t, "more", in.Carry.Conversation.Entries[2].Message.Text())
				return
			}
			completes(t, env)
			require.Len(t, w.asked, 1)
		})
	}
}

// TestAStorageThatFails ends nothing: what fits into the next run's input goes there, and what does not stays
// in its run, which tries again after some steps and says why. Only the server's own bounds end that.
func TestAStorageThatFails(t *testing.T) {
	t.Parallel()
	t.Run("what fits is carried", func(t *testing.T) {
		t.Parallel()
		_, env := inOutage(t, "seen", forLong, nothingHappens)
		execute(env, input(t, ""))
		in := nextRun(t, env)
		require.Len(t, in.Carry.Conversation.Entries, 41)
	})
	t.Run("what does not stays", func(t *testing.T) {
		t.Parallel()
		w, env := inOutage(t, longResult, forLong, nothingHappens)
		var tried []int
		w.record = func(r contract.RecordRequest) (contract.Segment, error) {
			if step := r.Log.Length / 2; len(tried) == 0 || tried[len(tried)-1] != step {
				tried = append(tried, step)
			}
			return contract.Segment{}, bucketGone()
		}
		execute(env, input(t, ""))
		completes(t, env)
		require.Equal(t, []int{20, 21, 23, 27, 35, 51}, tried, "less and less often")
		require.Contains(t, status(t, env).History.Unstored, "the bucket is gone")
	})
	t.Run("until it is back", func(t *testing.T) {
		t.Parallel()
		w, env := inOutage(t, longResult, forLong, nothingHappens)
		w.record = func(r contract.RecordRequest) (contract.Segment, error) {
			if r.Log.Length < 50 {
				return contract.Segment{}, bucketGone()
			}
			return stores(r)
		}
		execute(env, input(t, ""))
		in := nextRun(t, env)
		require.Equal(t, 55, in.Carry.Segments[0].To)
		require.Empty(t, status(t, env).History.Unstored)
	})
	for name, near := range map[string]func(*testsuite.TestWorkflowEnvironment){
		"the server's bound of events": func(env *testsuite.TestWorkflowEnvironment) { env.SetCurrentHistoryLength(50_000) },
		"the server's bound of bytes":  func(env *testsuite.TestWorkflowEnvironment) { env.SetCurrentHistorySize(48 << 20) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, env := inOutage(t, longResult, forLong, near)
			execute(env, input(t, ""))
			out := outcome(t, env)
			require.Equal(t, domain.StatusFailed, out.Status)
			require.Equal(t, domain.CodeContextLost, out.Code)
			require.Equal(t, 30, out.Steps)
			why := status(t, env).Failure().Message
			require.Contains(t, why, "the bucket is gone")
			require.Contains(t, why, "the server ends a run at 51200 events or 50 MiB")
		})
	}
}

// TestTheAccountOfAnEndedExecutionOverRuns: the run that remembers it holds none of it, and the run in which it ended tells.
func TestTheAccountOfAnEndedExecutionOverRuns(t *testing.T) {
	t.Parallel()
	w := &world{storage: true, record: stores, model: plays(says("one"), says("two"))}
	env := w.environment(t)
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(string(contract.UpdateSend), "u1", callback(t, new(contract.SendReply)), contract.SendRequest{Prompt: "more"})
	}, time.Minute)
	outgrows(env, 2)
	execute(env, input(t, "ann"))
	in := nextRun(t, env)
	request := account.Request{Want: []account.Part{account.Executions, account.Steps, account.Events, account.State}, Execution: 2}
	told := query(t, env, account.Query, request)
	require.NotEmpty(t, told.Events)
	told.Executions[0].RunID = "the run in which it ended"

	env = w.environment(t)
	env.RegisterDelayedCallback(func() {
		remembered := query(t, env, account.Query, request)
		require.False(t, remembered.Held.Reaches(request))
		require.Equal(t, told.Account, remembered.After(told.Account, remembered.Held))
		env.CancelWorkflow()
	}, time.Minute)
	execute(env, in)
	require.NoError(t, env.GetWorkflowError())
}

// TestWhatIsHandedOnIsBounded, whatever the last step holds.
func TestWhatIsHandedOnIsBounded(t *testing.T) {
	t.Parallel()
	w := &world{tools: reads(), storage: true, record: stores}
	w.model = calling(calls("look", 40)...)
	w.tool = gives(contract.ToolReply{Content: strings.Repeat("<", 64<<10)})
	env := w.environment(t)
	outgrows(env, 1)
	execute(env, input(t, "", func(in *contract.SessionInput) {
		in.Definition.SystemPrompt = strings.Repeat("s", domain.MaxSystemPrompt)
	}))
	in := nextRun(t, env)
	encoded, err := converter.GetDefaultDataConverter().ToPayload(in)
	require.NoError(t, err)
	require.LessOrEqual(t, len(encoded.Data), domain.MaxPayload)
	for _, page := range []any{
		query(t, env, account.Query, account.Request{Want: []account.Part{account.Steps}}),
		query(t, env, account.Query, account.Request{Want: []account.Part{account.HeadOf, account.State, account.Definition, account.Carry}}),
		query(t, env, contract.QueryMessages, contract.MessagesRequest{Resolved: &domain.Digest{}}),
	} {
		encoded, err := converter.GetDefaultDataConverter().ToPayload(page)
		require.NoError(t, err)
		require.Less(t, len(encoded.Data), 2<<20)
	}
}
