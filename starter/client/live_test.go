package client

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"everstep/domain"
	"everstep/domain/contract"
)

// A liveRun is a run of nora's that is followed while it goes on.
type liveRun struct {
	*fakeRun
	fake   *fakeServer
	events chan []Event
}

// watched begins to follow a run. It must be called in a bubble.
func watched(t *testing.T, run *fakeRun) *liveRun {
	t.Helper()
	l := &liveRun{fakeRun: run, fake: newFake(run), events: make(chan []Event, 1)}
	go func() { l.events <- followed(t, l.fake, FollowOptions{}) }()
	synctest.Wait()
	return l
}

// then makes a change and lets the follower see it.
func (l *liveRun) then(how func()) {
	l.fake.change(how)
	synctest.Wait()
	time.Sleep(workEvery) // in the bubble's time
	synctest.Wait()
}

// beats reports for the newest inference, whose activity has the given id and attempt.
func (l *liveRun) beats(activityID string, attempt int32, beat contract.Heartbeat) {
	l.then(func() {
		beat.ExecutionID, beat.Step, beat.Phase = nth(1), 1, contract.PhaseStreaming
		l.pending = []*workflowpb.PendingActivityInfo{beating(activityID, attempt, beat)}
	})
}

// ended ends the run and returns the events.
func (l *liveRun) ended() []Event {
	l.fake.change(func() { l.pending = nil; l.ends(outcomeOf(1, 1)) })
	return <-l.events
}

// An attempted is what an event tells of an attempt.
type attempted struct {
	Type    EventType
	Attempt int
	Text    string
}

// attemptsIn are the events of attempts, in short.
func attemptsIn(events []Event) []attempted {
	var out []attempted
	for _, e := range events {
		switch e.Type {
		case EventReasoning, EventText, EventWithdrawn, EventRetry, domain.EventInferenceReceived, domain.EventInferenceReceived:
			out = append(out, attempted{e.Type, e.Attempt, e.Text})
		default:
		}
	}
	return out
}

// TestLiveTextByAttempt: the first attempt fails and may be billed, so that the
// second is another activity; its worker is lost, and the third is Temporal's.
func TestLiveTextByAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run := newRun("run-1", nil)
		first := run.infers(1, 1)
		l := watched(t, run)
		l.beats("2", 1, contract.Heartbeat{Attempt: 1, Reasoning: "hm", ReasoningLength: 2})
		l.beats("2", 1, contract.Heartbeat{Attempt: 1, Reasoning: "hm, 6×7", ReasoningLength: 8, Tail: "It", Length: 2})
		var second int64
		l.then(func() {
			l.pending = nil
			l.completes(first, contract.ModelReply{Outcome: contract.BilledFailure, Tries: 1, Error: domain.Errorf(domain.Unavailable, "cut")})
			second = l.schedule(string(contract.CallModel), contract.ModelRequest{ExecutionID: nth(1), Step: 1, Attempts: 1})
		})
		l.beats("4", 1, contract.Heartbeat{Attempt: 2, Tail: "Fort", Length: 4})
		l.beats("4", 2, contract.Heartbeat{Attempt: 3, Reasoning: "anew", ReasoningLength: 4})
		l.beats("4", 2, contract.Heartbeat{Attempt: 3, Reasoning: "anew", ReasoningLength: 4, Tail: "42", Length: 2})
		l.then(func() {
			answer := reply("42.")
			answer.Tries = 2
			l.completes(second, answer)
		})
		events := l.ended()
		require.Equal(t, []attempted{
			{EventReasoning, 1, "hm"},
			{EventReasoning, 1, ", 6×7"}, {EventText, 1, "It"},
			{EventWithdrawn, 1, ""}, {domain.EventInferenceReceived, 1, ""}, {EventRetry, 2, ""},
			{EventText, 2, "Fort"},
			{EventWithdrawn, 2, ""}, {EventRetry, 3, ""},
			{EventReasoning, 3, "anew"}, {EventText, 3, "42"},
			{domain.EventInferenceReceived, 3, "42."},
		}, attemptsIn(events))
		for _, e := range events {
			if e.Type == EventWithdrawn && e.Attempt == 1 {
				require.Equal(t, "cut", e.Reason)
			}
			if e.Type == domain.EventInferenceReceived {
				require.Equal(t, 2, e.Shown)
			}
		}
	})
}

// TestLiveTextComesLate: a late reader gets the end of what there is, is told
// what is missing, and goes on from there.
func TestLiveTextComesLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run := newRun("run-1", nil)
		run.infers(1, 1)
		l := watched(t, run)
		l.beats("2", 1, contract.Heartbeat{Attempt: 1, Tail: "the end", Length: 1007, Reasoning: "thought", ReasoningLength: 507})
		l.beats("2", 1, contract.Heartbeat{Attempt: 1, Tail: "the end of it", Length: 1013, Reasoning: "thought", ReasoningLength: 507})
		whole := strings.Repeat("x", 1000) + "the end of it."
		l.then(func() { l.completes(2, reply(whole)) })
		events := l.ended()
		require.Equal(t, []attempted{
			{EventReasoning, 1, "thought"}, {EventText, 1, "the end"}, {EventText, 1, " of it"}, {domain.EventInferenceReceived, 1, whole},
		}, attemptsIn(events))
		require.Equal(t, []int{500, 1000, 0}, []int{events[2].Skipped, events[3].Skipped, events[4].Skipped})
		require.Equal(t, 1013, events[5].Shown)
	})
}

// TestLiveTextOfALostWorker: after a stop of all the text stays that the last
// heartbeat told; without one nothing does.
func TestLiveTextOfALostWorker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stop *contract.StopRequest
		want []attempted
		skip int
	}{
		"stopped":           {&contract.StopRequest{Mode: contract.StopNow}, []attempted{{EventText, 1, "two "}, {EventText, 1, "three"}, {domain.EventInferenceReceived, 1, "two three"}}, 4},
		"stopped by now":    {&contract.StopRequest{Within: contract.Span(time.Nanosecond)}, []attempted{{EventText, 1, "two "}, {EventText, 1, "three"}, {domain.EventInferenceReceived, 1, "two three"}}, 4},
		"to stop later":     {&contract.StopRequest{Within: contract.Span(time.Hour)}, []attempted{{EventText, 1, "two "}, {EventWithdrawn, 1, ""}, {domain.EventInferenceReceived, 1, ""}}, 0},
		"to stop at a step": {&contract.StopRequest{}, []attempted{{EventText, 1, "two "}, {EventWithdrawn, 1, ""}, {domain.EventInferenceReceived, 1, ""}}, 0},
		"not stopped":       {nil, []attempted{{EventText, 1, "two "}, {EventWithdrawn, 1, ""}, {domain.EventInferenceReceived, 1, ""}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				run := newRun("run-1", nil)
				scheduled := run.infers(1, 1)
				l := watched(t, run)
				l.beats("2", 1, contract.Heartbeat{Attempt: 1, Tail: "two ", Length: 8})
				l.then(func() {
					l.pending = nil
					if c.stop != nil {
						l.stops(*c.stop)
					}
					l.timesOut(scheduled, contract.Heartbeat{Step: 1, Phase: contract.PhaseStreaming, Attempt: 1, Tail: "two three", Length: 13})
				})
				events := l.ended()
				require.Equal(t, c.want, attemptsIn(events))
				cut := events[len(events)-2]
				require.Equal(t, c.skip, cut.Skipped)
				require.Equal(t, len(cut.Text), cut.Shown)
				require.Equal(t, cut.Text != "", cut.Outcome == contract.Interrupted)
			})
		})
	}
}

// TestLiveTextOfALossThatWaits stays until the inference is made again, and where a stop or a
// limit comes first.
func TestLiveTextOfALossThatWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		again, stop bool
		want        []attempted
	}{
		"made again": {true, false, []attempted{{EventText, 1, "two "}, {EventText, 1, "three"}, {EventWithdrawn, 1, ""}, {domain.EventInferenceReceived, 1, ""}, {EventRetry, 1, ""}, {domain.EventInferenceReceived, 1, "four"}}},
		"a stop":     {false, true, []attempted{{EventText, 1, "two "}, {EventText, 1, "three"}, {domain.EventInferenceReceived, 1, "two three"}}},
		"a limit":    {false, false, []attempted{{EventText, 1, "two "}, {EventText, 1, "three"}, {domain.EventInferenceReceived, 1, "two three"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				run := newRun("run-1", nil)
				request := contract.ModelRequest{ExecutionID: nth(1), Step: 1, Tries: 3}
				scheduled := run.schedule(string(contract.CallModel), request)
				l := watched(t, run)
				l.beats("2", 1, contract.Heartbeat{Attempt: 1, Tail: "two ", Length: 8})
				l.then(func() {
					l.pending = nil
					l.timesOut(scheduled, contract.Heartbeat{Step: 1, Phase: contract.PhaseStreaming, Attempt: 1, Tail: "two three", Length: 13})
				})
				l.then(func() {
					if c.stop {
						l.stops(contract.StopRequest{})
					}
					if request.Lost++; c.again {
						l.completes(l.schedule(string(contract.CallModel), request), reply("four"))
					}
				})
				require.Equal(t, c.want, attemptsIn(l.ended()))
			})
		})
	}
}

// TestLiveTextIsWithheld: where a hook may rewrite answers nothing that the
// model said is shown, and why is told once an execution.
func TestLiveTextIsWithheld(t *testing.T) {
	t.Parallel()
	hooks := []contract.HookSpec{{Name: "audit", Trigger: domain.TriggerOnStop}, {Name: "redact", Trigger: domain.TriggerAfterInference}}
	carrying := inMidst(1, 0)
	carrying.Resolved = &contract.Resolved{Hooks: hooks}
	resolving := newRun("run-1", nil)
	resolving.completes(resolving.schedule(string(contract.ListTools), contract.CatalogRequest{}), contract.Catalog{Hooks: hooks})
	for name, run := range map[string]*fakeRun{"resolved in the run": resolving, "carried": newRun("run-1", carrying)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run.answers(1, 1, "my key is 4711", domain.ToolCall{Name: "f"})
			cut := run.infers(1, 2)
			run.completes(cut, contract.ModelReply{Outcome: contract.Interrupted, Message: reply("my key").Message})
			run.ends(outcomeOf(1, 2))
			events := followed(t, newFake(run), FollowOptions{})
			var withheld []Event
			for _, e := range events {
				require.Empty(t, e.Text)
				if e.Type == EventWithheld {
					withheld = append(withheld, e)
				}
			}
			require.Len(t, withheld, 1)
			require.Equal(t, "redact", withheld[0].Hook)
			require.Equal(t, []EventType{domain.EventStepStarted, EventWithheld, domain.EventInferenceReceived}, typesOf(events)[len(events)-7:len(events)-4])
		})
	}
}

// TestLiveTextOfASummary: it is no answer, whatever a worker tells of it.
func TestLiveTextOfASummary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		run := newRun("run-1", nil)
		scheduled := run.schedule(string(contract.CallModel), contract.ModelRequest{ExecutionID: nth(1), Step: 1, Summary: &domain.SummaryRequest{To: 3}})
		l := watched(t, run)
		l.beats("2", 1, contract.Heartbeat{Attempt: 1, Tail: "in short", Length: 8, Reasoning: "hm", ReasoningLength: 2})
		l.then(func() { l.completes(scheduled, reply("in short")) })
		require.Equal(t, []EventType{domain.EventExecutionStarted, domain.EventStepStarted, EventSummary, EventEnded}, typesOf(l.ended()))
	})
}

// stops records a stop signal.
func (r *fakeRun) stops(request contract.StopRequest) {
	r.signaled(string(contract.SignalStop), request)
}

// timesOut ends an activity whose worker was lost.
func (r *fakeRun) timesOut(scheduled int64, beat contract.Heartbeat) {
	r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
		Attributes: &historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes{
			ActivityTaskTimedOutEventAttributes: &historypb.ActivityTaskTimedOutEventAttributes{
				ScheduledEventId: scheduled,
				Failure: &failurepb.Failure{FailureInfo: &failurepb.Failure_TimeoutFailureInfo{
					TimeoutFailureInfo: &failurepb.TimeoutFailureInfo{LastHeartbeatDetails: payloads(beat)},
				}},
			},
		},
	})
}
