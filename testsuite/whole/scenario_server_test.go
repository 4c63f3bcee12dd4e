package whole_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/testsuite"
	"everstep/testsuite/internal/kept"
	"everstep/worker/host"
)

// played is the part of an expectation that a server's run can be held against.
type played struct {
	Executions []struct {
		Status domain.ExecutionStatus `yaml:"status"`
		Reason domain.StopReason      `yaml:"stop_reason"`
		Error  string                 `yaml:"error"`
		Answer string                 `yaml:"answer"`
		Steps  []string               `yaml:"steps"`
		Events string                 `yaml:"events"`
	} `yaml:"executions"`
	Triggers   string `yaml:"triggers"`
	Transcript string `yaml:"transcript"`
}

// TestScenariosOnAServer plays the conversations on a real server, and compares
// the same expectations: what a client reads, and what a listener hears. Those
// in which something happens at a time are played in memory only; each says so.
func TestScenariosOnAServer(t *testing.T) {
	t.Parallel()
	ran := 0
	for _, s := range kept.Scenarios(t) {
		if s.OnlyInMemory != "" {
			continue
		}
		require.Empty(t, s.Events, "%s: events come at a time; say why it is only_in_memory", s.Name)
		ran++
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			playOnServer(t, s)
		})
	}
	require.Greater(t, ran, 20)
}

func playOnServer(t *testing.T, s kept.Scenario) {
	t.Helper()
	var expected played
	require.NoError(t, s.Expect.Decode(&expected))
	require.Len(t, expected.Executions, 1)

	var mu sync.Mutex
	var heard []domain.Event
	at := startCompared(t, host.Config{
		Tools: s.Tools, Hooks: kept.ScenarioHooks(&kept.Trace{}),
		Listeners: []host.Listener{host.OnAll(func(event domain.Event) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, event)
		})},
	})
	definition := s.Definition
	definition.Model.Provider, definition.Model.Model = "scripted", writeScript(t, s.Script)
	for _, added := range s.Tools {
		definition.Tools = append(definition.Tools, added.Spec().Name)
	}
	begun := at.starts(t, client.Start{Prompt: s.Prompt, Definition: definition})
	result := at.result(t, begun.ID, 0)

	want := expected.Executions[0]
	require.Equal(t, want.Status, result.Outcome.Status, "%v", result.Error)
	require.Equal(t, want.Reason, result.Outcome.StopReason)
	require.Equal(t, want.Answer, result.Answer)
	if want.Error != "" {
		require.Contains(t, want.Error, result.Error.Message)
	}
	events := collect(t, at.agents.Events(within(t), begun.ID, client.FollowOptions{}))
	require.Equal(t, want.Events, strings.Join(kept.EventLines(events), "\n")+"\n")
	var run testsuite.Run
	for _, entry := range at.messages(t, begun.ID) {
		run.Messages = append(run.Messages, entry.Message)
	}
	require.Equal(t, strings.TrimSpace(expected.Transcript), strings.TrimSpace(trimmedLines(run.Transcript())))

	// A worker that stops lets its listeners hear what waits.
	at.worker.Stop()
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, events, heard, "listeners hear what anyone can ask for")
}

// trimmedLines is a text as a file keeps it: no line ends with a space.
func trimmedLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}
