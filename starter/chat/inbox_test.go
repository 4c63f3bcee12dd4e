package chat

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
)

// working has turn 3 in progress, whose execution is known.
func (s *sitting) working() (*sitting, domain.ExecutionID) {
	id := domain.ExecutionID{UUID: uuid.New()}
	s.take(looked{view: account.Status{
		Head:      account.Head{Open: true, Configuration: account.Configuration{Model: "openai/gpt-5-mini"}},
		Execution: account.Execution{Outcome: contract.Outcome{Number: 3, ExecutionID: id, Status: domain.StatusInProgress}},
	}})
	s.hears(turnBegan, stepBegan)
	return s, id
}

func (s *sitting) screenText() string { return strings.Join(s.history(), "\n") }

// waits has a message typed, and taken by the session.
func (s *sitting) waits(line string) (wantSend, contract.WaitingView) {
	s.t.Helper()
	wants := s.says(line)
	require.Len(s.t, wants, 1)
	w := wants[0].(wantSend)
	view := contract.WaitingView{ID: domain.MessageID{UUID: uuid.New()}, Delivery: w.delivery, Text: w.text}
	s.take(sent{delivery: w.delivery, execution: client.Execution{Number: 3, Waits: view.ID}})
	return w, view
}

// TestSteers: what is typed while a turn is in progress waits for its next step, is shown so until it is read, and is
// shown once then, whoever tells of it first.
func TestSteers(t *testing.T) {
	t.Parallel()
	s, execution := sit(t, 80, 24).idle().working()
	w, view := s.waits("and this")
	require.Equal(t, []any{contract.SteerIfBusy, execution}, []any{w.delivery, w.execution})
	require.Contains(t, s.screenText(), "> and this\n  · waits for the next step · /unsend "+view.ID.String()[:8])
	s.hears(client.Event{Type: domain.EventMessageWaiting, Message: &view})
	require.Len(t, s.inbox.waiting, 1, "it is the same")
	require.Zero(t, countSaid(s, "and this"))
	s.hears(client.Event{Type: domain.EventMessageReceived, Message: &view})
	require.Equal(t, 1, countSaid(s, "and this"))
	require.Empty(t, s.inbox.waiting)
	entry := userEntry("and this", execution)
	entry.Message.ID = view.ID
	s.take(recalled{entries: []domain.Entry{entry}, live: execution})
	require.Equal(t, 1, countSaid(s, "and this"), "it is not shown again as it is read back")
	s.looks(account.Head{Unread: []contract.WaitingView{view}}, 3, domain.StatusInProgress)
	require.Empty(t, s.inbox.waiting, "what is told late does not bring it back")

	_, other := s.waits("more")
	entry = userEntry("more", execution)
	entry.Message.ID = other.ID
	s.take(recalled{entries: []domain.Entry{entry}, live: execution})
	s.hears(client.Event{Type: domain.EventMessageReceived, Message: &other})
	require.Equal(t, 1, countSaid(s, "more"))
	require.Empty(t, s.inbox.waiting)
}

// TestQueues: /queue, and a message with another model, begin turns of their own.
func TestQueues(t *testing.T) {
	t.Parallel()
	s, _ := sit(t, 80, 24).idle().working()
	w, view := s.waits("/queue then this")
	require.Equal(t, []any{"then this", contract.QueueIfBusy, domain.ExecutionID{}}, []any{w.text, w.delivery, w.execution})
	require.Contains(t, s.screenText(), "waits to begin a turn of its own")
	s.says("/model openai/gpt-5")
	w, _ = s.waits("with another")
	require.Equal(t, contract.QueueIfBusy, w.delivery)
	require.Equal(t, "gpt-5", w.model.Model)
	next := domain.ExecutionID{UUID: uuid.New()}
	s.take(recalled{entries: []domain.Entry{userEntry("then this", next)}, live: next})
	s.hears(client.Event{Type: domain.EventExecutionStarted, Number: 4}, client.Event{Type: domain.EventMessageReceived, Number: 4, Message: &view})
	require.Equal(t, 1, countSaid(s, "then this"))
	require.Len(t, s.inbox.waiting, 1)
	require.Empty(t, s.says("/queue"))
	require.Contains(t, s.screenText(), "is given no message")
	s.looks(account.Head{}, 5, domain.StatusCompleted)
	require.Empty(t, s.inbox.waiting, "an idle session has none")
}

// TestUnsends: what was not read is taken back, and is typed again.
func TestUnsends(t *testing.T) {
	t.Parallel()
	s, _ := sit(t, 80, 24).idle().working()
	require.Empty(t, s.says("/unsend"))
	require.Contains(t, s.screenText(), "no message waits")
	_, first := s.waits("one")
	_, second := s.waits("two")
	require.Equal(t, []want{wantUnsend{second.ID}}, s.says("/unsend"))
	require.Equal(t, []want{wantUnsend{first.ID}}, s.says("/unsend "+first.ID.String()[:8]))
	s.take(unsent{id: second.ID})
	require.Equal(t, "two", s.composer.value())
	s.take(unsent{id: first.ID, err: &client.Error{Class: client.Refused, Message: "it was read"}})
	require.Len(t, s.inbox.waiting, 1)
	require.Contains(t, s.screenText(), "not taken back: it was read")
	s.composer.set("")
	s.looks(account.Head{Unread: []contract.WaitingView{
		{ID: domain.MessageID{UUID: uuid.New()}, Delivery: contract.SteerIfBusy, Text: "of another"},
	}}, 3, domain.StatusInProgress)
	require.Contains(t, s.screenText(), "> of another")
	require.Equal(t, []want{wantUnsend{first.ID}}, s.says("/unsend"), "what was typed here, and not what somebody else waits for")
}

// TestForksAndRewinds: both say what they take, and what came of it.
func TestForksAndRewinds(t *testing.T) {
	t.Parallel()
	s := sit(t, 100, 40).idle()
	require.Equal(t, []want{wantFork{client.Point{ID: "notes", Execution: "2"}, "try it"}}, s.says("/fork try it"))
	require.Equal(t, []want{wantFork{client.Point{ID: "notes", Execution: "2", Step: new(1)}, "try it"}}, s.says("/fork 1 try it"))
	require.Empty(t, s.says("/fork 1"))
	require.Equal(t, []want{wantRewind{client.Point{ID: "notes", Execution: "2", Step: new(0)}}}, s.says("/rewind"), "the newest turn is taken back")
	require.Equal(t, []want{wantRewind{client.Point{ID: "notes", Execution: "1"}}}, s.says("/rewind 1"))
	require.Equal(t, []want{wantRewind{client.Point{ID: "notes", Execution: "1", Step: new(3)}}}, s.says("/rewind 1 3"))
	for _, wrong := range []string{"/rewind x", "/rewind 0", "/rewind 1 2 3", "/rewind 1 -1"} {
		require.Empty(t, s.says(wrong), wrong)
	}
	require.Len(t, s.says("/rewind 1 3"), 1)
	to := domain.Origin{ExecutionID: domain.ExecutionID{UUID: uuid.New()}, Step: 3}
	s.looks(account.Head{Position: account.Position{From: &to}}, 2, domain.StatusCompleted)
	s.take(rewound{done: client.Rewound{To: to, ToNumber: 1, Undo: 2, TakenBack: 4, Since: []client.SinceCall{{Number: 2, Step: 1, Tool: "pay", Outcome: domain.ToolOK}}}})
	s.looks(account.Head{Position: account.Position{From: &to}}, 2, domain.StatusCompleted)
	text := strings.Join(strings.Fields(s.screenText()), " ")
	require.Contains(t, text, "after step 3 of turn 1; messages that are taken back")
	require.Contains(t, text, "1 call that may have had effects: pay (execution 2, step 1)")
	require.NotContains(t, text, "the session was rewound", "that is known")
	other := domain.Origin{ExecutionID: to.ExecutionID, Step: 1}
	s.looks(account.Head{Position: account.Position{From: &other}}, 2, domain.StatusCompleted)
	require.Contains(t, s.screenText(), "the session was rewound", "by somebody else")
	s.working()
	require.Empty(t, s.says("/rewind 1"))
	require.Contains(t, s.screenText(), "/stop it first")
	s.take(recalled{takenBack: 2})
	require.Contains(t, s.screenText(), "2 messages that a rewind has taken back")
}
