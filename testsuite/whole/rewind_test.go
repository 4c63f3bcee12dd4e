package whole_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// TestRewindOverRuns: a session that goes on in many runs is rewound to what has left memory, where storage has it; without
// it is refused, and nothing changes.
func TestRewindOverRuns(t *testing.T) {
	t.Parallel()
	for name, storage := range map[string]bool{"stored": true, "carried": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := host.Config{Tools: []tool.Tool{echo()}, Storage: noStorage}
			if storage {
				config.Storage = "file://" + t.TempDir()
			}
			s := startOn(t, "continuing", continuing, config)
			id := s.named("long")
			definition := scripted(longScript(t, 30, 1), "echo")
			x := s.starts(t, client.Start{ID: id, Prompt: "go", Definition: definition})
			s.ended(t, x)
			require.Greater(t, s.asked(t, id).History.Runs, 1)
			for _, step := range []int{1, 12, 30} {
				rewound := s.rewinds(t, client.Point{ID: id, Execution: "1", Step: &step}, client.RewindOptions{})
				require.Equal(t, 2, rewound.Number)
			}
			rewound := s.rewinds(t, client.Point{ID: id, Execution: "1", Step: new(12)}, client.RewindOptions{Prompt: "otherwise"})
			result := s.completed(t, id, 2)
			require.Equal(t, 19, result.Outcome.Steps, "the rest of the script")
			for _, step := range s.steps(t, id, 2) {
				require.Len(t, step.Step.Input.Edits.TakenBack, 1)
			}
			back := s.rewinds(t, client.Point{ID: id, Execution: "2", Step: new(0)}, client.RewindOptions{})
			require.Equal(t, rewound.ExecutionID, back.To.ExecutionID)
		})
	}
}

// crowded is a session whose conversation was summed up several times.
func (s *stack) crowded(t *testing.T, id string) {
	t.Helper()
	var script strings.Builder
	script.WriteString("turns:\n")
	for n := range 20 {
		fmt.Fprintf(&script, "  - {text: '%d %s', tool_calls: [{name: echo, arguments: {text: '%d', times: 100}}]}\n", n, strings.Repeat("words ", 100), n)
	}
	script.WriteString("  - {text: done}\n  - {text: and done}\n")
	definition := scripted(writeScript(t, script.String()), "echo")
	definition.Model.ContextWindow = 1500
	x := s.starts(t, client.Start{ID: id, Prompt: "go", Definition: definition})
	s.ended(t, x)
}

// TestRewindOverASummary: to before it, which shows again what it stands for, and back to after it.
func TestRewindOverASummary(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	id := s.named("summed")
	s.crowded(t, id)
	rewound := s.rewinds(t, client.Point{ID: id, Execution: "1", Step: new(1)}, client.RewindOptions{Prompt: "otherwise"})
	s.ended(t, rewound.Execution)
	back := s.rewinds(t, client.Point{ID: id, Execution: "1"}, client.RewindOptions{Prompt: "on"})
	s.ended(t, back.Execution)
	edits := map[int]domain.Edits{}
	for number := 1; number <= 3; number++ {
		for _, step := range s.steps(t, id, number) {
			if number == 1 || step.Step.Number == 1 {
				edits[number] = step.Step.Input.Edits
			}
		}
	}
	require.Positive(t, edits[1].Summary)
	require.Zero(t, edits[2].Summary, "it was not made yet")
	require.Equal(t, 3, edits[2].TakenBack[0].From)
	restored := edits[3]
	restored.TakenBack = nil
	require.Equal(t, edits[1], restored)
	require.Len(t, edits[3].TakenBack, 1)
	require.Greater(t, edits[3].TakenBack[0].From, 40, "what was taken back before stands again")
}

// TestRewindToWhatHasLeftMemory: without storage a summary is all that later runs have, and what it stands for can be read
// by people alone.
func TestRewindToWhatHasLeftMemory(t *testing.T) {
	t.Parallel()
	s := startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{echo()}, Storage: noStorage})
	id := s.named("forgetful")
	s.crowded(t, id)
	before := s.lines(t, id)
	_, err := s.agents.Rewind(within(t), client.Point{ID: id, Execution: "1", Step: new(1)}, client.RewindOptions{})
	require.ErrorIs(t, err, &client.Error{Class: client.Refused})
	require.ErrorContains(t, err, "no storage has them")
	require.Equal(t, before, s.lines(t, id))
	_, err = s.agents.Rewind(within(t), client.Point{ID: id, Execution: "1", Step: new(0)}, client.RewindOptions{})
	require.NoError(t, err, "of the beginning nothing is asked for")
	s.rewinds(t, client.Point{ID: id, Execution: "1"}, client.RewindOptions{Prompt: "on"})
	result := s.result(t, id, 2)
	require.NotEqual(t, domain.CodeContextLost, result.Outcome.Code)
}
