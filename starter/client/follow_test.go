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
	call := s.execution().Step(1).Tool(0)
	asked := domain.ToolExecution{ID: call}
	for _, kind := range []domain.WaitKind{domain.WaitApproval, domain.WaitOutcome} {
		asked = asked.WithWait(domain.Wait{Kind: kind, ToolExecutionID: call})
		s.note(domain.Event{Type: domain.EventWaitOpened, EventHeader: s.head(1), Data: domain.WaitOpened{EventCall: domain.EventCall{ToolExecutionID: call}, Kind: kind}})
	}
	s.current.Step.ToolExecutions = []domain.ToolExecution{asked}
	s.run.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
	events := followed(t, s.fakeServer, FollowOptions{})
	require.Equal(t, []domain.EventType{domain.EventExecutionStarted, domain.EventStepStarted, domain.EventInferenceRequested, domain.EventWaitOpened, domain.EventWaitOpened, EventEnded}, typesOf(events))
	require.Equal(t, domain.CodeTerminated, events[5].Ended.Code)
	require.False(t, events[3].Waits(), "nobody is asked for a word that nothing would take")
	require.True(t, events[4].Waits(), "whether the call took effect is still unknown")
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
