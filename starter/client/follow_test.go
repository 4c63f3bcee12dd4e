package client

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// A teller is a fake of nora's workflow whose worker answers with an account that a test makes grow.
type teller struct {
	*fakeServer
	id      domain.AgentID
	run     *fakeRun
	all     account.Account
	newest  account.Execution
	current domain.StepExecution
	// number is that of the newest execution.
	number int
}

// newTeller is an agent whose first execution has begun.
func newTeller(a agent, run *fakeRun) *teller {
	t := &teller{fakeServer: newFake(run), id: a.id, run: run, number: 1}
	t.newest = account.Execution{Outcome: contract.Outcome{AgentID: a.id, ExecutionID: t.execution(), Number: 1, Status: domain.StatusInProgress}}
	t.all.Head = &account.Head{AgentID: a.id, Newest: &t.newest, Run: account.Run{ID: run.id, First: run.id}}
	t.query = t.answer
	t.note(domain.Event{Type: domain.EventExecutionStarted, EventHeader: t.head(0), Data: domain.AgentExecutionStarted{Number: 1}})
	return t
}

func (s *teller) execution() domain.ExecutionID { return s.id.Execution(s.run.id, s.number) }

func (s *teller) answer(_ context.Context, _, _ string, in any) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request := in.(account.Request)
	all := s.all
	if all.Executions = []account.Execution{s.newest}; request.Execution > s.number {
		all.Executions, all.Events, all.Steps = nil, nil, nil
	}
	all = all.Only(request)
	head := *s.all.Head
	newest := s.newest
	head.Newest, all.Head = &newest, &head
	if request.Wants(account.Current) && !s.current.Step.ID.IsZero() {
		all.Current = &account.Step{Execution: 1, StepExecution: s.current}
	}
	held := account.Held{Run: head.Run, Executions: []account.HeldExecution{{Number: s.number, ID: s.execution(), Step: 1, Event: 1}}}
	return account.Page{Account: all, PageEnd: account.PageEnd{Held: held}}, nil
}

// head is that of the next event, in a step.
func (s *teller) head(step int) domain.EventHeader {
	n := len(s.all.Events) + 1
	h := domain.EventHeader{Sequence: int64(n), Time: at(n).AsTime(), AgentID: s.id, ExecutionID: s.execution(), Step: step}
	if step > 0 {
		h.StepID = s.execution().Step(step)
	}
	return h
}

// note adds an event, made with the head of now, and has the workflow get on.
func (s *teller) note(e domain.Event) {
	s.all.Events = append(s.all.Events, e)
	s.run.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED})
}

// begins begins a step with its inference.
func (s *teller) begins(step int) {
	s.current = domain.StepExecution{Step: domain.AgentStep{ID: s.execution().Step(step), Number: step}}
	s.note(domain.Event{Type: domain.EventStepStarted, EventHeader: s.head(step)})
	s.infers(step, 0)
}

func (s *teller) infers(step, attempts int) {
	s.note(domain.Event{Type: domain.EventInferenceRequested, EventHeader: s.head(step), Data: domain.InferenceRequestStarted{Model: "scripted/x", Attempts: attempts}})
}

// answers ends an inference with a text and calls, which wait to be made.
func (s *teller) answers(step int, text string, calls ...domain.ToolCall) {
	head := s.head(step)
	m := domain.Message{ID: s.current.Step.ID.Message(len(s.current.Step.Output)), CreatedAt: head.Time, Role: domain.RoleAssistant, ToolCalls: calls}
	if text != "" {
		m.Parts = []domain.Part{{Type: domain.PartText, Text: text}}
	}
	s.current.Step.Output = append(s.current.Step.Output, m)
	for i, call := range calls {
		s.current.Step.ToolExecutions = append(s.current.Step.ToolExecutions, domain.ToolExecution{ID: s.current.Step.ID.Tool(i), Call: call})
	}
	s.note(domain.Event{Type: domain.EventInferenceReceived, EventHeader: head, Data: domain.InferenceResponseReceived{ToolCalls: len(calls)}})
}

// fails ends an inference without an answer.
func (s *teller) fails(step int, err *domain.Error) {
	s.all.Head.InferenceFailure = err
	s.note(domain.Event{Type: domain.EventInferenceReceived, EventHeader: s.head(step), Data: domain.InferenceResponseReceived{Kind: err.Kind, Code: err.Code}})
}

// completes ends the step in progress.
func (s *teller) completes() {
	step := s.current
	s.all.Steps = append(s.all.Steps, account.Step{Execution: 1, StepExecution: step})
	s.current = domain.StepExecution{}
	s.note(domain.Event{Type: domain.EventStepCompleted, EventHeader: s.head(step.Step.Number), Data: domain.AgentStepCompleted{StepType: step.Step.Type()}})
}

// ends ends the execution.
func (s *teller) ends() {
	s.newest.Status, s.newest.StopReason, s.newest.Ended = domain.StatusCompleted, domain.Completed, &contract.End{}
	s.note(domain.Event{Type: domain.EventExecutionCompleted, EventHeader: s.head(0), Data: domain.ExecutionEnded{Status: domain.StatusCompleted, StopReason: domain.Completed}})
}

// A followedLive is what comes of an execution that is followed while it goes on, in a bubble of time.
type followedLive struct {
	*teller
	events chan []Event
}

func (s *teller) followed(t *testing.T) *followedLive {
	t.Helper()
	l := &followedLive{teller: s, events: make(chan []Event, 1)}
	go func() { l.events <- followed(t, s.fakeServer, FollowOptions{}) }()
	synctest.Wait()
	return l
}

// then makes a change and lets the follower see it.
func (l *followedLive) then(how func()) {
	l.change(how)
	time.Sleep(4 * askEvery) // in the bubble's time
	synctest.Wait()
}

// beats reports for an inference, by the id of its activity.
func (l *followedLive) beats(activity string, attempt int32, beat contract.Heartbeat) {
	l.then(func() {
		beat.ExecutionID, beat.Phase = nth(1), contract.PhaseStreaming
		if beat.Step == 0 {
			beat.Step = 1
		}
		l.run.pending = []*workflowpb.PendingActivityInfo{beating(activity, attempt, beat)}
	})
}

func (l *followedLive) ended() []Event {
	l.change(func() { l.run.pending = nil; l.completes(); l.ends() })
	return <-l.events
}

// beating is a pending inference that reports.
func beating(activityID string, attempt int32, beat contract.Heartbeat) *workflowpb.PendingActivityInfo {
	return &workflowpb.PendingActivityInfo{
		ActivityId: activityID, ActivityType: &commonpb.ActivityType{Name: string(contract.CallModel)},
		State: enumspb.PENDING_ACTIVITY_STATE_STARTED, Attempt: attempt, ScheduledTime: at(1),
		LastStartedTime: at(2), LastHeartbeatTime: at(3), HeartbeatDetails: payloads(beat),
	}
}

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

func typesOf(events []Event) []domain.EventType {
	types := make([]domain.EventType, len(events))
	for i, e := range events {
		types[i] = e.Type
	}
	return types
}

// told is what an event tells of an attempt.
type toldAttempt struct {
	Type    domain.EventType
	Attempt int
	Text    string
}

func attemptsIn(events []Event) []toldAttempt {
	var out []toldAttempt
	for _, e := range events {
		switch e.Type {
		case EventReasoning, EventText, EventWithdrawn, EventRetry, domain.EventInferenceReceived:
			out = append(out, toldAttempt{e.Type, e.Attempt, e.Text})
		default:
		}
	}
	return out
}

// TestFollowTellsTheStory: each event comes once and in order, with what it is about, whether it has ended or goes on.
func TestFollowTellsTheStory(t *testing.T) {
	t.Parallel()
	tell := func(s *teller) {
		s.begins(1)
		s.answers(1, "looking", domain.ToolCall{ID: "a", Name: "read_file", Arguments: `{"path":"."}`}, domain.ToolCall{ID: "b", Name: "gone", Arguments: "{}"})
		read, gone := s.current.Step.ID.Tool(0), s.current.Step.ID.Tool(1)
		s.note(domain.Event{Type: domain.EventToolCallStarted, EventHeader: s.head(1), Data: domain.EventCall{ToolExecutionID: read, Tool: "read_file"}})
		why := domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool, "no such tool").From("tools")
		s.current.Step.ToolExecutions[1].Error = why
		s.note(domain.Event{Type: domain.EventToolCallBlocked, EventHeader: s.head(1), Data: domain.ToolCallBlocked{EventCall: domain.EventCall{ToolExecutionID: gone, Tool: "gone"}, Code: why.Code}})
		s.note(domain.Event{Type: domain.EventToolCallRetried, EventHeader: s.head(1), Data: domain.ToolCallRetried{EventCall: domain.EventCall{ToolExecutionID: read, Tool: "read_file"}, Attempt: 2, Kind: domain.Unavailable}})
		s.note(domain.Event{Type: domain.EventToolCallCompleted, EventHeader: s.head(1), Data: domain.ToolCallCompleted{EventCall: domain.EventCall{ToolExecutionID: read, Tool: "read_file"}}})
		s.completes()
		s.begins(2)
		s.answers(2, "42")
		s.completes()
		s.ends()
	}
	check := func(t *testing.T, events []Event) {
		t.Helper()
		require.Equal(t, []domain.EventType{
			domain.EventExecutionStarted, domain.EventStepStarted, domain.EventInferenceRequested, domain.EventInferenceReceived, domain.EventToolCallStarted,
			domain.EventToolCallBlocked, domain.EventToolCallRetried, domain.EventToolCallCompleted, domain.EventStepCompleted,
			domain.EventStepStarted, domain.EventInferenceRequested, domain.EventInferenceReceived, domain.EventStepCompleted, domain.EventExecutionCompleted,
		}, typesOf(events))
		require.Equal(t, "looking", events[3].Text)
		require.Len(t, events[3].Calls, 2)
		require.Equal(t, []any{"read_file", `{"path":"."}`, 0}, []any{events[4].Tool, events[4].Arguments, events[4].Position})
		require.Equal(t, []any{"gone", 1, "no such tool"}, []any{events[5].Tool, events[5].Position, events[5].Error.Message})
		require.Equal(t, 2, events[6].Attempt)
		require.Nil(t, events[7].Error)
		require.Equal(t, "42", events[11].Text)
		require.Equal(t, domain.StatusCompleted, events[13].Ended.Status)
		for i, e := range events {
			require.Equal(t, 1, e.Number)
			require.Equal(t, int64(i+1), e.Recorded.Sequence)
		}
	}
	whole := newTeller(nora, newRun("run-1", nil))
	tell(whole)
	check(t, followed(t, whole.fakeServer, FollowOptions{}))
	require.Equal(t, domain.EventStepStarted, followed(t, whole.fakeServer, FollowOptions{After: 9})[0].Type)
	require.Empty(t, followed(t, whole.fakeServer, FollowOptions{After: 14}))
	for _, err := range whole.client().Follow(t.Context(), "nora", FollowOptions{After: 15}) {
		requireClass(t, err, NotFound)
	}

	synctest.Test(t, func(t *testing.T) {
		s := newTeller(nora, newRun("run-1", nil))
		l := s.followed(t)
		l.then(func() { s.begins(1) })
		l.then(func() { s.answers(1, "looking") })
		l.then(func() { s.completes(); s.begins(2) })
		l.change(func() { s.answers(2, "42"); s.completes(); s.ends() })
		var said []string
		for _, e := range <-l.events {
			if e.Type == domain.EventInferenceReceived {
				said = append(said, e.Text)
			}
		}
		require.Equal(t, []string{"looking", "42"}, said)
	})
}

// TestFollowAsksSeldom: at most four times a second while the workflow gets on, and for its account only then.
func TestFollowAsksSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, queries := newTeller(nora, newRun("run-1", nil)), 0
		s.query = func(ctx context.Context, run, query string, in any) (any, error) {
			s.change(func() { queries++ })
			return s.answer(ctx, run, query, in)
		}
		l := s.followed(t)
		// since is how often the server was asked for the account, and in all, since it was last called.
		since := func() (accounts, all int) {
			synctest.Wait()
			s.change(func() { accounts, all, queries, s.described = queries, queries+s.described, 0, 0 })
			return accounts, all
		}
		since()
		for range 20 {
			l.change(func() { s.begins(1) })
			time.Sleep(100 * time.Millisecond) // in the bubble's time
		}
		_, all := since()
		require.LessOrEqual(t, all, 9, "in two seconds")
		time.Sleep(2 * time.Second) // in the bubble's time
		accounts, all := since()
		require.LessOrEqual(t, accounts, 1)
		require.LessOrEqual(t, all, 9)
		l.ended()
	})
}

// TestLiveTextByAttempt: the first attempt fails and may be billed, so that the second is another activity, which the server
// tries twice.
func TestLiveTextByAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTeller(nora, newRun("run-1", nil))
		s.begins(1)
		l := s.followed(t)
		l.beats("2", 1, contract.Heartbeat{Attempt: 1, Reasoning: "hm", ReasoningLength: 2})
		l.beats("2", 1, contract.Heartbeat{Attempt: 1, Reasoning: "hm, 6×7", ReasoningLength: 8, Tail: "It", Length: 2})
		l.then(func() { s.run.pending = nil; s.fails(1, domain.Errorf(domain.Unavailable, "cut")); s.infers(1, 1) })
		l.beats("4", 1, contract.Heartbeat{Attempt: 2, Tail: "Fort", Length: 4})
		l.beats("4", 2, contract.Heartbeat{Attempt: 3, Reasoning: "anew", ReasoningLength: 4})
		l.beats("4", 2, contract.Heartbeat{Attempt: 3, Reasoning: "anew", ReasoningLength: 4, Tail: "42", Length: 2})
		l.then(func() { s.run.pending = nil; s.answers(1, "42.") })
		events := l.ended()
		require.Equal(t, []toldAttempt{
			{EventReasoning, 1, "hm"},
			{EventReasoning, 1, ", 6×7"}, {EventText, 1, "It"},
			{EventWithdrawn, 1, ""}, {domain.EventInferenceReceived, 1, ""},
			{EventText, 2, "Fort"},
			{EventWithdrawn, 2, ""},
			{EventReasoning, 3, "anew"}, {EventText, 3, "42"},
			{domain.EventInferenceReceived, 3, "42."},
		}, attemptsIn(events))
		for _, e := range events {
			if e.Type == EventWithdrawn && e.Attempt == 1 {
				require.Equal(t, "cut", e.Reason)
			}
			if e.Text == "42." {
				require.Equal(t, 2, e.Shown)
			}
		}
	})
}

// TestLiveTextComesLate: a late reader gets the end of what there is, is told what is missing, and goes on from there.
func TestLiveTextComesLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTeller(nora, newRun("run-1", nil))
		s.begins(1)
		l := s.followed(t)
		l.beats("2", 1, contract.Heartbeat{Attempt: 1, Tail: "the end", Length: 1007, Reasoning: "thought", ReasoningLength: 507})
		l.beats("2", 1, contract.Heartbeat{Attempt: 1, Tail: "the end of it", Length: 1013, Reasoning: "thought", ReasoningLength: 507})
		whole := strings.Repeat("x", 1000) + "the end of it."
		l.then(func() { s.run.pending = nil; s.answers(1, whole) })
		var text []Event
		for _, e := range l.ended() {
			if e.Text != "" {
				text = append(text, e)
			}
		}
		require.Equal(t, []toldAttempt{
			{EventReasoning, 1, "thought"}, {EventText, 1, "the end"}, {EventText, 1, " of it"}, {domain.EventInferenceReceived, 1, whole},
		}, attemptsIn(text))
		require.Equal(t, []int{500, 1000, 0, 0}, []int{text[0].Skipped, text[1].Skipped, text[2].Skipped, text[3].Skipped})
		require.Equal(t, 1013, text[3].Shown)
	})
}

// TestLiveTextOfALostWorker: what had arrived is withdrawn once the inference is made again, and stays where a stop keeps it.
func TestLiveTextOfALostWorker(t *testing.T) {
	t.Parallel()
	interrupted := domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "cut off by a stop")
	for name, c := range map[string]struct {
		then func(s *teller, l *followedLive)
		want []toldAttempt
	}{
		"made again": {func(s *teller, l *followedLive) {
			l.beats("5", 1, contract.Heartbeat{Attempt: 1, Tail: "four", Length: 4})
			l.then(func() { s.run.pending = nil; s.answers(1, "four") })
		}, []toldAttempt{{EventText, 1, "two "}, {EventWithdrawn, 1, ""}, {EventRetry, 1, ""}, {EventText, 1, "four"}, {domain.EventInferenceReceived, 1, "four"}}},
		"kept": {func(s *teller, l *followedLive) {
			l.then(func() { s.run.pending = nil; s.fails(1, interrupted); s.says(1, "…two ") })
		}, []toldAttempt{{EventText, 1, "two "}, {domain.EventInferenceReceived, 1, "…two "}}},
		"not kept": {func(s *teller, l *followedLive) {
			l.then(func() { s.run.pending = nil; s.fails(1, interrupted) })
		}, []toldAttempt{{EventText, 1, "two "}, {EventWithdrawn, 1, ""}, {domain.EventInferenceReceived, 1, ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newTeller(nora, newRun("run-1", nil))
				s.begins(1)
				l := s.followed(t)
				l.beats("2", 1, contract.Heartbeat{Attempt: 1, Tail: "two ", Length: 8})
				c.then(s, l)
				require.Equal(t, c.want, attemptsIn(l.ended()))
			})
		})
	}
}

// says adds a text to the step, at the time of the newest event.
func (s *teller) says(step int, text string) {
	last := s.all.Events[len(s.all.Events)-1].Time
	s.current.Step.Output = append(s.current.Step.Output, domain.Message{
		ID: s.execution().Step(step).Message(9), CreatedAt: last, Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: text}},
	})
}

// TestLiveTextIsWithheld: where a hook may rewrite answers nothing that arrives is shown, and why is told once an execution.
func TestLiveTextIsWithheld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTeller(nora, newRun("run-1", nil))
		s.all.Head.Withheld = "redact"
		s.begins(1)
		l := s.followed(t)
		l.beats("2", 1, contract.Heartbeat{Attempt: 1, Tail: "my key is 4711", Length: 14})
		l.then(func() { s.answers(1, "my key is [redacted]"); s.completes(); s.begins(2) })
		var withheld int
		for _, e := range l.ended() {
			require.NotContains(t, e.Text, "4711")
			if e.Type == EventWithheld {
				withheld++
				require.Equal(t, "redact", e.Hook)
			}
		}
		require.Equal(t, 1, withheld)
	})
}

// TestLiveTextOfASummary is shown to nobody: it is no answer.
func TestLiveTextOfASummary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTeller(nora, newRun("run-1", nil))
		s.current.Step.ID, s.current.Step.Number = nth(1).Step(1), 1
		s.note(domain.Event{Type: domain.EventInferenceRequested, EventHeader: s.head(1), Data: domain.InferenceRequestStarted{Summary: true}})
		l := s.followed(t)
		l.beats("2", 1, contract.Heartbeat{Attempt: 1, Tail: "in short", Length: 8})
		l.then(func() {
			s.run.pending = nil
			s.note(domain.Event{Type: domain.EventInferenceReceived, EventHeader: s.head(1), Data: domain.InferenceResponseReceived{}})
		})
		require.Equal(t, []toldAttempt{{domain.EventInferenceReceived, 0, ""}}, attemptsIn(l.ended()))
	})
}

// TestFollowShowsProgress of a call, and no longer once the call has ended.
func TestFollowShowsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTeller(nora, newRun("run-1", nil))
		s.begins(1)
		s.answers(1, "", domain.ToolCall{ID: "a", Name: "index"}, domain.ToolCall{ID: "b", Name: "index"})
		id := s.current.Step.ID.Tool(1)
		s.note(domain.Event{Type: domain.EventToolCallStarted, EventHeader: s.head(1), Data: domain.EventCall{ToolExecutionID: id, Tool: "index"}})
		l := s.followed(t)
		tells := func(text string) {
			l.then(func() {
				p := beating("7", 1, contract.Heartbeat{ExecutionID: nth(1), Step: 1, Phase: contract.PhaseRunning, Call: id, Progress: &contract.Progress{Tool: "index", Text: text}})
				p.ActivityType.Name = string(contract.CallTool)
				s.run.pending = []*workflowpb.PendingActivityInfo{p}
			})
		}
		tells("300 of 900")
		tells("300 of 900")
		tells("900 of 900")
		l.then(func() {
			s.note(domain.Event{Type: domain.EventToolCallCompleted, EventHeader: s.head(1), Data: domain.ToolCallCompleted{EventCall: domain.EventCall{ToolExecutionID: id, Tool: "index"}}})
		})
		tells("late")
		var got []string
		for _, e := range l.ended() {
			if e.Type == EventToolProgress {
				require.Equal(t, []any{1, 1, "index"}, []any{e.Step, e.Position, e.Tool})
				got = append(got, e.Text)
			}
		}
		require.Equal(t, []string{"300 of 900", "900 of 900"}, got)
	})
}

func TestFollowSaysThatNoWorkerIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTeller(nora, newRun("run-1", nil))
		s.run.task = &workflowpb.PendingWorkflowTaskInfo{State: enumspb.PENDING_WORKFLOW_TASK_STATE_SCHEDULED}
		start := time.Now()
		for e, err := range s.client().Follow(t.Context(), "nora", FollowOptions{}) {
			require.NoError(t, err)
			if e.Type == EventNoWorker {
				break
			}
			require.Equal(t, domain.EventExecutionStarted, e.Type)
		}
		require.GreaterOrEqual(t, time.Since(start), stalledAfter)
		require.LessOrEqual(t, time.Since(start), stalledAfter+2*time.Second)
	})
}

func TestFollowReconnects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTeller(nora, newRun("run-1", nil))
		s.begins(1)
		l := s.followed(t)
		l.then(func() { s.down = true })
		time.Sleep(time.Minute)
		l.change(func() { s.down = false; s.answers(1, "a"); s.completes(); s.ends() })
		require.Equal(t, []domain.EventType{
			domain.EventExecutionStarted, domain.EventStepStarted, domain.EventInferenceRequested, EventReconnecting, EventReconnected,
			domain.EventInferenceReceived, domain.EventStepCompleted, domain.EventExecutionCompleted,
		}, typesOf(<-l.events), "each once")
	})
}

// TestFollowOfWhatTheServerEnds: no event says so.
func TestFollowOfWhatTheServerEnds(t *testing.T) {
	t.Parallel()
	s := newTeller(nora, newRun("run-1", nil))
	s.begins(1)
	s.run.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
	events := followed(t, s.fakeServer, FollowOptions{})
	require.Equal(t, []domain.EventType{domain.EventExecutionStarted, domain.EventStepStarted, domain.EventInferenceRequested, EventEnded}, typesOf(events))
	require.Equal(t, domain.CodeTerminated, events[3].Ended.Code)
}

// TestFollowWaitsForWhatIsAboutToBegin, also where the execution before has ended.
func TestFollowWaitsForWhatIsAboutToBegin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTeller(nora, newRun("run-1", nil))
		s.begins(1)
		s.completes()
		s.ends()
		s.all.Head.Open, s.newest.Unread = true, 1
		events := make(chan []Event, 1)
		go func() { events <- followed(t, s.fakeServer, FollowOptions{Number: 2}) }()
		time.Sleep(4 * askEvery) // in the bubble's time
		synctest.Wait()
		require.Empty(t, events)
		s.change(func() {
			s.all.Events, s.number = nil, 2
			s.newest = account.Execution{Outcome: contract.Outcome{AgentID: s.id, ExecutionID: s.execution(), Number: 2, Status: domain.StatusInProgress}}
			s.note(domain.Event{Type: domain.EventExecutionStarted, EventHeader: s.head(0), Data: domain.AgentExecutionStarted{Number: 2}})
			s.ends()
		})
		require.Equal(t, []domain.EventType{domain.EventExecutionStarted, domain.EventExecutionCompleted}, typesOf(<-events))
	})
}

// TestFollowSaysWhatIsGone, and goes on.
func TestFollowSaysWhatIsGone(t *testing.T) {
	t.Parallel()
	s := newTeller(nora, newRun("run-1", nil))
	s.begins(1)
	s.answers(1, "a")
	s.completes()
	s.ends()
	s.all.Missing = []account.Missing{{Part: account.Events, Execution: 1, From: 1, To: 2}}
	s.all.Events = s.all.Events[2:]
	var gone []error
	var types []domain.EventType
	for e, err := range s.client().Follow(t.Context(), "nora", FollowOptions{}) {
		if err != nil {
			gone = append(gone, err)
			continue
		}
		types = append(types, e.Type)
	}
	require.Len(t, gone, 1)
	requireClass(t, gone[0], Gone)
	require.Equal(t, []domain.EventType{domain.EventInferenceRequested, domain.EventInferenceReceived, domain.EventStepCompleted, domain.EventExecutionCompleted}, types)
}

func TestFollowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var last error
		for _, err := range newTeller(nora, newRun("run-1", nil)).client().Follow(ctx, "nora", FollowOptions{}) {
			last = err
		}
		requireClass(t, last, Cancelled)
	})
}

// TestFollowATree: what a sub-agent does stands between the events about it, those below it in the same way, each with its
// path; and what cannot be read is told.
func TestFollowATree(t *testing.T) {
	t.Parallel()
	root, forest := newTeller(nora, newRun("run-1", nil)), &forest{by: map[string]*fakeServer{}}
	forest.by["agent/nora"] = root.fakeServer
	child := func(of *teller, position int, name string, known bool) (*teller, func()) {
		id := of.id.Execution(of.run.id, 1).Step(1).Tool(position)
		a := must(agentOf(domain.AgentID(id).String()))
		of.note(domain.Event{Type: domain.EventSubagentSpawning, EventHeader: of.head(1), Data: domain.SubagentSpawning{Subagent: name, ChildID: a.id, ToolExecutionID: id}})
		s := newTeller(a, newRun("run-"+a.id.String()[:8], nil))
		if known {
			forest.by["agent/"+a.id.String()] = s.fakeServer
		}
		return s, func() {
			s.ends()
			of.note(domain.Event{Type: domain.EventSubagentCompleted, EventHeader: of.head(1), Data: domain.SubagentCompleted{Subagent: name, ChildID: a.id, Status: domain.StatusCompleted}})
		}
	}
	root.begins(1)
	branch, branchEnds := child(root, 0, "branch", true)
	_, lostEnds := child(root, 1, "lost", false)
	_, leafEnds := child(root, 2, "leaf", true)
	_, twigEnds := child(branch, 0, "twig", true)
	twigEnds()
	lostEnds()
	branchEnds()
	leafEnds()
	root.completes()
	root.ends()

	numbers := map[string][]int64{}
	var order []string
	for e, err := range New(forest, Config{Loopback: true}).Follow(t.Context(), "nora", FollowOptions{Tree: true}) {
		require.NoError(t, err)
		path := strings.Join(e.Path, "/")
		require.Equal(t, path == "", e.AgentID.IsZero())
		if e.Type == EventGone {
			require.Equal(t, "lost", path)
			order = append(order, path+" gone ")
			continue
		}
		numbers[path] = append(numbers[path], e.Recorded.Sequence)
		order = append(order, path+" "+string(e.Type)+" "+e.ChildName)
	}
	require.Equal(t, map[string][]int64{
		"": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, "branch": {1, 2, 3, 4}, "leaf": {1, 2}, "branch/twig": {1, 2},
	}, numbers)
	later := map[string][]int64{}
	for e, err := range New(forest, Config{Loopback: true}).Follow(t.Context(), "nora", FollowOptions{Tree: true, After: 7}) {
		require.NoError(t, err)
		later[strings.Join(e.Path, "/")] = append(later[strings.Join(e.Path, "/")], e.Recorded.Sequence)
	}
	require.Equal(t, map[string][]int64{"": {8, 9, 10, 11}, "branch": {1, 2, 3, 4}, "leaf": {1, 2}, "branch/twig": {1, 2}}, later, "those that worked then")
	for _, path := range []string{"branch", "leaf", "branch/twig", "lost"} {
		name := path[strings.LastIndex(path, "/")+1:]
		from, to := -1, -1
		for i, line := range order {
			if strings.HasSuffix(line, "SubagentSpawning "+name) {
				from = i
			}
			if strings.HasSuffix(line, "SubagentCompleted "+name) {
				to = i
			}
		}
		for i, line := range order {
			if strings.HasPrefix(line, path+" ") {
				require.True(t, from < i && i < to, "%s: %v", path, order)
			}
		}
	}
}

// TestFollowATreeThatIsLeft ends with all that follow it.
func TestFollowATreeThatIsLeft(t *testing.T) {
	t.Parallel()
	s := newTeller(nora, newRun("run-1", nil))
	s.begins(1)
	seen := 0
	for _, err := range s.client().Follow(t.Context(), "nora", FollowOptions{Tree: true}) {
		require.NoError(t, err)
		if seen++; seen == 2 {
			break
		}
	}
	require.Equal(t, 2, seen)
}

// TestEventAsJSON: what the execution has noted is as its record has it, with what it is about beside, and each name once.
func TestEventAsJSON(t *testing.T) {
	t.Parallel()
	call := nth(1).Step(1).Tool(1)
	recorded := domain.Event{Type: domain.EventToolCallRetried, EventHeader: domain.EventHeader{Sequence: 3, Time: at(1).AsTime(), Step: 1, AgentID: nora.id, ExecutionID: nth(1)}, Data: domain.ToolCallRetried{EventCall: domain.EventCall{ToolExecutionID: call, Tool: "read_file"}, Attempt: 2, Kind: domain.Unavailable}}
	e := Event{
		Type: domain.EventToolCallRetried, Recorded: recorded, Time: at(1).AsTime(), Number: 4, Step: 1, Attempt: 2, ToolExecutionID: call, Tool: "read_file", Position: 1,
		AgentID: nora.id, Path: []string{"branch", "twig"},
	}
	plain, err := json.Marshal(recorded)
	require.NoError(t, err)
	got, err := json.Marshal(e)
	require.NoError(t, err)
	require.Equal(t, strings.TrimSuffix(string(plain), "}")+`,"path":["branch","twig"],"execution_number":4,"position":1}`, string(got))

	var read Event
	require.NoError(t, json.Unmarshal(got, &read))
	e.AgentID = read.AgentID
	require.Equal(t, e, read)
	require.Error(t, json.Unmarshal([]byte(`{"type":"other"}`), &read))

	got, err = json.Marshal(Event{Type: EventText, Time: at(1).AsTime(), Number: 4, Step: 1, Attempt: 2, Text: "It"})
	require.NoError(t, err)
	require.Equal(t, `{"type":"text","time":"`+at(1).AsTime().Format(time.RFC3339Nano)+`","execution_number":4,"step":1,"attempt":2,"text":"It"}`, string(got))
}

// TestWhoHasSeenEnoughAsksNoMore of an execution that has ended, however many events are left.
func TestWhoHasSeenEnoughAsksNoMore(t *testing.T) {
	t.Parallel()
	s := newTeller(nora, newRun("run-1", nil))
	for i := range 10 {
		s.begins(i + 1)
		s.answers(i+1, "x")
		s.completes()
	}
	s.ends()
	asked, inner := 0, s.query
	s.query = func(ctx context.Context, id, query string, in any) (any, error) {
		asked++
		return inner(ctx, id, query, in)
	}
	for _, err := range s.client().Follow(t.Context(), "nora", FollowOptions{}) {
		require.NoError(t, err)
		break
	}
	require.Equal(t, 1, asked)
}
