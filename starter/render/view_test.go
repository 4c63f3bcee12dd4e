package render

import (
	"errors"
	"flag"
	"fmt"
	"os"
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
	"everstep/testsuite/golden"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var testNow = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

// tale is a list of events, each a tenth of a second after the one before.
func tale(events ...client.Event) []client.Event {
	for i := range events {
		events[i].Time = testNow.Add(time.Duration(i) * 100 * time.Millisecond)
	}
	return events
}

// taleLine is an event as a file of testdata/tales says it, with what JSON of events leaves out.
type taleLine struct {
	plainEvent
	Type      string                `json:"type"`
	Outcome   contract.ModelOutcome `json:"outcome"`
	Usage     domain.Usage          `json:"usage"`
	ChildID   domain.AgentID        `json:"child_id"`
	ChildName string                `json:"child_name"`
	Trigger   domain.Trigger        `json:"trigger"`
	Recorded  *domain.Event         `json:"recorded"`
}

type plainEvent client.Event

// tales are the events of executions, by what happens in them.
func tales(t *testing.T) map[string][]client.Event {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "tales", "*.jsonl"))
	require.NoError(t, err)
	all := map[string][]client.Event{"hostile": hostileTale()}
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		var events []client.Event
		for line := range strings.Lines(string(content)) {
			var read taleLine
			require.NoError(t, domain.DecodeInto([]byte(line), &read), line)
			e := client.Event(read.plainEvent)
			e.Type, e.Outcome, e.Usage, e.Trigger = domain.EventType(read.Type), read.Outcome, read.Usage, read.Trigger
			e.ChildID, e.ChildName = read.ChildID, read.ChildName
			if read.Recorded != nil {
				e.Recorded = *read.Recorded
			}
			events = append(events, e)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".jsonl")] = tale(events...)
	}
	return all
}

// hostileTale has texts that are for no terminal, and that JSON cannot hold.
func hostileTale() []client.Event {
	return tale(client.Event{Type: domain.EventExecutionStarted, Number: 3}, client.Event{Type: domain.EventStepStarted, Step: 1},
		client.Event{Type: client.EventReasoning, Step: 1, Text: "\x1b[2J\u202ethought\xe4\xb8"},
		client.Event{Type: client.EventText, Step: 1, Text: "\x1b[3J\r\n\x07\n"},
		client.Event{Type: client.EventText, Step: 1, Text: "\x1b[2J\x1b]0;owned\x07 \u202eevil\xe4\xb8"},
		client.Event{Type: domain.EventInferenceReceived, Step: 1, Text: "\x1b[2Jgone\r\nnext\tline", Calls: []domain.ToolCall{{Name: "x"}}},
		client.Event{Type: domain.EventToolCallStarted, Step: 1, Tool: "x\x1b[1A", Arguments: "{\"a\":\"\x1b[31m\n\"" + strings.Repeat("x", 300)},
		client.Event{Type: domain.EventToolCallCompleted, Step: 1, Tool: "x\x1b[1A", Error: domain.Errorf(domain.Invalid, "\x1b[5m\u009b31mno")},
		client.Event{Type: client.EventRetry, Step: 1, Tool: "\x07", Attempt: 2, Reason: "\x1b[H"},
		client.Event{Type: domain.EventStopSignalReceived, Recorded: domain.Event{Type: domain.EventStopSignalReceived, Data: domain.StopEvent{Reason: domain.UserRequested, Source: "now\x1b[H"}}, Reason: "\x1b[H"},
		client.Event{Type: client.EventEnded, Ended: &contract.Outcome{Status: domain.StatusFailed, StopReason: domain.ErrorForbade, Code: domain.CodeAuth, Steps: 2, Usage: domain.Usage{InputTokens: 1200, OutputTokens: 34}}},
	)
}

func agentID(name string) domain.AgentID {
	id, err := domain.AgentIDOf(name)
	if err != nil {
		panic(err)
	}
	return id
}

// TestLiveViewOfATree: what each sub-agent is at stands below the call that it works on.
func TestLiveViewOfATree(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 140} {
		screen := &screen{width: width}
		v := liveOn(screen, "")
		for _, e := range tales(t)["tree"][:19] {
			v.Show(e)
		}
		requireGolden(t, fmt.Sprintf("live-tree-%d", width), screen.String())
		v.Close()
	}
}

func TestPlainView(t *testing.T) {
	t.Parallel()
	for name, events := range tales(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			v := settled((&plainView{out: Plain(&out), story: newStory("notes", "http://127.0.0.1:8233/x")}).show)
			show(v, events)
			requireHarmless(t, out.String())
			requireGolden(t, "plain-"+name, out.String())
		})
	}
}

// TestAViewFromAMomentOnHasItsHeader too, though the event that begins the execution is left out.
func TestAViewFromAMomentOnHasItsHeader(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	v := settled((&plainView{out: Plain(&out), story: newStory("notes", "")}).show)
	v.Show(client.Event{Type: domain.EventStepStarted, Number: 3, Step: 2})
	v.Show(client.Event{Type: domain.EventStepStarted, Number: 3, Step: 3})
	require.Equal(t, "notes · execution 3\nstep 2\nstep 3\n", out.String())
}

func TestLiveView(t *testing.T) {
	t.Parallel()
	for name, events := range tales(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			screen := &screen{width: 60}
			v := liveOn(screen, "http://127.0.0.1:8233/x")
			show(View{v.Show, v.Close}, events)
			requireGolden(t, "live-"+name, screen.String())
		})
	}
}

func TestLiveViewWhileItGoesOn(t *testing.T) {
	t.Parallel()
	screen := &screen{width: 40}
	v := liveOn(screen, "")
	for _, e := range tales(t)["completed"][:7] {
		v.Show(e)
	}
	require.Contains(t, screen.String(), `⋯ list_files {"path":"."}`)
	v.out.Note("the dev server is gone")
	require.Contains(t, screen.String(), "the dev server is gone\n    ⋯ list_files", "a note goes above what is under way")
	v.Show(client.Event{Type: domain.EventStepStarted, Step: 2})
	v.Show(client.Event{Type: client.EventText, Step: 2, Text: strings.Repeat("many words ", 100) + "at the end"})
	lines := strings.Split(strings.TrimRight(screen.String(), "\n"), "\n")
	require.Contains(t, lines[len(lines)-1], "at the end")
	require.Contains(t, lines[len(lines)-liveLines], "…", "only the end of a long text is shown")
	v.Close()
	require.NotContains(t, screen.String(), "at the end", "what was under way does not stay")
	v.Close()
}

// TestLiveViewOfThinking: what the model thinks is shown until it answers; a
// later attempt is marked as one.
func TestLiveViewOfThinking(t *testing.T) {
	t.Parallel()
	screen := &screen{width: 60}
	v := liveOn(screen, "")
	v.Show(client.Event{Type: domain.EventStepStarted, Step: 1})
	require.Contains(t, screen.String(), "⋯ thinking\n")
	v.Show(client.Event{Type: client.EventReasoning, Step: 1, Attempt: 1, Text: "They want "})
	v.Show(client.Event{Type: client.EventReasoning, Step: 1, Attempt: 1, Text: "a number."})
	require.Contains(t, screen.String(), "⋯ thinking\n      They want a number.\n")
	v.Show(client.Event{Type: client.EventText, Step: 1, Attempt: 1, Text: "It is"})
	require.NotContains(t, screen.String(), "They want")
	require.NotContains(t, screen.String(), "thinking")
	require.Contains(t, screen.String(), "    It is\n")
	v.Show(client.Event{Type: client.EventWithdrawn, Step: 1, Attempt: 1})
	require.NotContains(t, screen.String(), "It is")
	require.Contains(t, screen.String(), "of attempt 1 is withdrawn")
	v.Show(client.Event{Type: domain.EventInferenceReceived, Step: 1, Attempt: 1, Outcome: contract.BilledFailure})
	v.Show(client.Event{Type: client.EventRetry, Step: 1, Attempt: 2})
	require.Contains(t, screen.String(), "⋯ thinking · attempt 2\n")
	v.Show(client.Event{Type: client.EventText, Step: 1, Attempt: 2, Text: "42"})
	require.Contains(t, screen.String(), "⋯ writing · attempt 2\n    42\n")
	v.Show(client.Event{Type: client.EventReasoning, Step: 1, Attempt: 2, Text: strings.Repeat("and so on ", 60)})
	require.Contains(t, screen.String(), "    42\n    ⋯ thinking · attempt 2\n     …")
	require.Len(t, strings.Split(strings.SplitAfter(screen.String(), "thinking · attempt 2\n")[1], "\n"), thoughtLines+1)
	v.Close()
	require.NotContains(t, screen.String(), "and so on")
}

// TestPlainViewShowsTextAsItArrives: each line once, with the end of what is
// whole; the answer is not held back where it has been begun.
func TestPlainViewShowsTextAsItArrives(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	v := settled((&plainView{out: Plain(&out), story: newStory("notes", "")}).show)
	said := func(e client.Event) string { before := len(out.String()); v.Show(e); return out.String()[before:] }
	v.Show(client.Event{Type: domain.EventStepStarted, Step: 1})
	require.Empty(t, said(client.Event{Type: client.EventText, Step: 1, Text: "one"}))
	require.Equal(t, "step 1: one two\n", said(client.Event{Type: client.EventText, Step: 1, Text: " two\nthr"}))
	require.Equal(t, "step 1: three\nstep 1: \n", said(client.Event{Type: client.EventText, Step: 1, Text: "ee\r\n\nfo"}))
	require.Equal(t, "step 1: four.\n", said(client.Event{Type: domain.EventInferenceReceived, Step: 1, Text: "one two\nthree\r\n\nfour.\n", Shown: 17}))
	require.Equal(t, "step 2\n", said(client.Event{Type: domain.EventStepStarted, Step: 2}), "it was told already")
	require.Empty(t, said(client.Event{Type: client.EventText, Step: 2, Text: "five"}))
	require.Empty(t, said(client.Event{Type: client.EventWithdrawn, Step: 2, Attempt: 1}), "nobody saw it")
	require.Empty(t, said(client.Event{Type: client.EventText, Step: 2, Text: "six"}))
	require.Empty(t, said(client.Event{Type: domain.EventInferenceReceived, Step: 2, Text: "six"}), "an answer has a place of its own")
}

// Whatever comes in whatever order, nothing harmful is printed, no line is
// wider than the terminal where it would be drawn again, and nothing of what
// was under way stays.
func TestLiveViewOfAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		screen := &screen{width: rapid.IntRange(leastWidth, 90).Draw(t, "width")}
		v := liveOn(screen, "")
		text := rapid.StringN(0, 80, -1)
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			e := client.Event{
				Type: rapid.SampledFrom(append(domain.EventTypes(), client.Moments()...)).Draw(t, "type"), Time: testNow,
				Step: rapid.IntRange(0, 3).Draw(t, "step"), Position: rapid.IntRange(0, 2).Draw(t, "position"),
				Text: text.Draw(t, "text"), Tool: text.Draw(t, "tool"), Arguments: text.Draw(t, "arguments"),
				Reason: text.Draw(t, "reason"), Skipped: rapid.IntRange(0, 1).Draw(t, "skipped"),
			}
			ids := []domain.AgentID{{}, agentID("a"), agentID("b")}
			e.AgentID, e.ChildID = rapid.SampledFrom(ids).Draw(t, "agent"), rapid.SampledFrom(ids).Draw(t, "child")
			e.ChildName, e.Path = text.Draw(t, "name"), rapid.SliceOfN(text, 0, 10).Draw(t, "path")
			if e.Type == domain.EventWaitOpened || e.Type == domain.EventWaitClosed { // which have always one
				e.Wait = &domain.Wait{Kind: rapid.SampledFrom(domain.WaitKinds()).Draw(t, "kind"), Answer: &domain.Answer{Verdict: domain.WasDenied, By: text.Draw(t, "by")}}
			}
			if rapid.Bool().Draw(t, "failed") {
				e.Error = domain.Errorf(domain.Internal, "%s", text.Draw(t, "message"))
			}
			v.Show(e)
			if screen.failure != nil {
				t.Fatal(screen.failure)
			}
		}
		v.Close()
		if v.drawn != 0 || screen.failure != nil {
			t.Fatal(v.drawn, screen.failure)
		}
	})
}

func show(v View, events []client.Event) {
	for _, e := range events {
		v.Show(e)
	}
	v.Close()
}

func liveOn(s *screen, ui string) *liveView {
	out := &Output{to: s, Terminal: true, Animated: true, Theme: newTheme(), Width: func() int { return s.width }}
	return &liveView{out: out, story: newStory("notes", ui)}
}

func requireGolden(t *testing.T, name, got string) {
	t.Helper()
	golden.Compare(t, filepath.Join("testdata", name+".golden"), got, *update)
}

// A screen is a terminal that knows what a live view may send, and nothing else.
type screen struct {
	width   int
	lines   []string
	failure error
}

var sequence = regexp.MustCompile(`^\x1b\[(\d*(?:;\d+)*)([A-Za-z])`)

func (s *screen) Write(text []byte) (int, error) {
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
func (s *screen) obey(argument, command string) {
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

func (s *screen) fail(text string) {
	if s.failure == nil {
		s.failure = errors.New(text)
	}
}

func (s *screen) String() string { return strings.Join(s.lines, "\n") }
