package render

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
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

func tales() map[string][]client.Event {
	usage := domain.Usage{InputTokens: 1200, OutputTokens: 34}
	ended := func(status domain.ExecutionStatus, reason domain.StopReason, code domain.Code) client.Event {
		return client.Event{Type: client.EventEnded, Ended: &contract.Outcome{Status: status, StopReason: reason, Code: code, Steps: 2, Usage: usage}}
	}
	began := client.Event{Type: domain.EventExecutionStarted, Number: 3}
	step := func(n int) client.Event { return client.Event{Type: domain.EventStepStarted, Step: n} }
	return map[string][]client.Event{
		"completed": tale(began, step(1),
			client.Event{Type: client.EventText, Step: 1, Text: "Let me "},
			client.Event{Type: client.EventText, Step: 1, Text: "look."},
			client.Event{Type: domain.EventInferenceReceived, Step: 1, Text: "Let me look.", Shown: 12, Calls: []domain.ToolCall{{Name: "list_files"}, {Name: "read_file"}}, Usage: usage},
			client.Event{Type: domain.EventToolCallStarted, Step: 1, Position: 0, Tool: "list_files", Arguments: `{"path":"."}`},
			client.Event{Type: domain.EventToolCallStarted, Step: 1, Position: 1, Tool: "read_file", Arguments: `{"path":"a.txt"}`},
			client.Event{Type: domain.EventToolCallCompleted, Step: 1, Position: 1, Tool: "read_file", Error: domain.Errorf(domain.Invalid, "path: there is no a.txt")},
			client.Event{Type: domain.EventToolCallCompleted, Step: 1, Position: 0, Tool: "list_files"},
			step(2),
			client.Event{Type: client.EventText, Step: 2, Text: "Nothing there, I"},
			client.Event{Type: domain.EventInferenceReceived, Step: 2, Text: "Nothing there, I am afraid.", Usage: usage},
			ended(domain.StatusCompleted, domain.Completed, ""),
		),
		"troubled": tale(began, step(1),
			client.Event{Type: client.EventNoWorker},
			client.Event{Type: client.EventRateLimited, Reason: "it waits on task queue everstep/openai"},
			client.Event{Type: client.EventText, Step: 1, Text: "Half a sen"},
			client.Event{Type: client.EventWithdrawn, Step: 1},
			client.Event{Type: client.EventRetry, Step: 1, Attempt: 2, Reason: "too many requests\nreally"},
			client.Event{Type: client.EventReconnecting, Reason: "the server does not answer"},
			client.Event{Type: client.EventReconnected},
			client.Event{Type: client.EventContinued, RunID: "r2"},
			client.Event{Type: client.EventTrouble, Reason: "nondeterminism"},
			client.Event{Type: domain.EventInferenceReceived, Step: 1, Outcome: contract.ShutDown, Error: domain.CodedErrorf(domain.Unavailable, domain.CodeWorkerShutdown, "cut off by a worker that stopped")},
			client.Event{Type: domain.EventInferenceReceived, Step: 1, Outcome: contract.BilledFailure, Error: domain.Errorf(domain.Unavailable, "the stream ended early")},
			ended(domain.StatusFailed, domain.ErrorForbade, domain.CodeMalformed),
		),
		"stopped": tale(began, step(1),
			client.Event{Type: client.EventText, Step: 1, Text: "Counting: one"},
			client.Event{Type: domain.EventPaused}, client.Event{Type: domain.EventResumed},
			client.Event{Type: domain.EventStopSignalReceived, Recorded: domain.Event{Type: domain.EventStopSignalReceived, Data: domain.StopEvent{Reason: domain.UserRequested, Source: "ann"}}, Reason: "enough"},
			client.Event{Type: domain.EventInferenceReceived, Step: 1, Outcome: contract.Interrupted, Text: "Counting: one, two", Error: domain.Errorf(domain.Denied, "it was interrupted")},
			ended(domain.StatusStopped, domain.UserRequested, ""),
		),
		"skipping": tale(began,
			client.Event{Type: domain.EventHookCalled, Hook: "audit", Trigger: domain.TriggerBeforeExecution},
			step(1),
			client.Event{Type: domain.EventInferenceRequested, Recorded: domain.Event{Type: domain.EventInferenceRequested, Data: domain.InferenceRequestStarted{Summary: true}}, Step: 1, Attempt: 1},
			client.Event{Type: domain.EventInferenceReceived, Step: 1, Text: "Let me look.", Calls: []domain.ToolCall{{Name: "read_file"}, {Name: "read_file"}, {Name: "list_files"}}, Usage: usage},
			client.Event{Type: domain.EventHookFailed, Step: 1, Hook: "audit", Trigger: domain.TriggerAfterStep, Error: domain.Errorf(domain.Internal, "the disk is full")},
			client.Event{Type: domain.EventToolCallBlocked, Step: 1, Tool: "read_file", Arguments: `{"path":"key.pem"}`, Error: domain.CodedErrorf(domain.Denied, domain.CodeBlocked, "blocked: no keys").From("privacy")},
			client.Event{Type: domain.EventToolCallBlocked, Step: 1, Position: 1, Tool: "read_file", Arguments: `{"path":"b"}`, Error: domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the execution was stopped")},
			client.Event{Type: domain.EventToolCallBlocked, Step: 1, Position: 2, Tool: "list_files"},
			ended(domain.StatusStopped, domain.StepsLimitReached, ""),
		),
		"retried": tale(began, step(1),
			client.Event{Type: client.EventReasoning, Step: 1, Attempt: 1, Text: "They want an overview. "},
			client.Event{Type: client.EventText, Step: 1, Attempt: 1, Text: "The folder has\n- a file\n- anoth"},
			client.Event{Type: client.EventWithdrawn, Step: 1, Attempt: 1, Reason: "the stream ended early"},
			client.Event{Type: domain.EventInferenceReceived, Step: 1, Attempt: 1, Outcome: contract.BilledFailure, Error: domain.Errorf(domain.Unavailable, "the stream ended early")},
			client.Event{Type: domain.EventInferenceRequested, Recorded: domain.Event{Type: domain.EventInferenceRequested, Data: domain.InferenceRequestStarted{Attempts: 1}}, Step: 1, Attempt: 2},
			client.Event{Type: client.EventText, Step: 1, Attempt: 2, Text: "I look:\nfirst "},
			client.Event{Type: domain.EventInferenceReceived, Step: 1, Attempt: 2, Text: "I look:\nfirst here,\nthen there.", Shown: 14, Calls: []domain.ToolCall{{Name: "read_file"}}, Usage: usage},
			client.Event{Type: client.EventWithheld, Step: 1, Hook: "redact"},
			ended(domain.StatusCompleted, domain.Completed, ""),
		),
		"lost": tale(began, step(1),
			client.Event{Type: domain.EventInferenceReceived, Step: 1, Attempt: 1, Outcome: contract.BilledFailure, Error: domain.Errorf(domain.Unavailable, "no worker finished it in time")},
			client.Event{Type: client.EventRetry, Step: 1, Attempt: 1, Reason: "no worker finished it in time"},
			client.Event{Type: domain.EventInferenceReceived, Step: 1, Attempt: 1, Text: "There it is.", Usage: usage},
			ended(domain.StatusCompleted, domain.Completed, ""),
		),
		"thinking": tale(append(append([]client.Event{began, step(1)},
			slices.Repeat([]client.Event{{Type: client.EventReasoning, Step: 1, Attempt: 1, Text: "Let me see. "}}, 15)...),
			client.Event{Type: client.EventText, Step: 1, Attempt: 1, Text: "It is 42."},
			client.Event{Type: domain.EventInferenceReceived, Step: 1, Attempt: 1, Text: "It is 42.", Usage: usage},
			ended(domain.StatusCompleted, domain.Completed, ""),
		)...),
		"late": tale(began, step(1),
			client.Event{Type: client.EventReasoning, Step: 1, Attempt: 1, Text: "the end of a thought", Skipped: 5000},
			client.Event{Type: client.EventText, Step: 1, Attempt: 1, Text: "last word of a line\nA whole line\nand a", Skipped: 9000},
			client.Event{Type: client.EventText, Step: 1, Attempt: 1, Text: "nother one, " + strings.Repeat("which is long, ", 12)},
			client.Event{Type: domain.EventInferenceReceived, Step: 1, Attempt: 1, Outcome: contract.Interrupted, Text: "last words", Skipped: 9000, Error: domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "cut off by a stop")},
			ended(domain.StatusStopped, domain.UserRequested, ""),
		),
		"tree": tale(twoDeep()...),
		"hostile": tale(began, step(1),
			client.Event{Type: client.EventReasoning, Step: 1, Text: "\x1b[2J\u202ethought\xe4\xb8"},
			client.Event{Type: client.EventText, Step: 1, Text: "\x1b[3J\r\n\x07\n"},
			client.Event{Type: client.EventText, Step: 1, Text: "\x1b[2J\x1b]0;owned\x07 \u202eevil\xe4\xb8"},
			client.Event{Type: domain.EventInferenceReceived, Step: 1, Text: "\x1b[2Jgone\r\nnext\tline", Calls: []domain.ToolCall{{Name: "x"}}},
			client.Event{Type: domain.EventToolCallStarted, Step: 1, Tool: "x\x1b[1A", Arguments: "{\"a\":\"\x1b[31m\n\"" + strings.Repeat("x", 300)},
			client.Event{Type: domain.EventToolCallCompleted, Step: 1, Tool: "x\x1b[1A", Error: domain.Errorf(domain.Invalid, "\x1b[5m\u009b31mno")},
			client.Event{Type: client.EventRetry, Step: 1, Tool: "\x07", Attempt: 2, Reason: "\x1b[H"},
			client.Event{Type: domain.EventStopSignalReceived, Recorded: domain.Event{Type: domain.EventStopSignalReceived, Data: domain.StopEvent{Reason: domain.UserRequested, Source: "now\x1b[H"}}, Reason: "\x1b[H"},
			ended(domain.StatusFailed, domain.ErrorForbade, domain.CodeAuth),
		),
	}
}

func agentID(name string) domain.AgentID {
	id, err := domain.AgentIDOf(name)
	if err != nil {
		panic(err)
	}
	return id
}

// twoDeep are the events of an agent that starts two others, of which the first has one in turn.
func twoDeep() []client.Event {
	ids := []domain.AgentID{agentID("a"), agentID("b"), agentID("c")}
	names := []string{"researcher", "writer", "critic"}
	of := func(i, depth int, e client.Event) client.Event {
		e.AgentID, e.Path = ids[i], append(slices.Repeat([]string{"above"}, depth-1), names[i])
		return e
	}
	starts := func(i, position int) client.Event {
		return client.Event{Type: domain.EventToolCallStarted, Step: 1, Position: position, Tool: "spawn_subagent", Arguments: `{"subagent":"` + names[i] + `","prompt":"go"}`}
	}
	spawns := func(i, position int) client.Event {
		return client.Event{Type: domain.EventSubagentSpawning, Step: 1, Position: position, ChildID: ids[i], ChildName: names[i]}
	}
	over := func(i, position int) client.Event {
		return client.Event{Type: domain.EventToolCallCompleted, Step: 1, Position: position, Tool: "spawn_subagent"}
	}
	began, step := client.Event{Type: domain.EventExecutionStarted, Number: 1}, client.Event{Type: domain.EventStepStarted, Step: 1}
	ended := client.Event{Type: client.EventEnded, Ended: &contract.Outcome{Status: domain.StatusCompleted, StopReason: domain.Completed, Steps: 1, Usage: domain.Usage{InputTokens: 20}}}
	return []client.Event{
		began, step, {Type: domain.EventInferenceReceived, Step: 1, Calls: []domain.ToolCall{{Name: "spawn_subagent"}, {Name: "spawn_subagent"}}}, starts(0, 0), starts(1, 1), spawns(0, 0), spawns(1, 1),
		of(0, 1, began), of(1, 1, began), of(0, 1, step), of(0, 1, starts(2, 0)), of(0, 1, spawns(2, 0)), of(2, 2, began), of(2, 2, step),
		of(1, 1, step), of(1, 1, client.Event{Type: domain.EventInferenceReceived, Step: 1, Text: "I write\nit down.", Calls: []domain.ToolCall{{Name: "write_file"}}}),
		of(1, 1, client.Event{Type: domain.EventToolCallStarted, Step: 1, Tool: "write_file", Arguments: `{"path":"a.md"}`}),
		of(1, 1, client.Event{Type: domain.EventWaitOpened, Step: 1, Tool: "write_file", Arguments: `{"path":"a.md"}`, Wait: &domain.Wait{Kind: domain.WaitApproval}}),
		of(2, 2, client.Event{Type: domain.EventToolCallCompleted, Step: 1, Tool: "read_file", Error: domain.Errorf(domain.Invalid, "path: there is no b.md")}),
		of(2, 2, ended), of(0, 1, over(2, 0)), of(0, 1, ended), over(0, 0),
		of(1, 1, client.Event{Type: domain.EventToolCallCompleted, Step: 1, Tool: "write_file"}),
		of(1, 1, client.Event{Type: client.EventGone, Reason: "the runs have been deleted"}), over(1, 1),
		ended,
	}
}

// TestLiveViewOfATree: what each sub-agent is at stands below the call that it works on.
func TestLiveViewOfATree(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 140} {
		screen := &screen{width: width}
		v := liveOn(screen, "")
		for _, e := range tale(twoDeep()...)[:19] {
			v.Show(e)
		}
		requireGolden(t, fmt.Sprintf("live-tree-%d", width), screen.String())
		v.Close()
	}
}

func TestPlainView(t *testing.T) {
	t.Parallel()
	for name, events := range tales() {
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
	for name, events := range tales() {
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
	for _, e := range tales()["completed"][:7] {
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
				kinds := []domain.WaitKind{domain.WaitApproval, domain.WaitQuestion, domain.WaitOutcome}
				e.Wait = &domain.Wait{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Answer: &domain.Answer{Verdict: domain.WasDenied, By: text.Draw(t, "by")}}
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
