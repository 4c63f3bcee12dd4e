package chat

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/render"
)

var noon = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

// usual is a command line of the program by its usual name.
func usual(words ...string) string { return strings.Join(append([]string{"starter"}, words...), " ") }

// A sitting is a conversation in a test, with its own time.
type sitting struct {
	*Model
	t   *testing.T
	now time.Time
}

// sit begins a conversation on a terminal of a size, in an open session that is idle after two turns.
func sit(t *testing.T, width, height int) *sitting {
	t.Helper()
	s := &sitting{t: t, now: noon}
	s.Model = New(Config{
		ID: "notes", By: "ann", Theme: render.Plain(io.Discard).Theme, Now: func() time.Time { return s.now },
		Again: usual,
		Limits: func(words []string) (client.ExtendOptions, error) {
			if len(words) == 0 || words[0] != "max_steps=9" {
				return client.ExtendOptions{}, errors.New("no such limit")
			}
			return client.ExtendOptions{Budget: domain.ExecutionBudget{MaxSteps: new(int64(9))}}, nil
		},
		ReadModel: func(text string) (domain.LLMConfig, error) {
			if text != "openai/gpt-5" {
				return domain.LLMConfig{}, errors.New("model: is none")
			}
			return domain.LLMConfig{Provider: "openai", Model: "gpt-5"}, nil
		},
	})
	require.Empty(t, s.take(tea.WindowSizeMsg{Width: width, Height: height}))
	return s
}

var turnBegan, stepBegan = client.Event{Type: domain.EventExecutionStarted}, client.Event{Type: domain.EventStepStarted, Step: 1}

// looks tells it of a session that is open, and how its newest turn is.
func (s *sitting) looks(head account.Head, number int, status domain.ExecutionStatus) []want {
	head.Open = true
	return s.take(looked{view: account.Status{Head: head, Execution: account.Execution{Outcome: contract.Outcome{Number: number, Status: status}}}})
}

func (s *sitting) idle() *sitting {
	s.looks(account.Head{Configuration: account.Configuration{Model: "openai/gpt-5-mini"}}, 2, domain.StatusCompleted)
	return s
}

// keys presses keys: each rune of a text, or those that have names.
func (s *sitting) keys(keys ...tea.KeyPressMsg) (wants []want) {
	for _, k := range keys {
		wants = append(wants, s.take(k)...)
	}
	return wants
}

func (s *sitting) types(text string) (wants []want) {
	for _, r := range text {
		wants = append(wants, s.take(tea.KeyPressMsg{Code: r, Text: string(r)})...)
	}
	return wants
}

var (
	enter = tea.KeyPressMsg{Code: tea.KeyEnter}
	esc   = tea.KeyPressMsg{Code: tea.KeyEscape}
	ctrlC = tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	ctrlR = tea.KeyPressMsg{Code: 'r', Mod: tea.ModCtrl}
	ctrlT = tea.KeyPressMsg{Code: 't', Mod: tea.ModCtrl}
	ctrlD = tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl}
	pgUp  = tea.KeyPressMsg{Code: tea.KeyPgUp}
)

// says types a line and enters it.
func (s *sitting) says(text string) []want { return append(s.types(text), s.keys(enter)...) }

// after lets time pass.
func (s *sitting) after(d time.Duration) *sitting {
	s.now = s.now.Add(d)
	return s
}

// hears takes events of turn 3, a second apart.
func (s *sitting) hears(events ...client.Event) (wants []want) {
	for _, e := range events {
		s.after(time.Second)
		e.Time = s.now
		if e.Number == 0 {
			e.Number = 3
		}
		wants = append(wants, s.take(heard{e})...)
	}
	return wants
}

func userEntry(text string, execution domain.ExecutionID) domain.Entry {
	return domain.Entry{Message: domain.Tag{ExecutionID: execution}.Apply(domain.UserMessage(text))}
}

// pays is a call that waits for a person's word.
func pays(arguments string) domain.Wait {
	return domain.Wait{
		Kind: domain.WaitApproval, ToolExecutionID: domain.ToolExecutionID{UUID: uuid.MustParse("3f9e1b2c-0000-4000-8000-000000000001")}, Step: 1, Tool: "pay",
		Arguments: arguments, Digest: domain.CallDigest("pay", arguments), AskedBy: "rule 2 (pay: ask)", Since: noon,
	}
}

// asked has a call wait.
func (s *sitting) asked(call domain.Wait) *sitting {
	s.hears(turnBegan, stepBegan,
		client.Event{Type: domain.EventInferenceReceived, Step: 1, Text: "I pay."},
		client.Event{Type: domain.EventWaitOpened, Step: 1, Tool: call.Tool, Arguments: call.Arguments, ToolExecutionID: call.ToolExecutionID, Wait: &call})
	s.take(looked{view: account.Status{
		Head:      account.Head{Open: true, Waits: []domain.Wait{call}, Configuration: account.Configuration{Model: "openai/gpt-5-mini"}},
		Execution: account.Execution{Outcome: contract.Outcome{Number: 3, Status: domain.StatusInProgress, Steps: 1}},
	}})
	return s
}

// TestSends: a message goes out where the agent takes one, is shown as what was said once the session has it, and none
// is lost on the way.
func TestSends(t *testing.T) {
	t.Parallel()
	s := sit(t, 80, 24)
	require.Empty(t, s.says("too early"), "nothing is known of the session")
	wants := s.looks(account.Head{}, 2, domain.StatusCompleted)
	require.Len(t, wants, 1)
	first := wants[0].(wantSend)
	require.Equal(t, "too early", first.text)
	require.Empty(t, s.says("second"), "one at a time, in order")
	execution := domain.ExecutionID{UUID: uuid.New()}
	wants = s.take(sent{execution: client.Execution{Number: 3, ExecutionID: execution}})
	second := wants[0].(wantSend)
	require.Equal(t, []any{"second", contract.SteerIfBusy, execution}, []any{second.text, second.delivery, second.execution}, "it is for this turn")
	s.take(recalled{entries: []domain.Entry{userEntry("too early", execution)}, live: execution})
	require.Equal(t, 1, countSaid(s, "too early"), "it is shown once")
	s.take(sent{delivery: second.delivery, err: &client.Error{Class: client.Refused, Message: "execution_id: is not in progress"}})
	wants = s.looks(account.Head{}, 3, domain.StatusCompleted)
	begins := wants[len(wants)-1].(wantSend)
	require.Equal(t, []any{second.key, contract.Delivery(""), domain.ExecutionID{}}, []any{begins.key, begins.delivery, begins.execution}, "the turn has ended, so it begins the next")

	s.take(sent{err: &client.Error{Class: client.Refused, Message: "execution 4 is in progress"}})
	wants = s.looks(account.Head{}, 4, domain.StatusCompleted)
	require.Equal(t, second.key, wants[len(wants)-1].(wantSend).key, "the same message, so that it is taken once")
	s.take(sent{err: &client.Error{Class: client.Invalid, Message: "prompt: is too long"}})
	require.Equal(t, "second", s.composer.value(), "what is not taken can be changed")
	e, err := s.Ending()
	require.NoError(t, err)
	require.Equal(t, []string{"second"}, e.Unsent)
}

func countSaid(s *sitting, text string) (n int) {
	for _, p := range s.conversation.parts {
		if p.kind == said && p.text == text {
			n++
		}
	}
	return n
}

// TestRecalledBeforeSent: the feed may have read a message before it is known that the session has it.
func TestRecalledBeforeSent(t *testing.T) {
	t.Parallel()
	s := sit(t, 80, 24).idle()
	s.says("hi")
	execution := domain.ExecutionID{UUID: uuid.New()}
	s.take(recalled{entries: []domain.Entry{userEntry("hi", execution)}, live: execution})
	s.take(sent{execution: client.Execution{Number: 3, ExecutionID: execution}})
	require.Equal(t, 1, countSaid(s, "hi"))
	require.Empty(t, s.echoes)
}

// TestInterrupts: the first Ctrl-C stops what the model writes at once, lets calls finish, and the second one leaves.
func TestInterrupts(t *testing.T) {
	t.Parallel()
	s := sit(t, 80, 24).idle()
	require.Empty(t, s.keys(ctrlC), "nothing is to be stopped")
	require.Equal(t, []want{wantLeave{}}, s.after(time.Second).keys(ctrlC))

	s = sit(t, 80, 24).idle()
	s.hears(turnBegan, stepBegan, client.Event{Type: client.EventText, Step: 1, Text: "so"})
	require.Equal(t, []want{wantStop{contract.StopNow}}, s.keys(ctrlC))
	require.Equal(t, []want{wantStop{contract.StopNow}}, s.after(3*time.Second).keys(ctrlC), "that was long ago")
	s.hears(client.Event{Type: domain.EventInferenceReceived, Step: 1, Text: "so"}, client.Event{Type: domain.EventToolCallStarted, Step: 1, Tool: "pay"})
	require.Equal(t, []want{wantStop{contract.AfterInference}}, s.after(3*time.Second).keys(ctrlC))
	require.Equal(t, []want{wantLeave{}}, s.keys(ctrlC))
	e, _ := s.Ending()
	require.Equal(t, Ending{Number: 3, Begun: true}, e)
	require.Equal(t, []want{wantLeave{}}, sit(t, 80, 24).idle().keys(ctrlD))
}

// TestDecides: a call is decided by a key, bound to what was shown, and by none that was typed for something else.
func TestDecides(t *testing.T) {
	t.Parallel()
	call := pays(`{"amount": 5}`)
	word := client.Word{Call: call.ToolExecutionID, Digest: call.Digest, Verdict: domain.Approved, By: "ann"}
	always, edited, denied := word, word, word
	always.Always, edited.Arguments, denied.Reason = true, `{"amount": 5} `, "not now"
	edited.Arguments, denied.Verdict = `{"amount": 5}`, domain.WasDenied
	for name, test := range map[string]struct {
		do   func(*sitting) []want
		want []want
	}{
		"yes":              {func(s *sitting) []want { return s.says("y") }, []want{wantAnswer{word: word}}},
		"always":           {func(s *sitting) []want { return s.says("a") }, []want{wantAnswer{word: always}}},
		"no, with reason":  {func(s *sitting) []want { return s.says("n not now") }, []want{wantAnswer{word: denied}}},
		"edited":           {func(s *sitting) []want { return append(s.says("e"), s.keys(enter)...) }, []want{wantAnswer{word: edited}}},
		"edit given up":    {func(s *sitting) []want { return append(s.says("e"), s.keys(esc)...) }, nil},
		"later":            {func(s *sitting) []want { return s.says("d") }, nil},
		"no Enter":         {func(s *sitting) []want { return s.types("y") }, nil},
		"typed by mistake": {func(s *sitting) []want { s.now = s.prompt.shown.Add(tooSoon / 2); return s.says("y") }, nil},
	} {
		s := sit(t, 80, 24).idle().asked(call).after(time.Minute)
		require.Equal(t, test.want, test.do(s), name)
	}
}

// TestKeysOfACall are all there on a narrow terminal, and not while its arguments are typed.
func TestKeysOfACall(t *testing.T) {
	t.Parallel()
	s := sit(t, 40, 24).idle().asked(pays(`{"amount": 5}`)).after(time.Minute)
	require.Contains(t, s.View().Content, "d later")
	s.says("e")
	require.NotContains(t, s.View().Content, "d later")
	require.Contains(t, s.View().Content, "the arguments to run instead")
	s.keys(esc)
	require.Contains(t, s.View().Content, "d later")
}

// TestAWordIsOfItsCall: a reason or arguments that were begun for a call are never taken for another one, which waits
// where somebody else has decided about the first meanwhile.
func TestAWordIsOfItsCall(t *testing.T) {
	t.Parallel()
	first, second := pays(`{"amount": 5}`), pays(`{"amount": 7}`)
	second.ToolExecutionID = domain.ToolExecutionID{UUID: uuid.MustParse("3f9e1b2c-0000-4000-8000-000000000009")}
	s := sit(t, 80, 24).idle().asked(first).after(time.Minute)
	s.says("e")
	s.asked(second).after(time.Minute)
	require.Empty(t, s.says("x"))
	require.Contains(t, s.View().Content, "the call of pay does not wait any more")
	require.Len(t, s.says("y"), 1, "the other one is asked about")

	s = sit(t, 80, 24).idle().asked(first).after(time.Minute)
	s.types("n")
	s.after(time.Minute).asked(second).after(time.Minute)
	require.Empty(t, s.keys(enter), "it was begun before this one was shown")
	require.Len(t, s.keys(enter), 1)
}

// TestAMessageDecidesNothing that begins as a word about a call does.
func TestAMessageDecidesNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"actually, wait", "a moment", "yes but first look", "delete nothing", "even so", "later, I think"} {
		s := sit(t, 80, 24).idle().asked(pays(`{"amount": 5}`)).after(time.Minute)
		for _, w := range s.says(text) {
			_, decides := w.(wantAnswer)
			require.False(t, decides, text)
		}
		require.Empty(t, s.composer.value(), "it is sent")
	}
}

// TestNothingHiddenIsTyped: arguments that could steer the terminal are not put where a person types.
func TestNothingHiddenIsTyped(t *testing.T) {
	t.Parallel()
	s := sit(t, 80, 24).idle().asked(pays("{\"to\": \"a\u202eb\"}")).after(time.Minute)
	s.says("e")
	require.Empty(t, s.composer.value())
	require.NotContains(t, s.View().Content, "\u202e")
}

// TestDecidesOnlyWhatIsSeen: nobody says yes to what they cannot see.
func TestDecidesOnlyWhatIsSeen(t *testing.T) {
	t.Parallel()
	long := pays(`{"note": "` + strings.Repeat("word ", 400) + `"}`)
	changed := pays(`{"amount": 5}`)
	changed.Digest = domain.CallDigest("pay", `{"amount": 6}`)
	for name, call := range map[string]domain.Wait{"too long": long, "cut": long.Cut(20), "not known": changed} {
		s := sit(t, 80, 24).idle().asked(call).after(time.Minute)
		require.Empty(t, append(s.says("y"), s.says("a")...), name)
		require.Contains(t, s.View().Content, "only a part", name)
		require.NotContains(t, s.View().Content, "y runs it", name)
	}
	s := sit(t, 80, 80).idle().asked(long).after(time.Minute)
	require.Len(t, s.says("y"), 1, "a terminal that is large enough shows it")
	for _, size := range [][2]int{{19, 24}, {80, 5}, {80, 6}} {
		s := sit(t, size[0], size[1]).idle().asked(pays(`{"amount": 5}`)).after(time.Minute)
		require.Empty(t, s.says("y"), "what is not on the screen nobody has seen: %v", size)
	}
}

// TestSlash: each command, and what is none.
func TestSlash(t *testing.T) {
	t.Parallel()
	running := func(s *sitting) {
		s.hears(turnBegan, stepBegan)
	}
	for line, test := range map[string]struct {
		busy bool
		want []want
		says string
	}{
		"/stop":                       {true, []want{wantStop{contract.AfterStep}}, ""},
		"/stop now":                   {true, []want{wantStop{contract.StopNow}}, ""},
		"/stop at once":               {true, nil, "none of after_step"},
		"/stop after_inference":       {false, nil, "no turn in progress"},
		"/pause":                      {true, []want{wantPause{on: true}}, ""},
		"/resume":                     {true, []want{wantPause{}}, ""},
		"/extend max_steps=9":         {true, []want{wantExtend{options: client.ExtendOptions{Budget: domain.ExecutionBudget{MaxSteps: new(int64(9))}}}}, ""},
		"/extend session max_steps=9": {true, []want{wantExtend{client.ExtendOptions{Budget: domain.ExecutionBudget{MaxSteps: new(int64(9))}}, true}}, ""},
		"/extend max_stairs=9":        {true, nil, "/extend: no such limit"},
		"/model":                      {false, nil, "answers come from openai/gpt-5-mini"},
		"/model openai/gpt-5":         {false, nil, "openai/gpt-5 answers from the next turn on"},
		"/model nobody":               {false, nil, "model: is none"},
		"/cost":                       {false, []want{wantLook{}}, ""},
		"/approve":                    {false, []want{wantLook{}}, "nothing waits"},
		"/reasoning":                  {false, nil, ""},
		"/help":                       {false, nil, "/quit: leave"},
		"/quit":                       {false, []want{wantLeave{}}, ""},
		"/sto":                        {false, nil, "did you mean /stop?"},
		"/etc/passwd is missing":      {false, nil, "begins with two"},
	} {
		s := sit(t, 100, 60).idle()
		if test.busy {
			running(s)
		}
		require.Equal(t, test.want, s.says(line), line)
		require.Contains(t, s.View().Content, test.says, line)
	}
	s := sit(t, 80, 24).idle()
	require.Equal(t, "/etc/passwd is missing", s.says("//etc/passwd is missing")[0].(wantSend).text)
	s = sit(t, 80, 24).idle()
	s.says("/model openai/gpt-5")
	w := s.says("hi")[0].(wantSend)
	require.Equal(t, &domain.LLMConfig{Provider: "openai", Model: "gpt-5"}, w.model)
	s.says("/nothing")
	require.Equal(t, "/nothing", s.composer.value(), "a message that was meant is not lost")
}

// TestReconnects: what was typed stays while the server is away, and the screen says that it is.
func TestReconnects(t *testing.T) {
	t.Parallel()
	s := sit(t, 80, 24).idle()
	s.types("half a mess")
	s.take(lost{"no worker or no server answers; trying again"})
	require.Contains(t, s.View().Content, "no server answers")
	s.types("age")
	s.looks(account.Head{}, 2, domain.StatusCompleted)
	require.Equal(t, "half a message", s.keys(enter)[0].(wantSend).text)
	require.NotContains(t, s.View().Content, "no server answers")
}

// TestFollowedAgain: an execution that is followed once more is told anew, and once.
func TestFollowedAgain(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]client.Event{
		"a turn": {
			{Type: domain.EventExecutionStarted}, {Type: domain.EventStepStarted, Step: 1}, {Type: client.EventText, Step: 1, Text: "so it"},
			{Type: domain.EventInferenceReceived, Step: 1, Text: "so it is", Usage: domain.Usage{InputTokens: 3, OutputTokens: 4}},
		},
		"sub-agents": belowEvents(),
	} {
		s := sit(t, 80, 40).idle()
		s.hears(events...)
		s.keys(ctrlT)
		once, spent := s.conversation.draw(s.cfg.Theme, 80, s.now), s.turn.used()
		s.hears(events...)
		require.Equal(t, once, s.conversation.draw(s.cfg.Theme, 80, s.now), name)
		require.Equal(t, spent, s.turn.used(), name)
	}
}

// TestPastes: what is too long to be typed is refused, and said.
func TestPastes(t *testing.T) {
	t.Parallel()
	s := sit(t, 80, 24).idle()
	s.take(tea.PasteMsg{Content: "one\ntwo\x1b[2J"})
	require.Equal(t, 2, s.composer.area.LineCount())
	require.NotContains(t, s.composer.value(), "\x1b")
	s.take(tea.PasteMsg{Content: strings.Repeat("x", domain.MaxMessage+1)})
	require.Contains(t, s.View().Content, "too long for a message")
	require.Equal(t, 2, s.composer.area.LineCount())
}

// TestPastesOfManyLines stand in their place by their size, and are sent whole, with the ends of lines as terminals paste
// them; whoever deletes what stands for one takes it back.
func TestPastesOfManyLines(t *testing.T) {
	t.Parallel()
	s := sit(t, 80, 24).idle()
	long := strings.Repeat("a line\r", 2999) + "the last\x1b[2J"
	s.types("Look at ")
	s.take(tea.PasteMsg{Content: long})
	s.types(" and ")
	s.take(tea.PasteMsg{Content: strings.Repeat("[paste 1: 3,000 lines, 21,004 bytes]\n", 700)})
	require.Contains(t, s.View().Content, "> Look at [paste 1: 3,000 lines, ")
	require.Less(t, s.composer.area.LineCount(), 5)
	e, _ := s.Ending()
	require.Len(t, e.Unsent[0], len("Look at ")+len(strings.Repeat("a line\n", 2999)+"the last[2J")+len(" and ")+len(strings.Repeat("[paste 1: 3,000 lines, 21,004 bytes]\n", 700))-1)
	w := s.keys(enter)[0].(wantSend)
	require.True(t, strings.HasPrefix(w.text, "Look at "+strings.Repeat("a line\n", 2999)+"the last[2J and [paste 1: "))
	require.Empty(t, s.composer.value())

	s.take(sent{err: &client.Error{Class: client.Invalid, Message: "prompt: is too long"}})
	require.Equal(t, w.text, s.composer.value(), "what is not taken can be changed")
	require.Less(t, s.composer.area.LineCount(), 5)
	s.take(tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl})
	require.Empty(t, s.composer.value())
}

// TestCallsInTheirOrder: one that waited for a person is told of first, and a question is asked once.
func TestCallsInTheirOrder(t *testing.T) {
	t.Parallel()
	s := sit(t, 80, 24).idle()
	s.hears(turnBegan, stepBegan, client.Event{Type: domain.EventInferenceReceived, Step: 1, Text: "Three."},
		client.Event{Type: domain.EventWaitOpened, Step: 1, Position: 2, Tool: "third", Wait: &domain.Wait{Kind: domain.WaitApproval}},
		client.Event{Type: domain.EventToolCallStarted, Step: 1, Position: 0, Tool: "first"},
		client.Event{Type: domain.EventToolCallStarted, Step: 1, Position: 1, Tool: "ask_user"},
		client.Event{Type: domain.EventWaitOpened, Step: 1, Position: 1, Tool: "ask_user", Wait: &domain.Wait{Kind: domain.WaitQuestion, Ask: &domain.Question{Text: "Which city?"}}})
	screen := s.View().Content
	require.Less(t, strings.Index(screen, "first"), strings.Index(screen, "? ask_user · waits for an answer"))
	require.Less(t, strings.Index(screen, "ask_user"), strings.Index(screen, "? third"))
	require.NotContains(t, screen, "Which city?", "the panel asks it")
	s.hears(client.Event{Type: domain.EventWaitClosed, Step: 1, Position: 1, Tool: "ask_user", Text: "Oslo", Wait: &domain.Wait{Kind: domain.WaitQuestion, Answer: &domain.Answer{Verdict: domain.AnsweredByPerson, By: "ann"}}},
		client.Event{Type: domain.EventToolCallCompleted, Step: 1, Position: 1, Tool: "ask_user"},
		client.Event{Type: domain.EventInferenceReceived, Step: 2, Outcome: contract.BilledFailure, Error: domain.Errorf(domain.Unavailable, "it went away")},
		client.Event{Type: client.EventRetry, Step: 2, Attempt: 2, Reason: "it went away"})
	screen = s.View().Content
	require.Contains(t, screen, "✓ ask_user")
	require.Contains(t, screen, "answered by ann")
	require.Equal(t, 1, strings.Count(screen, "it went away"), screen)
}

// TestEndingOfAClosedSession says so.
func TestEndingOfAClosedSession(t *testing.T) {
	t.Parallel()
	s := sit(t, 80, 24)
	s.take(looked{view: account.Status{Execution: account.Execution{Outcome: contract.Outcome{Number: 2, Status: domain.StatusCompleted, Steps: 3}}}})
	e, err := s.Ending()
	require.NoError(t, err)
	require.Equal(t, Ending{Begun: true, Over: true}, e)
}

// poses has a call ask the person.
func (s *sitting) poses(id domain.ToolExecutionID, q domain.Question) *sitting {
	s.hears(turnBegan, stepBegan)
	s.looks(account.Head{Waits: []domain.Wait{{Kind: domain.WaitQuestion, ToolExecutionID: id, Step: 1, Tool: "ask_user", Ask: &q, Since: noon}}}, 3, domain.StatusInProgress)
	return s
}

// TestAnswers: what is entered while the agent asks answers the question, bound to what was shown; what does not fit it, or
// was typed before it could be read, is not taken for one, and is not lost.
func TestAnswers(t *testing.T) {
	t.Parallel()
	id := domain.ToolExecutionID{UUID: uuid.MustParse("3f9e1b2c-0000-4000-8000-000000000002")}
	asking := func(q domain.Question) *sitting { return sit(t, 80, 24).idle().poses(id, q) }
	for text, test := range map[string]struct {
		question domain.Question
		reply    client.Word
		says     string
	}{
		"Berlin":  {domain.Question{Text: "Which city?"}, client.Word{Verdict: domain.AnsweredByPerson, Text: "Berlin"}, "what you enter answers it"},
		"2":       {domain.Question{Text: "Which?", Choices: []string{"Berlin", "Oslo"}}, client.Word{Verdict: domain.AnsweredByPerson, Text: "Oslo"}, "2) Oslo"},
		"Oslo":    {domain.Question{Text: "Which?", Choices: []string{"Berlin", "Oslo"}}, client.Word{Verdict: domain.AnsweredByPerson, Text: "Oslo"}, "or its number"},
		`{"n":1}`: {domain.Question{Text: "How many?", Schema: []byte(`{"type":"object"}`)}, client.Word{Verdict: domain.AnsweredByPerson, Value: []byte(`{"n":1}`)}, "enter the JSON value"},
	} {
		s := asking(test.question).after(time.Minute)
		require.Contains(t, s.View().Content, test.says)
		test.reply.Call, test.reply.By = id, "ann"
		require.Equal(t, []want{wantAnswer{word: test.reply, typed: text}}, s.says(text))
		require.Empty(t, s.composer.value())
		s.take(replied{wantAnswer{word: test.reply, typed: text}, &client.Error{Class: client.Refused, Message: "it does not fit"}})
		require.Equal(t, text, s.composer.value(), "it can be changed")
	}
	s := asking(domain.Question{Text: "How many?", Schema: []byte(`{}`)}).after(time.Minute)
	require.Empty(t, s.says("two"))
	require.Equal(t, "two", s.composer.value())
	s = asking(domain.Question{Text: "Which?"})
	require.Empty(t, s.says("by the way"), "it was typed for something else")
	require.Equal(t, "by the way", s.composer.value())
	s = sit(t, 80, 24).idle()
	s.types("by the")
	s.after(time.Minute).poses(id, domain.Question{Text: "Which?"}).after(time.Minute)
	require.Empty(t, s.says(" way"), "it was begun before the question")
	require.Equal(t, []want{wantAnswer{word: client.Word{Verdict: domain.AnsweredByPerson, Call: id, By: "ann", Text: "by the way"}, typed: "by the way"}}, s.keys(enter), "and answers it where that is meant")
	s = asking(domain.Question{Text: "Which?"}).after(time.Minute)
	s.says("/later")
	require.NotContains(t, s.View().Content, "what you enter answers it")
	require.Empty(t, s.says("wait a moment"), "a message, which waits for the end of the turn")
	s.says("/approve")
	require.Contains(t, s.View().Content, "what you enter answers it")
}
