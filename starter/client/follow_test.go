package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	commonpb "go.temporal.io/api/common/v1"

	"everstep/domain"
	"everstep/domain/contract"
)

// followed collects what Follow yields until it ends.
func followed(t *testing.T, f *fakeServer, o FollowOptions) []Event {
	t.Helper()
	var events []Event
	for e, err := range f.client().Follow(t.Context(), "nora", o) {
		require.NoError(t, err)
		events = append(events, e)
	}
	return events
}

func typesOf(events []Event) []EventType {
	types := make([]EventType, len(events))
	for i, e := range events {
		types[i] = e.Type
	}
	return types
}

func TestFollowTellsTheStory(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.answers(1, 1, "looking", domain.ToolCall{Name: "read_file"}, domain.ToolCall{Name: "gone"})
	read, lost := run.calls(1, 1, 0, "read_file"), run.calls(1, 1, 1, "gone")
	run.completes(lost, contract.ToolReply{Error: domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool, "no such tool")})
	run.startsAttempt(read, 3, "disk busy")
	run.completes(read, contract.ToolReply{Content: "text"})
	run.answers(1, 2, "42")
	run.ends(outcomeOf(1, 2))

	events := followed(t, newFake(run), FollowOptions{})
	require.Equal(t, []EventType{
		domain.EventExecutionStarted, domain.EventStepStarted, domain.EventInferenceReceived, domain.EventToolCallStarted, domain.EventToolCallStarted, domain.EventToolCallCompleted, EventRetry, domain.EventToolCallCompleted,
		domain.EventStepStarted, domain.EventInferenceReceived, EventEnded,
	}, typesOf(events))
	require.Equal(t, nth(1), events[0].ExecutionID)
	require.Equal(t, "looking", events[2].Text)
	require.Len(t, events[2].Calls, 2)
	require.Equal(t, "read_file", events[3].Tool)
	require.Equal(t, `{"path":"."}`, events[3].Arguments)
	require.Equal(t, 1, events[5].Position)
	require.Equal(t, domain.CodeUnknownTool, events[5].Error.Code)
	require.Equal(t, 3, events[6].Attempt)
	require.Equal(t, "disk busy", events[6].Reason)
	require.Nil(t, events[7].Error)
	require.Equal(t, 2, events[8].Step)
	require.Equal(t, 2, events[10].Ended.Steps)
	for _, e := range events {
		require.Equal(t, 1, e.Number)
		require.False(t, e.Time.IsZero())
	}
}

// TestFollowTellsOfCallsMadeAgain by the workflow, and of one that a stop left unmade.
func TestFollowTellsOfCallsMadeAgain(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.answers(1, 1, "looking", domain.ToolCall{Name: "read_file"}, domain.ToolCall{Name: "search"})
	try := func(position, attempts int, name string) int64 {
		return run.schedule(string(contract.CallTool), contract.ToolRequest{
			ExecutionID: nth(1), Step: 1, Position: position, Name: name, Effect: domain.ReadOnly, Attempts: attempts, Tries: 12,
		})
	}
	run.fallsThrough(try(0, 0, "read_file"), "disk busy")
	run.completes(try(0, 1, "read_file"), contract.ToolReply{Content: "text"})
	run.fallsThrough(try(1, 0, "search"), "index busy")
	run.stops(contract.StopRequest{Mode: contract.StopNow})
	outcome := outcomeOf(1, 1)
	outcome.Status, outcome.StopReason = domain.StatusStopped, domain.UserRequested
	run.ends(outcome)

	events := followed(t, newFake(run), FollowOptions{})
	require.Equal(t, []EventType{
		domain.EventExecutionStarted, domain.EventStepStarted, domain.EventInferenceReceived, domain.EventToolCallStarted, EventRetry, domain.EventToolCallCompleted, domain.EventToolCallStarted, domain.EventStopSignalReceived, domain.EventToolCallCompleted, EventEnded,
	}, typesOf(events))
	require.Equal(t, []any{"read_file", 2, "disk busy"}, []any{events[4].Tool, events[4].Attempt, events[4].Reason})
	require.Nil(t, events[5].Error)
	require.Equal(t, []any{"search", domain.CodeInterrupted}, []any{events[8].Tool, events[8].Error.Code})
}

func TestFollowShowsOneExecution(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.answers(1, 1, "one")
	run.ends(outcomeOf(1, 1))
	run.infers(2, 1) // recorded before the answer to the message
	run.sent(2)
	run.ends(outcomeOf(2, 1))
	f := newFake(run)
	first, second := followed(t, f, FollowOptions{Number: 1}), followed(t, f, FollowOptions{})
	require.Equal(t, []EventType{domain.EventExecutionStarted, domain.EventStepStarted, domain.EventInferenceReceived, EventEnded}, typesOf(first))
	require.Equal(t, []EventType{domain.EventExecutionStarted, domain.EventStepStarted, EventEnded}, typesOf(second))
	require.Equal(t, nth(2), second[0].ExecutionID)
}

func TestFollowBeginsInTheRunInWhichTheExecutionBegan(t *testing.T) {
	t.Parallel()
	first := newRun("run-1", nil)
	first.answers(1, 1, "a")
	first.handsOn("run-2")
	second := newRun("run-2", inMidst(1, 1)).continues("run-1")
	second.answers(1, 2, "b")
	second.ends(outcomeOf(1, 2))
	f := newFake(first, second)
	events := followed(t, f, FollowOptions{})
	require.Equal(t, []EventType{
		domain.EventExecutionStarted, domain.EventStepStarted, domain.EventInferenceReceived, EventContinued, domain.EventStepStarted, domain.EventInferenceReceived, EventEnded,
	}, typesOf(events))
	require.Equal(t, "run-2", events[3].RunID)

	f.withDeleted("run-1")
	require.Equal(t, []EventType{domain.EventStepStarted, domain.EventInferenceReceived, EventEnded}, typesOf(followed(t, f, FollowOptions{})))
}

// beating is a pending inference that reports.
func beating(activityID string, attempt int32, beat contract.Heartbeat) *workflowpb.PendingActivityInfo {
	return &workflowpb.PendingActivityInfo{
		ActivityId: activityID, ActivityType: &commonpb.ActivityType{Name: string(contract.CallModel)},
		State: enumspb.PENDING_ACTIVITY_STATE_STARTED, Attempt: attempt, ScheduledTime: at(1),
		LastStartedTime: at(2), LastHeartbeatTime: at(3), HeartbeatDetails: payloads(beat),
	}
}

func TestFollowShowsLiveText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run := newRun("run-1", nil)
		scheduled := run.infers(1, 1)
		f := newFake(run)
		var events []Event
		done := make(chan struct{})
		go func() {
			defer close(done)
			events = followed(t, f, FollowOptions{})
		}()
		beat := func(attempt int32, tail string, length int) {
			f.change(func() {
				run.pending = []*workflowpb.PendingActivityInfo{beating("2", attempt, contract.Heartbeat{
					ExecutionID: nth(1), Step: 1, Phase: contract.PhaseStreaming, Attempt: int(attempt), Tail: tail, Length: length,
				})}
			})
			time.Sleep(textEvery) // in the bubble's time
			synctest.Wait()
		}
		synctest.Wait()
		beat(1, "The an", 6)
		beat(1, "The answer", 10)
		beat(2, "It", 2)
		beat(2, "is 42", 8) // "It " and on: one byte was missed
		f.change(func() { run.pending = nil; run.completes(scheduled, reply("It is 42.")); run.ends(outcomeOf(1, 1)) })
		<-done
		require.Equal(t, []EventType{
			domain.EventExecutionStarted, domain.EventStepStarted, EventText, EventText, EventWithdrawn, EventRetry, EventText, EventText,
			domain.EventInferenceReceived, EventEnded,
		}, typesOf(events))
		require.Equal(t, "swer", events[3].Text)
		require.Equal(t, "is 42", events[7].Text)
		require.Equal(t, 1, events[7].Skipped)
		require.Equal(t, "It is 42.", events[8].Text)
		require.Equal(t, len("It is 42"), events[8].Shown)
	})
}

// TestFollowShowsTextEachSecond of a server that is far, where heartbeats are 600 ms apart.
func TestFollowShowsTextEachSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run := newRun("run-1", nil)
		scheduled := run.infers(1, 1)
		f := newFake(run)
		var came []time.Time
		done := make(chan struct{})
		go func() {
			defer close(done)
			for e, err := range New(f, Config{}).Follow(t.Context(), "nora", FollowOptions{}) {
				require.NoError(t, err)
				if e.Type == EventText {
					came = append(came, time.Now())
				}
			}
		}()
		synctest.Wait()
		const text = "It is forty-two."
		for n := range len(text) {
			f.change(func() {
				run.pending = []*workflowpb.PendingActivityInfo{beating("2", 1, contract.Heartbeat{
					ExecutionID: nth(1), Step: 1, Phase: contract.PhaseStreaming, Attempt: 1, Tail: text[:n+1], Length: n + 1,
				})}
			})
			time.Sleep(600 * time.Millisecond) // in the bubble's time
		}
		f.change(func() { run.pending = nil; run.completes(scheduled, reply(text)); run.ends(outcomeOf(1, 1)) })
		<-done
		require.Len(t, came, len(text))
		for i, then := range came[1:] {
			require.LessOrEqual(t, then.Sub(came[i]), time.Second)
		}
	})
}

func TestFollowSaysThatNoWorkerIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run := newRun("run-1", nil)
		run.task = &workflowpb.PendingWorkflowTaskInfo{State: enumspb.PENDING_WORKFLOW_TASK_STATE_SCHEDULED}
		f := newFake(run)
		start := time.Now()
		for e, err := range f.client().Follow(t.Context(), "nora", FollowOptions{}) {
			require.NoError(t, err)
			if e.Type == EventNoWorker {
				break
			}
			require.Equal(t, domain.EventExecutionStarted, e.Type)
		}
		require.GreaterOrEqual(t, time.Since(start), stalledAfter)
		require.LessOrEqual(t, time.Since(start), stalledAfter+workEvery)
	})
}

func TestFollowReconnects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run := newRun("run-1", nil)
		run.answers(1, 1, "a")
		f := newFake(run)
		var events []Event
		done := make(chan struct{})
		go func() {
			defer close(done)
			events = followed(t, f, FollowOptions{})
		}()
		synctest.Wait()
		f.change(func() { f.down = true })
		time.Sleep(time.Minute)
		f.change(func() { f.down = false; run.ends(outcomeOf(1, 1)) })
		<-done
		require.Equal(t, []EventType{
			domain.EventExecutionStarted, domain.EventStepStarted, domain.EventInferenceReceived, EventReconnecting, EventReconnected, EventEnded,
		}, typesOf(events), "each once")
	})
}

func TestFollowOfWhatTheServerEnds(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.infers(1, 1)
	run.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
	events := followed(t, newFake(run), FollowOptions{})
	require.Equal(t, []EventType{domain.EventExecutionStarted, domain.EventStepStarted, EventEnded}, typesOf(events))
	require.Equal(t, domain.CodeTerminated, events[2].Ended.Code)
}

func TestFollowOfAnEndThatWasDeleted(t *testing.T) {
	t.Parallel()
	first := newRun("run-1", nil)
	before := outcomeOf(1, 1)
	second := newRun("run-2", &contract.Carry{Outcome: &before}).continues("run-1")
	second.sent(2)
	f := newFake(first, second).withDeleted("run-1")
	var last error
	for _, err := range f.client().Follow(t.Context(), "nora", FollowOptions{Number: 1}) {
		last = err
	}
	requireClass(t, last, Gone)
}

func TestFollowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var last error
		for _, err := range newFake(newRun("run-1", nil)).client().Follow(ctx, "nora", FollowOptions{}) {
			last = err
		}
		requireClass(t, last, Cancelled)
	})
}
