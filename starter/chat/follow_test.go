package chat

import (
	"errors"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/render"
	"everstep/testsuite/golden"
)

// follows is a view on a terminal of a width.
func follows(width int, ui string) (*lowerScreen, *render.Output, render.View) {
	s := &lowerScreen{width: width}
	out := render.Plain(s)
	out.Terminal, out.Animated, out.Width = true, true, func() int { return width }
	return s, out, Follow(out, "notes", ui)
}

// shows shows events of execution 3, a second apart.
func shows(v render.View, events ...client.Event) {
	for i, e := range events {
		e.Number, e.Time = 3, noon.Add(time.Duration(i)*time.Second)
		v.Show(e)
	}
}

// TestFollow: what is on the terminal while an execution goes on, and what stays of it.
func TestFollow(t *testing.T) {
	t.Parallel()
	ended := client.Event{Type: client.EventEnded, Ended: &contract.Outcome{Status: domain.StatusCompleted, Steps: 2, Usage: domain.Usage{InputTokens: 1200, OutputTokens: 34}}}
	answer := client.Event{Type: domain.EventInferenceReceived, Step: 2, Text: "The newest file is a.txt, which is the answer."}
	for name, events := range map[string][]client.Event{
		"turn": append(turnEvents(), answer, ended), "calls": append(callEvents(), ended), "below": append(belowEvents(), ended),
	} {
		events[0].RunID = "run"
		s, _, v := follows(80, "http://127.0.0.1:8233/x/")
		var b strings.Builder
		for i, e := range events {
			shows(v, e)
			require.NoError(t, s.failure)
			if i%4 == 3 {
				b.WriteString(s.String() + "~~~\n")
			}
		}
		v.Close()
		golden.Compare(t, filepath.Join("testdata", "follow_"+name+".txt"), b.String()+s.String(), *update)
	}
}

func TestFollowWhileItGoesOn(t *testing.T) {
	t.Parallel()
	s, out, v := follows(40, "")
	shows(v, turnEvents()[:6]...)
	require.Contains(t, s.String(), `⋯ list_files {"path": "."}`)
	out.Note("the dev server is gone")
	require.Contains(t, s.String(), "the dev server is gone\n\n  ⋯ list_files", "a note goes above what may change")
	out.Hold("your word: ")
	shows(v, client.Event{Type: client.EventReconnecting})
	require.True(t, strings.HasSuffix(s.String(), "your word: "), "nothing is drawn where a person types")
	_, _ = out.Write([]byte("y\n"))
	out.Resume()
	require.Contains(t, s.String(), "⋯ list_files")
	shows(v, client.Event{Type: domain.EventToolCallCompleted, Step: 1, Tool: "list_files"}, client.Event{Type: domain.EventStepStarted, Step: 2},
		client.Event{Type: client.EventText, Step: 2, Text: strings.Repeat("many words ", 100) + "at the end"})
	lines := strings.Split(strings.TrimRight(s.String(), "\n"), "\n")
	require.Contains(t, lines[len(lines)-1], "⋯ writing · step 2")
	require.Contains(t, lines[len(lines)-2], "at the end")
	require.Contains(t, lines[len(lines)-goingLines-1], "…", "only the end of a long text is shown")
	v.Close()
	require.NotContains(t, s.String(), "at the end", "what was under way does not stay")
	require.Contains(t, s.String(), "✓ list_files")
	shows(v, client.Event{Type: domain.EventToolCallCompleted, Step: 2, Tool: "read_file", Error: domain.Invalidf("there is no such file; list_files shows all")})
	v.Close()
	require.Contains(t, s.String(), "✗ read_file: there is no such file;\n    list_files shows all\n", "what failed is told whole")
	require.NoError(t, s.failure)
}

// TestFollowTellsOnce: a line comes once, and whole, also where more is told of the same.
func TestFollowTellsOnce(t *testing.T) {
	t.Parallel()
	asked, denied := &domain.Wait{Kind: domain.WaitApproval}, &domain.Wait{Kind: domain.WaitApproval, Answer: &domain.Answer{Verdict: domain.WasDenied, By: "bob"}}
	for line, events := range map[string][]client.Event{
		"- pay · not run: denied by bob\n  - mail": {
			{Type: domain.EventWaitOpened, Tool: "pay", Wait: asked}, {Type: domain.EventWaitOpened, Position: 1, Tool: "mail", Wait: asked},
			{Type: domain.EventWaitClosed, Wait: denied}, {Type: domain.EventToolCallBlocked, Tool: "pay"},
		},
		"- pay · not run: it was stopped\n": {{Type: domain.EventToolCallBlocked, Tool: "pay", Error: domain.Deniedf("not run: it was stopped")}},
		"making the conversation shorter":   {{Type: domain.EventInferenceRequested, Attempt: 1, Recorded: domain.Event{Data: domain.InferenceRequestStarted{Summary: true}}}},
		"it failed": {
			{Type: domain.EventSubagentSpawning, ChildID: critic},
			{AgentID: critic, Type: domain.EventToolCallCompleted, Error: domain.Invalidf("%s", strings.Repeat("why ", 30)+"it failed")},
		},
	} {
		s, _, v := follows(80, "http://ui/")
		shows(v, append(append([]client.Event{{Type: client.EventNoWorker}, {Type: domain.EventExecutionStarted, RunID: "run"}}, events...), client.Event{Type: client.EventEnded, RunID: "run"})...)
		for _, once := range []string{"◆ notes", "http://ui/run", line} {
			require.Equal(t, 1, strings.Count(s.String(), once), s.String())
		}
	}
}

// TestFollowOfThinking: what the model thinks is shown while it does; what is withdrawn goes.
func TestFollowOfThinking(t *testing.T) {
	t.Parallel()
	s, _, v := follows(90, "")
	shows(v, stepBegan)
	require.Contains(t, s.String(), "⋯ thinking · step 1\n")
	shows(v, client.Event{Type: client.EventReasoning, Step: 1, Attempt: 1, Text: "They want "}, client.Event{Type: client.EventReasoning, Step: 1, Attempt: 1, Text: "a number."})
	require.Contains(t, s.String(), "· thinking for 1.0 s\n    They want a number.\n")
	shows(v, client.Event{Type: client.EventText, Step: 1, Attempt: 1, Text: "It is"})
	require.NotContains(t, s.String(), "They want")
	require.Contains(t, s.String(), "  It is\n")
	shows(v, client.Event{Type: client.EventWithdrawn, Step: 1, Attempt: 1})
	require.NotContains(t, s.String(), "It is")
	require.Contains(t, s.String(), "what came of it is withdrawn")
	shows(v, client.Event{Type: domain.EventInferenceReceived, Step: 1, Attempt: 1, Outcome: contract.BilledFailure, Error: domain.Errorf(domain.Unavailable, "away")},
		client.Event{Type: client.EventRetry, Step: 1, Attempt: 2})
	require.Contains(t, s.String(), "the inference failed: away; it is tried again (attempt 2)\n")
}

// TestFollowOfAnything: whatever comes in whatever order, nothing harmful is printed, no line is wider than the terminal where
// it would be drawn again, and nothing of what was under way stays.
func TestFollowOfAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, out, v := follows(rapid.IntRange(5, 90).Draw(t, "width"), "")
		text := rapid.StringN(0, 80, -1)
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			e := client.Event{
				Type: rapid.SampledFrom(append(domain.EventTypes(), client.Moments()...)).Draw(t, "type"), Time: noon,
				Step: rapid.IntRange(0, 3).Draw(t, "step"), Position: rapid.IntRange(0, 2).Draw(t, "position"),
				Text: text.Draw(t, "text"), Tool: text.Draw(t, "tool"), Arguments: text.Draw(t, "arguments"),
				Reason: text.Draw(t, "reason"), Skipped: rapid.IntRange(0, 1).Draw(t, "skipped"),
			}
			ids := []domain.AgentID{{}, researcher, critic}
			e.AgentID, e.ChildID = rapid.SampledFrom(ids).Draw(t, "agent"), rapid.SampledFrom(ids).Draw(t, "child")
			e.ChildName, e.Path = text.Draw(t, "name"), rapid.SliceOfN(text, 0, 10).Draw(t, "path")
			if e.Type == domain.EventWaitOpened || e.Type == domain.EventWaitClosed { // which have always one
				e.Wait = &domain.Wait{Kind: rapid.SampledFrom(domain.WaitKinds()).Draw(t, "kind"), Answer: &domain.Answer{Verdict: domain.WasDenied, By: text.Draw(t, "by")}}
			}
			if rapid.Bool().Draw(t, "failed") {
				e.Error = domain.Errorf(domain.Internal, "%s", text.Draw(t, "message"))
			}
			v.Show(e)
		}
		v.Close()
		out.Note("and then")
		if s.failure != nil || !strings.HasSuffix(s.String(), "and then\n") {
			t.Fatal(s.failure, s.String())
		}
	})
}

// A lowerScreen is a terminal that knows what a follower may send, and nothing else.
type lowerScreen struct {
	width   int
	lines   []string
	failure error
}

var sequence = regexp.MustCompile(`^\x1b\[(\d*(?:;\d+)*)([A-Za-z])`)

func (s *lowerScreen) Write(text []byte) (int, error) {
	if len(s.lines) == 0 {
		s.lines = []string{""}
	}
	for rest := string(text); rest != ""; {
		if found := sequence.FindStringSubmatch(rest); found != nil {
			s.obey(found[1], found[2])
			rest = rest[len(found[0]):]
			continue
		}
		r := []rune(rest)[0]
		switch {
		case r == '\n':
			s.lines = append(s.lines, "")
		case r == '\r':
			if s.lines[len(s.lines)-1] != "" {
				s.fail("a return in the middle of a line")
			}
		case r < ' ' || r >= 0x7f && r < 0xa0:
			s.fail("control character " + strconv.QuoteRune(r))
		default:
			s.lines[len(s.lines)-1] += string(r)
		}
		rest = rest[len(string(r)):]
	}
	return len(text), nil
}

// obey carries out a sequence. The cursor is always at the end of the last
// line, and everything below it has been erased.
func (s *lowerScreen) obey(argument, command string) {
	switch command {
	case "m", "J":
	case "A":
		n, err := strconv.Atoi(argument)
		if err != nil || n < 1 || n >= len(s.lines) {
			s.fail("cursor up by " + argument)
			return
		}
		for _, l := range s.lines[len(s.lines)-1-n:] {
			if lipgloss.Width(l) > s.width {
				s.fail("drawn again, and wider than the terminal: " + l)
			}
		}
		s.lines = append(s.lines[:len(s.lines)-1-n], "")
	default:
		s.fail("sequence " + command)
	}
}

func (s *lowerScreen) fail(text string) {
	if s.failure == nil {
		s.failure = errors.New(text)
	}
}

func (s *lowerScreen) String() string { return strings.Join(s.lines, "\n") }

// TestFollowOfACallThatAskedAtTheEnd: it was made, and may have taken effect.
func TestFollowOfACallThatAskedAtTheEnd(t *testing.T) {
	t.Parallel()
	s, _, v := follows(90, "")
	call := client.Event{Type: domain.EventToolCallStarted, Step: 1, Tool: "ask_user", Arguments: "{}"}
	asks := call
	asks.Type, asks.Wait = domain.EventWaitOpened, &domain.Wait{Kind: domain.WaitQuestion, Ask: &domain.Question{Text: "Which?"}}
	shows(v, stepBegan, call, asks, client.Event{Type: client.EventEnded})
	require.Contains(t, s.String(), "ask_user {} · outcome unknown")
}
