package chat

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/testsuite/golden"
)

var update = flag.Bool("update", false, "write the screens as they come")

// TestScreens: what is on the screen at 80 and at 140 columns.
func TestScreens(t *testing.T) {
	t.Parallel()
	screens := map[string]func(*sitting){
		"fresh": func(s *sitting) { s.turn = turn{phase: fresh} },
		"idle": func(s *sitting) {
			s.idle()
			s.take(recalled{entries: viewOf()})
			s.types("And now?")
		},
		"writing": func(s *sitting) {
			s.idle()
			s.says("Sum up the newest file, please.")
			s.take(sent{execution: client.Execution{Number: 3}})
			s.hears(turnEvents()...)
			s.says("Only the first page.")
		},
		"unfolded": func(s *sitting) {
			s.idle()
			s.hears(turnEvents()...)
			s.keys(ctrlR)
		},
		"asked": func(s *sitting) {
			s.idle().asked(pays(`{"to": "acme",  "amount": 5}`)).after(time.Minute)
		},
		"denying": func(s *sitting) {
			s.idle().asked(pays(`{"to": "acme", "amount": 5}`)).after(time.Minute)
			s.types("n not before the invoice is there")
		},
		"below": func(s *sitting) {
			s.idle()
			s.hears(belowEvents()...)
			s.asksBelow()
		},
		"belowunfolded": func(s *sitting) {
			s.idle()
			s.hears(belowEvents()...)
			s.keys(ctrlT)
		},
		"calls": func(s *sitting) {
			s.idle()
			s.hears(callEvents()...)
		},
		"stopped": func(s *sitting) {
			s.idle()
			s.hears(turnEvents()...)
			s.hears(
				client.Event{Type: domain.EventStopSignalReceived, Recorded: domain.Event{Type: domain.EventStopSignalReceived, Data: domain.StopEvent{Reason: domain.UserRequested}}},
				client.Event{Type: domain.EventInferenceReceived, Step: 2, Outcome: contract.Interrupted, Text: "The newest file"},
				client.Event{Type: client.EventEnded, Ended: &contract.Outcome{
					Number: 3, Status: domain.StatusStopped, StopReason: domain.UserRequested, Steps: 2, Usage: domain.Usage{InputTokens: 900, OutputTokens: 104}, CostNanoUSD: 1_230_000,
				}},
			)
		},
		"away": func(s *sitting) {
			s.idle()
			s.hears(turnBegan, client.Event{Type: client.EventReconnecting, Reason: "the server does not answer"})
			s.types("typed meanwhile")
		},
		"scrolled": func(s *sitting) {
			s.idle()
			s.take(recalled{entries: append(viewOf(), viewOf()...)})
			s.View()
			s.keys(pgUp)
		},
		"hostile": func(s *sitting) {
			s.idle()
			bad := "a\x1b[2J\x1b]0;pwned\a\u202eb\x00\r\tc"
			s.take(recalled{entries: []domain.Entry{{Message: domain.UserMessage(bad)}}})
			s.hears(
				turnBegan, client.Event{Type: client.EventReasoning, Step: 1, Text: bad},
				client.Event{Type: client.EventText, Step: 1, Text: bad}, client.Event{Type: domain.EventToolCallStarted, Step: 1, Tool: bad, Arguments: bad},
				client.Event{Type: client.EventToolProgress, Step: 1, Tool: bad, Text: bad},
				client.Event{Type: domain.EventToolCallCompleted, Step: 1, Tool: bad, Error: domain.Invalidf("%s", bad)},
			)
			s.take(did{err: fmt.Errorf("%s", bad)})
		},
	}
	for name, play := range screens {
		for _, width := range []int{80, 140} {
			s := sit(t, width, 24)
			play(s)
			content := s.View().Content
			var b strings.Builder
			lines := strings.Split(content, "\n")
			require.Len(t, lines, 24, "%s at %d", name, width)
			for _, l := range lines {
				require.LessOrEqual(t, ansi.StringWidth(l), width, "%s at %d: %q", name, width, l)
				require.NotContains(t, ansi.Strip(l), "\x1b", "%s at %d", name, width)
				b.WriteString(strings.TrimRight(ansi.Strip(l), " ") + "\n")
			}
			golden.Compare(t, filepath.Join("testdata", fmt.Sprintf("%s_%d.txt", name, width)), b.String(), *update)
		}
	}
}

func viewOf() []domain.Entry {
	entry := func(m domain.Message) domain.Entry { return domain.Entry{Message: m} }
	return []domain.Entry{
		entry(domain.UserMessage("What is here?")),
		entry(domain.Message{
			Role:      domain.RoleAssistant,
			Parts:     []domain.Part{{Type: domain.PartReasoning, Text: "They want an overview."}, {Type: domain.PartText, Text: "I look."}},
			ToolCalls: []domain.ToolCall{{ID: "1", Name: "list_files", Arguments: `{"path": "."}`}, {ID: "2", Name: "read_file", Arguments: `{"path": "none"}`}},
		}),
		entry(domain.Message{Role: domain.RoleTool, ToolResult: &domain.ToolResult{CallID: "1", Name: "list_files", Content: "a.txt"}}),
		entry(domain.Message{Role: domain.RoleTool, ToolResult: &domain.ToolResult{CallID: "2", Name: "read_file", Content: "there is no such file", IsError: true}}),
		entry(domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "There is one file, a.txt. It holds a list of what is to be done until the end of the week, and by whom: " +
			"Ann writes the report, Bob reads it.\n\n- a.txt"}}}),
	}
}

// turnEvents are a turn in which the model writes its answer after a call.
func turnEvents() []client.Event {
	return []client.Event{
		{Type: domain.EventExecutionStarted}, {Type: domain.EventStepStarted, Step: 1},
		{Type: client.EventReasoning, Step: 1, Text: "First the list of files, "}, {Type: client.EventReasoning, Step: 1, Text: "then the newest of them."},
		{Type: domain.EventInferenceReceived, Step: 1, Usage: domain.Usage{InputTokens: 400, OutputTokens: 50}},
		{Type: domain.EventToolCallStarted, Step: 1, Tool: "list_files", Arguments: `{"path": "."}`}, {Type: domain.EventToolCallCompleted, Step: 1, Tool: "list_files"},
		{Type: domain.EventStepStarted, Step: 2}, {Type: client.EventText, Step: 2, Text: "The newest file is "}, {Type: client.EventText, Step: 2, Text: "a.txt, which"},
	}
}

// callEvents are calls in each state.
func callEvents() []client.Event {
	events := []client.Event{{Type: domain.EventExecutionStarted}, {Type: domain.EventStepStarted, Step: 1}, {Type: domain.EventInferenceReceived, Step: 1, Text: "Seven at once."}}
	calls := []string{"done", "fails", "unknown", "runs", "waits", "denied", "blocked"}
	for i, name := range calls {
		e := client.Event{Type: domain.EventToolCallStarted, Step: 1, Position: i, Tool: name, Arguments: `{"n": 1}`}
		if name == "waits" || name == "denied" {
			e.Type, e.Wait = domain.EventWaitOpened, &domain.Wait{Kind: domain.WaitApproval}
		}
		if name != "blocked" {
			events = append(events, e)
		}
	}
	return append(events,
		client.Event{Type: domain.EventToolCallCompleted, Step: 1, Position: 0, Tool: "done"},
		client.Event{Type: domain.EventToolCallCompleted, Step: 1, Position: 1, Tool: "fails", Error: domain.Invalidf("there is no such file")},
		client.Event{Type: domain.EventToolCallCompleted, Step: 1, Position: 2, Tool: "unknown", Error: domain.CodedErrorf(domain.Internal, domain.CodeOutcomeUnknown, "the worker was lost")},
		client.Event{Type: client.EventToolProgress, Step: 1, Position: 3, Tool: "runs", Text: "3 of 7 files"},
		client.Event{Type: domain.EventWaitClosed, Step: 1, Position: 5, Tool: "denied", Wait: &domain.Wait{Kind: domain.WaitApproval, Answer: &domain.Answer{Verdict: domain.WasDenied, By: "bob", Reason: "not now"}}},
		client.Event{Type: domain.EventToolCallBlocked, Step: 1, Position: 6, Tool: "blocked", Arguments: `{"n": 1}`, Error: domain.Deniedf("a hook blocks it")},
	)
}

// TestScreenOfAnySize: a terminal may be as small as it likes, and change while one converses.
func TestScreenOfAnySize(t *testing.T) {
	t.Parallel()
	s := sit(t, 80, 24).idle().asked(pays(`{"amount": 5}`))
	s.take(tea.PasteMsg{Content: strings.Repeat("a long line of words ", 40) + "\nand\nfive\nmore\nof\nthem"})
	for width := range 90 {
		for _, height := range []int{0, 1, 5, 6, 7, 12, 40} {
			s.take(tea.WindowSizeMsg{Width: width, Height: height})
			lines := strings.Split(s.View().Content, "\n")
			require.LessOrEqual(t, len(lines), max(height, 1), "%dx%d", width, height)
			if width < leastWidth {
				continue
			}
			for _, l := range lines {
				require.LessOrEqual(t, ansi.StringWidth(l), max(width, len("make the terminal larger")), "%dx%d: %q", width, height, l)
			}
		}
	}
}

// TestReaderStays: whoever has gone up reads on, whatever comes below.
func TestReaderStays(t *testing.T) {
	t.Parallel()
	s := sit(t, 80, 12).idle()
	s.take(recalled{entries: append(viewOf(), viewOf()...)})
	s.View()
	s.keys(pgUp)
	before := strings.Split(s.View().Content, "\n")[:6]
	s.hears(turnEvents()...)
	require.Equal(t, before, strings.Split(s.View().Content, "\n")[:6])
	s.keys(esc)
	require.Contains(t, s.View().Content, "a.txt, which")
}
