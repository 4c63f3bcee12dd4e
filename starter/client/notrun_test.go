package client

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
)

// refusesCalls is a worker that knows why two of three calls of step 1 were not run.
func refusesCalls(asked *int) func(context.Context, string, string, any) (any, error) {
	return func(_ context.Context, _, query string, in any) (any, error) {
		if query != string(contract.QuerySteps) || in.(contract.StepsRequest).From != 1 {
			return nil, errDown
		}
		*asked++
		blocked := domain.CodedErrorf(domain.Denied, domain.CodeBlocked, "blocked: no secrets").From("privacy")
		return contract.StepsPage{ExecutionID: nth(1), Number: 1, First: 1, Steps: domain.WireSteps(
			stepOf(1, domain.AgentStep{ToolExecutions: []domain.ToolExecution{
				failedCall(readCall(1, 0, "a", ""), blocked), readCall(1, 1, "b", "text"),
				failedCall(readCall(1, 2, "c", ""), domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: no call is left")),
			}}),
		)}, nil
	}
}

// TestFollowShowsCallsThatWereNotRun has why where a worker tells, asks once a
// step, and never twice of workers that are not there.
func TestFollowShowsCallsThatWereNotRun(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.answers(1, 1, "looking", domain.ToolCall{Name: "read_file"}, domain.ToolCall{Name: "read_file"}, domain.ToolCall{Name: "read_file"}, domain.ToolCall{Name: "taken_out"})
	run.completes(run.calls(1, 1, 1, "read_file"), contract.ToolReply{Content: "text"})
	run.answers(1, 2, "42")
	run.ends(outcomeOf(1, 2))
	f, asked := newFake(run), 0
	f.query = refusesCalls(&asked)
	events := followed(t, f, FollowOptions{})
	require.Equal(t, []EventType{
		domain.EventExecutionStarted, domain.EventStepStarted, domain.EventInferenceReceived, domain.EventToolCallStarted, domain.EventToolCallCompleted, domain.EventToolCallBlocked, domain.EventToolCallBlocked, domain.EventStepStarted, domain.EventInferenceReceived, EventEnded,
	}, typesOf(events))
	require.Equal(t, 1, asked)
	require.Equal(t, domain.CodeBlocked, events[5].Error.Code)
	require.Equal(t, "privacy", events[5].Error.Source)
	require.Equal(t, "a", events[5].Arguments)
	require.Equal(t, 2, events[6].Position)
	require.Equal(t, domain.CodeNotRun, events[6].Error.Code)

	f.query = func(context.Context, string, string, any) (any, error) { asked++; return nil, errNoWorker }
	events = followed(t, f, FollowOptions{})
	require.Equal(t, []EventType{domain.EventToolCallBlocked, domain.EventToolCallBlocked, domain.EventToolCallBlocked}, typesOf(events)[5:8], "history alone cannot tell that a hook took one out")
	require.Nil(t, events[5].Error)
	require.Equal(t, 2, asked)
}

// TestFollowShowsCallsOfTheLastStep has those that a limit kept from being run.
func TestFollowShowsCallsOfTheLastStep(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.answers(1, 1, "looking", domain.ToolCall{Name: "read_file", Arguments: "{}"})
	run.ends(stopped(1))
	f := newFake(run)
	f.query = func(context.Context, string, string, any) (any, error) { return nil, errDown }
	events := followed(t, f, FollowOptions{})
	require.Equal(t, []EventType{domain.EventExecutionStarted, domain.EventStepStarted, domain.EventInferenceReceived, domain.EventToolCallBlocked, EventEnded}, typesOf(events))
	require.Equal(t, "{}", events[3].Arguments)
}

func TestFollowShowsHooksAndSummaries(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	hook := func(step int, trigger domain.Trigger) int64 {
		return run.schedule(string(contract.CallHook), contract.HookRequest{
			Hook: contract.HookSpec{Name: "audit", Trigger: trigger}, ExecutionID: nth(1), Number: 1, Step: step,
		})
	}
	run.completes(hook(0, domain.TriggerBeforeExecution), contract.HookReply{})
	summary := contract.ModelRequest{ExecutionID: nth(1), Step: 1, Summary: &domain.SummaryRequest{To: 3}}
	run.completes(run.schedule(string(contract.CallModel), summary), contract.ModelReply{Outcome: contract.BilledFailure, Error: domain.Errorf(domain.Throttled, "too many")})
	summary.Attempts = 1
	run.completes(run.schedule(string(contract.CallModel), summary), reply("what was asked"))
	run.answers(1, 1, "42")
	failing := hook(1, domain.TriggerAfterStep)
	run.fallsThrough(failing, "the disk is full")
	run.ends(outcomeOf(1, 1))
	events := followed(t, newFake(run), FollowOptions{})
	require.Equal(t, []EventType{
		domain.EventExecutionStarted, domain.EventHookCalled, domain.EventStepStarted, EventSummary, domain.EventInferenceReceived, EventRetry, domain.EventInferenceReceived, domain.EventHookCalled, domain.EventHookFailed, EventEnded,
	}, typesOf(events))
	require.Equal(t, "audit", events[1].Hook)
	require.Equal(t, domain.TriggerBeforeExecution, events[1].Trigger)
	require.Equal(t, "42", events[6].Text, "a summary is no answer")
	require.Equal(t, 1, events[8].Step)
	require.Equal(t, "the disk is full", events[8].Error.Message)
}

// TestFollowShowsAHookThatFailed once nobody asks it again after its worker was lost.
func TestFollowShowsAHookThatFailed(t *testing.T) {
	t.Parallel()
	for again, want := range map[bool][]EventType{
		true: {domain.EventExecutionStarted, domain.EventHookCalled, EventEnded}, false: {domain.EventExecutionStarted, domain.EventHookCalled, domain.EventHookFailed, EventEnded},
	} {
		run := newRun("run-1", nil)
		hook := contract.HookRequest{Hook: contract.HookSpec{Name: "audit", Trigger: domain.TriggerBeforeExecution}, ExecutionID: nth(1), Number: 1}
		run.timesOut(run.schedule(string(contract.CallHook), hook), contract.Heartbeat{})
		if hook.Lost = 1; again {
			run.completes(run.schedule(string(contract.CallHook), hook), contract.HookReply{})
		}
		run.ends(outcomeOf(1, 1))
		require.Equal(t, want, typesOf(followed(t, newFake(run), FollowOptions{})))
	}
}

// TestResultHasTheSignal that ended the execution, where a worker tells it.
func TestResultHasTheSignal(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.ends(stopped(1))
	f := newFake(run)
	said := &domain.StopSignal{Reason: domain.StepsLimitReached, Message: "max_steps is 2 and 2 are done"}
	f.query = answeringEnd(stopped(1), contract.End{Signal: said})
	r, err := f.client().Wait(t.Context(), "nora", 0)
	require.NoError(t, err)
	require.Equal(t, said, r.Signal)
}

// TestRefusalsAreInOurWords has nothing that the SDK writes for programs.
func TestRefusalsAreInOurWords(t *testing.T) {
	t.Parallel()
	f := newFake(newRun("run-1", nil))
	for name, c := range map[string]struct {
		err   error
		class Class
		text  string
	}{
		"ours":       {temporal.NewNonRetryableApplicationError("max_cost: nobody knows the price", string(domain.Invalid), nil), Invalid, "max_cost: nobody knows the price"},
		"of unknown": {temporal.NewApplicationError("unknown update extend", "other"), Failed, "extending nora: unknown update extend"},
	} {
		t.Run(name, func(t *testing.T) {
			f.update = func(string, any) (any, error) { return nil, c.err }
			_, err := f.client().Extend(t.Context(), "nora", ExtendOptions{Budget: steps(9)})
			requireClass(t, err, c.class)
			require.EqualError(t, err, c.text)
		})
	}
}

// TestFollowShowsNoHookAsFailedThatAWorkerLacked while it is asked of another.
func TestFollowShowsNoHookAsFailedThatAWorkerLacked(t *testing.T) {
	t.Parallel()
	lacks := domain.Errorf(domain.Unavailable, "worker 7@there: no such hook")
	lacks.Lacking = true
	for again, want := range map[bool][]EventType{
		true: {domain.EventExecutionStarted, domain.EventHookCalled, EventEnded}, false: {domain.EventExecutionStarted, domain.EventHookCalled, domain.EventHookFailed, EventEnded},
	} {
		run := newRun("run-1", nil)
		hook := contract.HookRequest{Hook: contract.HookSpec{Name: "audit", Trigger: domain.TriggerBeforeExecution}, ExecutionID: nth(1), Number: 1}
		run.loses(run.schedule(string(contract.CallHook), hook), lacks)
		run.loses(run.schedule(string(contract.CallHook), hook), lacks)
		if again {
			run.completes(run.schedule(string(contract.CallHook), hook), contract.HookReply{})
		}
		run.ends(outcomeOf(1, 0))
		require.Equal(t, want, typesOf(followed(t, newFake(run), FollowOptions{})))
	}
}
