package render

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
		client.Event{Type: domain.EventToolCallCompleted, Step: 1, Tool: "x\x1b[1A", Error: domain.Invalidf("\x1b[5m\u009b31mno")},
		client.Event{Type: client.EventRetry, Step: 1, Tool: "\x07", Attempt: 2, Reason: "\x1b[H"},
		client.Event{Type: domain.EventStopSignalReceived, Recorded: domain.Event{Type: domain.EventStopSignalReceived, Data: domain.StopEvent{Reason: domain.UserRequested, Source: "now\x1b[H"}}, Reason: "\x1b[H"},
		client.Event{Type: client.EventEnded, Ended: &contract.Outcome{Status: domain.StatusFailed, StopReason: domain.ErrorForbade, Code: domain.CodeAuth, Steps: 2, Usage: domain.Usage{InputTokens: 1200, OutputTokens: 34}}},
	)
}

func TestPlainView(t *testing.T) {
	t.Parallel()
	for name, events := range tales(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			v := NewView(Plain(&out), "notes", "http://127.0.0.1:8233/x")
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
	v := NewView(Plain(&out), "notes", "")
	v.Show(client.Event{Type: domain.EventStepStarted, Number: 3, Step: 2})
	v.Show(client.Event{Type: domain.EventStepStarted, Number: 3, Step: 3})
	require.Equal(t, "notes · execution 3\nstep 2\nstep 3\n", out.String())
}

// TestPlainViewShowsTextAsItArrives: each line once, with the end of what is
// whole; the answer is not held back where it has been begun.
func TestPlainViewShowsTextAsItArrives(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	v := NewView(Plain(&out), "notes", "")
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

func show(v View, events []client.Event) {
	for _, e := range events {
		v.Show(e)
	}
	v.Close()
}

func requireGolden(t *testing.T, name, got string) {
	t.Helper()
	golden.Compare(t, filepath.Join("testdata", name+".golden"), got, *update)
}
